package cmd

import (
	"time"

	"github.com/spf13/cobra"

	"tracker/cmd/bench"
)

func (a *app) benchCommand() *cobra.Command {
	var o bench.Options
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "bench",
		GroupID: groupServer,
		Short:   "Measure how fast the service is on this machine",
		Long: `Measure how fast the service is on this machine. The command starts a server with a new
database in a temporary folder, sends requests over HTTP, prints a table, and removes all
its files. The parts, for --only:

  ingest   points in bulk, alternating with the bare SQLite driver
  disk     bytes per point in a file that holds only these points
  single   one point per request, alternating with the bare driver
  steady   25 iterations that log 20 keys each second: latency, bytes written per point
  listing  iterations filtered, sorted, with columns; the names of metrics searched
  series   one long curve, and the curves of many iterations in one request
  late     points in bulk into the full file, alternating with a new file
  memory   memory of the server, and the time that it takes to start

Client and server share this machine, so use an idle one. The temporary folder may be in
memory, where a sync costs nothing; --dir measures another disk and keeps the file.

With --url the command measures a running server, in a project that it deletes at the end.
This puts load on the server, and the database file does not shrink again.`,
		Example: `  tracker bench
  tracker bench --points 10000000 --steady 5m --dir /srv/bench
  tracker bench --only listing,series --iterations 50000 --json
  tracker bench --url http://127.0.0.1:9000 --token "$(tracker token --user ada)"`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			if err := o.Check(); err != nil {
				return misuse(err.Error())
			}
			o.Version = Version()
			report, err := bench.Run(cmd.Context(), o, a.stderr)
			if err != nil {
				return err
			}
			if asJSON {
				return report.WriteJSON(a.stdout)
			}
			return report.WriteTable(a.stdout)
		}),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVar(&o.Points, "points", 1_000_000, "points that are written in bulk and read as curves")
	f.IntVar(&o.Iterations, "iterations", 10_000, "iterations in the listing")
	f.IntVar(&o.Series, "series", 100, "iterations whose curves are requested at once")
	f.DurationVar(&o.Steady, "steady", 10*time.Second, "duration of steady logging; 5m for numbers to compare")
	f.BoolVar(&o.Wide, "wide", false, "also list 1,500 iterations with 1,500 metrics each")
	f.StringSliceVar(&o.Only, "only", nil, "`parts` to measure, separated by commas (default all)")
	f.StringVar(&o.Dir, "dir", "", "empty `folder` for the database, which is kept")
	f.StringVar(&o.URL, "url", "", "`address` of the API of a running server")
	f.StringVar(&o.Token, "token", "", "token for that server, if sign-in is on")
	f.BoolVar(&o.Keep, "keep", false, "keep the project on that server")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	// These calls return an error only if the flag does not exist.
	_ = cmd.RegisterFlagCompletionFunc("only", cobra.FixedCompletions(bench.Parts(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.MarkFlagDirname("dir")
	return cmd
}
