package cmd

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tracker/client/rest"
)

// maxListed is the maximum number of projects or experiments that the command reads.
const maxListed = 1000

// listed holds the selected runs of one experiment, in the format of `tracker runs --json`.
type listed struct {
	Project    string     `json:"project"`
	Experiment string     `json:"experiment"`
	Total      int        `json:"total"`
	Runs       []rest.Run `json:"runs"`
}

func (a *app) runsCommand() *cobra.Command {
	p := api{app: a}
	var project, experiment string
	var s rest.Search
	cmd := &cobra.Command{
		Use:     "runs",
		GroupID: groupRuns,
		Short:   "List runs",
		Long: `List the runs of a project, newest first. The default project is TRACKER_PROJECT, or else
the only project. The default experiment is TRACKER_EXPERIMENT, or else all experiments of
the project. --filter, --sort and --columns are in the language of the API, see
docs/search.md.`,
		Example: `  tracker runs --project iris
  tracker runs --project iris --experiment sweep --filter "metric.loss < 0.1" --sort metric.loss
  tracker runs --project iris --columns param.lr,metric.loss --json`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			if s.Limit < 1 {
				return misuse("--limit must be at least 1")
			}
			c, err := p.client()
			if err != nil {
				return err
			}
			if project == "" {
				project = a.getenv("TRACKER_PROJECT")
			}
			if experiment == "" {
				experiment = a.getenv("TRACKER_EXPERIMENT")
			}
			all, err := listRuns(cmd.Context(), c, project, experiment, s)
			if err != nil {
				return err
			}
			if p.asJSON {
				return a.printJSON(all)
			}
			return a.printRuns(all, columnNames(s.Columns))
		}),
	}
	cmd.Flags().StringVar(&project, "project", "", "`name` of the project")
	cmd.Flags().StringVar(&experiment, "experiment", "", "`name` of the experiment; the newest if several have the name")
	cmd.Flags().StringVar(&s.Filter, "filter", "", "`expression` that the runs must match")
	cmd.Flags().StringVar(&s.Sort, "sort", "-created", "`names` to sort by, separated by commas; - before a name reverses its order")
	cmd.Flags().StringVar(&s.Columns, "columns", "", "`names` of parameters and metrics to show, like param.lr,metric.loss")
	cmd.Flags().IntVar(&s.Limit, "limit", 50, "maximum `number` of runs to list")
	p.flags(cmd)
	return cmd
}

// listRuns returns the runs of a project that s selects, grouped by experiment.
func listRuns(ctx context.Context, c *rest.Client, project, experiment string, s rest.Search) ([]listed, error) {
	p, err := chooseProject(ctx, c, project)
	if err != nil {
		return nil, err
	}
	experiments, err := c.Experiments(ctx, p.ID, maxListed)
	if err != nil {
		return nil, err
	}
	all := []listed{}
	left := s.Limit
	for _, e := range experiments {
		if experiment != "" && e.Name != experiment {
			continue
		}
		s.Limit = left
		runs, total, err := c.Runs(ctx, e.ID, s)
		if err != nil {
			return nil, err
		}
		left -= len(runs)
		all = append(all, listed{p.Name, e.Name, total, runs})
		if experiment != "" || left == 0 {
			break
		}
	}
	if experiment != "" && len(all) == 0 {
		return nil, fmt.Errorf("there is no experiment %q in the project %q", experiment, p.Name)
	}
	return all, nil
}

// chooseProject returns the project with the given name. If name is "", it returns the server's
// only project, or an error if there is not exactly one.
func chooseProject(ctx context.Context, c *rest.Client, name string) (rest.Project, error) {
	if name != "" {
		return c.Project(ctx, name)
	}
	projects, err := c.Projects(ctx, maxListed)
	switch {
	case err != nil:
		return rest.Project{}, err
	case len(projects) == 1:
		return projects[0], nil
	case len(projects) == 0:
		return rest.Project{}, fmt.Errorf("there is no project at %s yet", c.URL())
	}
	names := make([]string, 0, len(projects))
	for _, p := range projects {
		names = append(names, p.Name)
	}
	return rest.Project{}, misuse("choose a project with --project: " + clip(strings.Join(names, ", "), 400))
}

// columnNames splits the value of --columns into names.
func columnNames(text string) (names []string) {
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// printRuns prints a table for each experiment that has selected runs.
func (a *app) printRuns(all []listed, columns []string) error {
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	shown := 0
	for _, l := range all {
		if len(l.Runs) == 0 {
			continue
		}
		if shown > 0 {
			fmt.Fprintln(w)
		}
		shown += len(l.Runs)
		fmt.Fprintf(w, "%s/%s", l.Project, l.Experiment)
		if l.Total > len(l.Runs) {
			fmt.Fprintf(w, " (%d of %d runs)", len(l.Runs), l.Total)
		}
		fmt.Fprint(w, "\nID\tNAME\tSTATUS\tTOOK")
		for _, name := range columns {
			fmt.Fprintf(w, "\t%s", strings.ToUpper(clip(columnTitle(name), 20)))
		}
		fmt.Fprintln(w)
		for _, r := range l.Runs {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s", r.ID, clip(r.Name, 18), r.Status, took(r.Duration()))
			for _, name := range columns {
				fmt.Fprintf(w, "\t%s", clip(cell(r, name), 20))
			}
			fmt.Fprintln(w)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if shown == 0 {
		fmt.Fprintln(a.stderr, "tracker: no run matches")
	}
	return nil
}

func columnTitle(name string) string {
	_, title, _ := strings.Cut(name, ".")
	return strings.Trim(title, "`")
}

// cell returns the text for run r in the named column, or "" if the run has no value.
func cell(r rest.Run, name string) string {
	kind, key, _ := strings.Cut(name, ".")
	key = strings.Trim(key, "`")
	if kind == "param" {
		return r.Params[key]
	}
	if value, ok := r.Metrics[key]; ok {
		return value.String()
	}
	return ""
}
