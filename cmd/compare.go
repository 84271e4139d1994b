package cmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"tracker/client/rest"
)

// maxCompared is the maximum number of runs in a comparison.
const maxCompared = 50

// compared is one run in a comparison.
type compared struct {
	ID      string                 `json:"id"`
	Name    string                 `json:"name"`
	Status  string                 `json:"status"`
	Params  map[string]string      `json:"params"`
	Metrics map[string]rest.Number `json:"metrics"` // last value of each metric
}

func (a *app) compareCommand() *cobra.Command {
	p := api{app: a}
	var all bool
	cmd := &cobra.Command{
		Use:     "compare RUN RUN...",
		GroupID: groupRuns,
		Short:   "Compare runs: parameters that differ, last values of metrics",
		Long: `Compare runs side by side: the parameters that differ, and the last value of each metric,
without system metrics. For two runs, the output begins with a sentence that
states how the second run differs from the first, and whether the difference in the objective
is larger than other seeds explain. A RUN is an id, the address of a page, or a unique name.`,
		Example: `  tracker compare 01a1fd72-2c13-79ed-97b8-5face34acb11 01a1fd70-f23b-79dd-8b35-435021e52f21
  tracker compare $(tracker runs --project iris --json | jq -r '.[].runs[].id' | head -n 3)`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) < 2:
				return misuse("two runs or more are needed: tracker compare RUN RUN")
			case len(args) > maxCompared:
				return misuse(fmt.Sprintf("%d runs are too many: at most %d can be compared", len(args), maxCompared))
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			c, err := p.client()
			if err != nil {
				return err
			}
			runs, err := compare(cmd.Context(), c, args)
			if err != nil {
				return err
			}
			if p.asJSON {
				return a.printJSON(runs)
			}
			if len(runs) == 2 {
				// Ignore the error of an older server, which has no such sentence.
				if sentence, err := c.Difference(cmd.Context(), runs[0].ID, runs[1].ID); err == nil {
					fmt.Fprintf(a.stdout, "%s\n\n", wrapped(sentence, 80))
				}
			}
			return a.printCompared(runs, all)
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "also show equal parameters and system metrics")
	p.flags(cmd)
	return cmd
}

// compare reads the runs with the given names, which can have any form that rest.Client.Find
// accepts.
func compare(ctx context.Context, c *rest.Client, names []string) ([]compared, error) {
	var all []compared
	for _, name := range names {
		r, err := c.Find(ctx, name)
		if err != nil {
			return nil, err
		}
		s, err := c.Summary(ctx, r.ID)
		if err != nil {
			return nil, err
		}
		metrics := map[string]rest.Number{}
		for key, m := range s.Metrics {
			metrics[key] = m.Last
		}
		all = append(all, compared{r.ID, r.Name, r.Status, s.Params, metrics})
	}
	return all, nil
}

// wrapped breaks text into lines of at most width characters. A longer word gets a separate line.
func wrapped(text string, width int) string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return strings.Join(append(lines, line), "\n")
}

// printCompared prints a table with a column for each run. Three runs fit into 80 columns.
func (a *app) printCompared(runs []compared, all bool) error {
	const width = 16
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	row := func(title string, text func(compared) string) {
		fmt.Fprint(w, clip(title, 24))
		for _, r := range runs {
			fmt.Fprintf(w, "\t%s", clip(text(r), width))
		}
		fmt.Fprintln(w)
	}
	row("", func(r compared) string { return r.Name })
	row("status", func(r compared) string { return r.Status })
	params, metrics := map[string]bool{}, map[string]bool{}
	for _, r := range runs {
		for name := range r.Params {
			params[name] = true
		}
		for key := range r.Metrics {
			metrics[key] = all || !isSystem(key)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if all || differs(runs, name) {
			row(name, func(r compared) string { return r.Params[name] })
		}
	}
	for _, key := range slices.Sorted(maps.Keys(metrics)) {
		if metrics[key] {
			row(key, func(r compared) string {
				if value, ok := r.Metrics[key]; ok {
					return value.String()
				}
				return ""
			})
		}
	}
	return w.Flush()
}

// differs reports whether the parameter name has different values in the runs. It also does so if
// some of the runs do not have the parameter.
func differs(runs []compared, name string) bool {
	first, there := runs[0].Params[name]
	for _, r := range runs[1:] {
		if text, ok := r.Params[name]; ok != there || text != first {
			return true
		}
	}
	return false
}
