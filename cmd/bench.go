package cmd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// benchParts are what can be measured, in the order in which it is: disk wants
// a file with nothing but bulk points, late and memory one with everything.
var benchParts = []struct {
	name    string
	measure func(*bench, context.Context) error
}{
	{"ingest", (*bench).measureIngest},
	{"disk", (*bench).measureDisk},
	{"single", (*bench).measureSingle},
	{"steady", (*bench).measureSteady},
	{"listing", (*bench).measureListing},
	{"series", (*bench).measureSeries},
	{"late", (*bench).measureLate},
	{"memory", (*bench).measureMemory},
}

func benchPartNames() (names []string) {
	for _, p := range benchParts {
		names = append(names, p.name)
	}
	return names
}

// benchOptions are the flags of bench.
type benchOptions struct {
	url, token string
	dir        string
	keep       bool
	points     int // in the file, by bulk requests
	iterations int // that are listed
	series     int // curves of one chart
	steady     time.Duration
	wide       bool
	only       []string
	asJSON     bool
}

func (a *app) benchCommand() *cobra.Command {
	var o benchOptions
	cmd := &cobra.Command{
		Use:     "bench",
		GroupID: groupServer,
		Short:   "Measure how fast the service is on this machine",
		Long: `Measure how fast the service is on this machine: it starts a server of its own on a new
file in a temporary folder, drives it over HTTP, prints a table, and leaves nothing
behind. The parts, for --only:

  ingest   points in bulk, in turns with the bare SQLite driver
  disk     bytes a point in a file with nothing but those points
  single   one point a request, in turns with the bare driver
  steady   25 iterations that log 20 keys each second: latency, bytes written a point
  listing  iterations filtered, sorted, with columns; the names of metrics searched
  series   one long curve, and the curves of many iterations in one request
  late     points in bulk into the file with all of this, in turns with a new file
  memory   of the server, and how long it takes to start

Client and server share this machine, so an idle one says most. The temporary folder may
be in memory, where syncing costs nothing: --dir measures another disk, and keeps the file.

With --url it drives a server that runs already, in a project of its own that is deleted
in the end. That loads the server, and leaves its file as large as it has grown.`,
		Example: `  tracker bench
  tracker bench --points 10000000 --steady 5m --dir /srv/bench
  tracker bench --only listing,series --iterations 50000 --json
  tracker bench --url http://127.0.0.1:9000 --token "$(tracker token --user ada)"`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return a.bench(cmd.Context(), o)
		}),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVar(&o.points, "points", 1_000_000, "points that are written in bulk, and in curves")
	f.IntVar(&o.iterations, "iterations", 10_000, "iterations that are listed")
	f.IntVar(&o.series, "series", 100, "iterations whose curves are asked for at once")
	f.DurationVar(&o.steady, "steady", 10*time.Second, "how long steady use goes on; 5m for numbers to compare")
	f.BoolVar(&o.wide, "wide", false, "also list 1,500 iterations with 1,500 metrics each")
	f.StringSliceVar(&o.only, "only", nil, "`parts` to measure, with commas between (default all)")
	f.StringVar(&o.dir, "dir", "", "empty `folder` for the file, which is kept")
	f.StringVar(&o.url, "url", "", "`address` of the API of a server that runs")
	f.StringVar(&o.token, "token", "", "what that server asks for when sign-in is on")
	f.BoolVar(&o.keep, "keep", false, "keep the project on that server")
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
	// These fail for a flag that does not exist only.
	_ = cmd.RegisterFlagCompletionFunc("only", cobra.FixedCompletions(benchPartNames(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.MarkFlagDirname("dir")
	return cmd
}

// check refuses flags that make no sense.
func (o benchOptions) check() error {
	for _, n := range []struct {
		flag            string
		value, min, max int
	}{
		{"points", o.points, 1000, 1_000_000_000},
		{"iterations", o.iterations, 1, 1_000_000},
		{"series", o.series, 1, 1000},
	} {
		if n.value < n.min || n.value > n.max {
			return misuse(fmt.Sprintf("--%s must be from %d to %d, not %d", n.flag, n.min, n.max, n.value))
		}
	}
	if o.steady < time.Second || o.steady > time.Hour {
		return misuse(fmt.Sprintf("--steady must be from 1s to 1h, not %v", o.steady))
	}
	for _, name := range o.only {
		if !slices.Contains(benchPartNames(), name) {
			return misuse(fmt.Sprintf("there is no part %q for --only; there are %s", name, strings.Join(benchPartNames(), ", ")))
		}
	}
	if o.url == "" {
		switch {
		case o.token != "":
			return misuse("--token is for a server that runs: name it with --url")
		case o.keep:
			return misuse("--keep is for a server that runs: name it with --url, or keep the file of a new one with --dir")
		}
		return nil
	}
	if o.dir != "" {
		return misuse("--dir is for a server of its own: leave out --dir or --url")
	}
	u, err := url.Parse(o.url)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || !validPort(u) ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return misuse(fmt.Sprintf("--url must be the address of an API, like http://127.0.0.1:9000, not %q", o.url))
	}
	return nil
}

// wants tells whether a part is to be measured.
func (o benchOptions) wants(part string) bool {
	return len(o.only) == 0 || slices.Contains(o.only, part)
}

// bench measures what o wants and prints it. Nothing is printed when it is
// interrupted; what is not to be kept is removed even then.
func (a *app) bench(ctx context.Context, o benchOptions) (err error) {
	// The client shares the cores with the server that it measures.
	debug.SetGCPercent(300)
	b := &bench{benchOptions: o, stderr: a.stderr}
	defer func() { err = errors.Join(err, b.cleanUp(ctx)) }()
	if err := b.setUp(ctx); err != nil {
		return b.explain(ctx, err)
	}
	for _, p := range benchParts {
		if !o.wants(p.name) {
			continue
		}
		b.part = p.name
		if err := p.measure(b, ctx); err != nil {
			return b.explain(ctx, err)
		}
	}
	b.endProgress()
	if o.asJSON {
		return b.printJSON(a.stdout)
	}
	return b.printTable(a.stdout)
}

// explain is err, or the reason why it came to it.
func (b *bench) explain(ctx context.Context, err error) error {
	b.endProgress()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// A connection that broke may be the first sign of a server's end.
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for _, s := range b.servers {
		if last := s.lastWords(ctx); last != "" {
			return fmt.Errorf("the server ended by itself: %s", last)
		}
	}
	if b.part == "" { // what is wrong is told already
		return err
	}
	return fmt.Errorf("%s: %w", b.part, err)
}
