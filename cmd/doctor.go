package cmd

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tracker/cmd/doctor"
)

func (a *app) doctorCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "doctor URL",
		GroupID: groupServer,
		Short:   "Check a server from outside, through its proxy",
		Long: `Check the server at URL, the address of its dashboard or of its API, as browsers and clients
reach it: the certificate, the host and the scheme that a proxy passes on, pages and their
files, compression, clocks, event streams, large and resumable requests, and the paths of
MLflow's and W&B's clients. Each line is one check, with the change that makes it succeed. The
exit code is 1 if a check has failed.

The check of event streams needs TRACKER_TOKEN or "tracker login" if sign-in is on. Nothing on
the server is changed.`,
		Example: `  tracker doctor https://lab.example.com/tracker
  tracker doctor --json http://127.0.0.1:9001`,
		Args:              one("URL"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			results, err := doctor.Examine(cmd.Context(), args[0], a.token(args[0]), nil)
			if err != nil {
				return misuse(err.Error())
			}
			if err := a.printExamination(results, asJSON); err != nil {
				return err
			}
			failed := 0
			for _, r := range results {
				if r.Status == doctor.Failed {
					failed++
				}
			}
			if failed > 0 {
				return fmt.Errorf("%d of %d checks failed", failed, len(results))
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) printExamination(results []doctor.Result, asJSON bool) error {
	if asJSON {
		return a.printJSON(results)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, r := range results {
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.Check, r.Status, r.Text)
		if r.Fix != "" {
			fmt.Fprintf(w, "\t\tfix: %s\n", r.Fix)
		}
	}
	return w.Flush()
}
