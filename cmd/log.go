package cmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tracker/client/rest"
)

// followEvery is the time between two polls of a run.
const followEvery = time.Second

// news is an output line of `tracker log --follow --json`.
type news struct {
	Status  string            `json:"status"`
	Error   string            `json:"error_message,omitempty"`
	Metrics map[string]latest `json:"metrics"`
}

type latest struct {
	Step  int64       `json:"step"`
	Value rest.Number `json:"value"`
}

func (a *app) logCommand() *cobra.Command {
	p := api{app: a}
	var follow, system bool
	cmd := &cobra.Command{
		Use:     "log RUN",
		GroupID: groupRuns,
		Short:   "Print the output of a run, or follow its metrics",
		Long: `Print the console output of a run, which is stored when the run ends.

With --follow, print the last values of the run's metrics instead, and then the changed
values once a second until the run ends. The exit code is then 0 if the run succeeded and 1
if it did not. RUN is an id, the address of a page, or a unique name.`,
		Example: `  tracker log 01a1fd72-2c13-79ed-97b8-5face34acb11
  tracker log 01a1fd72-2c13-79ed-97b8-5face34acb11 -f`,
		Args:              one("RUN"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			c, r, err := p.find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if follow {
				return a.follow(cmd.Context(), c, r.ID, p.asJSON, system)
			}
			if !p.asJSON {
				return c.WriteOutput(cmd.Context(), r, a.stdout)
			}
			var text strings.Builder
			if err := c.WriteOutput(cmd.Context(), r, &text); err != nil {
				return err
			}
			return a.printJSON(map[string]string{"id": r.ID, "output": text.String()})
		}),
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "follow the metrics until the run ends")
	cmd.Flags().BoolVar(&system, "system", false, "with --follow, also show system metrics")
	p.flags(cmd)
	return cmd
}

// follow prints the changed metrics of a run until the run ends.
func (a *app) follow(ctx context.Context, c *rest.Client, id string, asJSON, system bool) error {
	known := map[string]int64{} // number of points printed for each metric
	for {
		r, err := c.Run(ctx, id) // read the status first: no metric changes after the run has ended
		if err != nil {
			return err
		}
		s, err := c.Summary(ctx, id)
		if err != nil {
			return err
		}
		changed := map[string]latest{}
		for key, m := range s.Metrics {
			if m.Count != known[key] && (system || !isSystem(key)) {
				changed[key] = latest{m.LastStep, m.Last}
			}
			known[key] = m.Count
		}
		ended := r.Status != rest.Running
		if asJSON && (ended || len(changed) > 0) {
			err = a.printLine(news{r.Status, r.Error, changed})
		} else {
			err = a.printLatest(changed)
		}
		switch {
		case err != nil:
			return err
		case ended && r.Status != "SUCCEEDED":
			return fmt.Errorf("the run ended as %s: %s", r.Status, clip(r.Error, 400))
		case ended && !asJSON:
			_, err := fmt.Fprintln(a.stdout, r.Status)
			return err
		case ended:
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(followEvery):
		}
	}
}

// isSystem reports whether the metric key describes the machine.
func isSystem(key string) bool { return strings.HasPrefix(key, "system/") }

// printLatest prints a line for each step in changed, in ascending order of steps.
func (a *app) printLatest(changed map[string]latest) error {
	lines := map[int64]string{}
	for _, key := range slices.Sorted(maps.Keys(changed)) {
		m := changed[key]
		lines[m.Step] += fmt.Sprintf("  %s=%v", key, m.Value)
	}
	for _, step := range slices.Sorted(maps.Keys(lines)) {
		if _, err := fmt.Fprintf(a.stdout, "step %d%s\n", step, lines[step]); err != nil {
			return err
		}
	}
	return nil
}
