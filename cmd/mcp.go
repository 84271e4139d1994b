package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"tracker/client/rest"
)

const (
	// maxAnswered is the maximum number of runs that a tool returns.
	maxAnswered = 200
	// maxCurvePoints is the maximum number of points in a curve that a tool returns.
	maxCurvePoints = 500
	// maxCurves is the maximum number of metrics that one call of a tool reads.
	maxCurves = 20
	// maxOutput is the maximum size in bytes of the console output that a tool returns. Only the
	// end of a longer output is returned.
	maxOutput = 100_000
)

func (a *app) mcpCommand() *cobra.Command {
	p := api{app: a}
	var allowWrite bool
	cmd := &cobra.Command{
		Use:     "mcp",
		GroupID: groupRuns,
		Short:   "Let an assistant read runs (Model Context Protocol)",
		Long: `Serve the Model Context Protocol on standard input and output, so that an assistant can
list, show and compare the runs of a server. Access is read-only unless --allow-write lets
the assistant tag and stop runs and write their notes.`,
		Example: `  tracker mcp
  tracker mcp --url http://lab.example.com:9000 --allow-write`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			c, err := p.client()
			if err != nil {
				return err
			}
			in, out := io.NopCloser(a.stdin), unclosed{a.stdout}
			err = tools(c, allowWrite).Run(cmd.Context(), &mcp.IOTransport{Reader: in, Writer: out})
			if errors.Is(err, io.EOF) {
				return nil // the assistant disconnected
			}
			return err
		}),
	}
	cmd.Flags().StringVar(&p.url, "url", "", "`address` of the API (default: TRACKER_URL, or else the server on this machine)")
	cmd.Flags().BoolVar(&allowWrite, "allow-write", false, "also offer tools that tag and stop runs and write their notes")
	return cmd
}

// unclosed is a writer with a Close method that does nothing.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// Argument types of the tools.
type (
	noArguments      struct{}
	projectArguments struct {
		Project string `json:"project" jsonschema:"name of the project"`
	}
	runsArguments struct {
		Project    string `json:"project" jsonschema:"name of the project"`
		Experiment string `json:"experiment,omitempty" jsonschema:"name of the experiment; default: all experiments of the project"`
		Filter     string `json:"filter,omitempty" jsonschema:"expression such as: metric.loss < 0.1 and param.optimizer = 'adam' and status = 'succeeded'"`
		Sort       string `json:"sort,omitempty" jsonschema:"names to sort by, such as metric.loss; - before a name reverses its order; default: newest first"`
		Columns    string `json:"columns,omitempty" jsonschema:"parameters and metrics to return for each run, such as param.lr,metric.loss,metric.loss.min"`
		Limit      int    `json:"limit,omitempty" jsonschema:"maximum number of runs; default 50, at most 200"`
	}
	runArguments struct {
		Run string `json:"run" jsonschema:"id of the run, or its name"`
	}
	compareArguments struct {
		Runs []string `json:"runs" jsonschema:"ids of the runs, or their names"`
	}
	curveArguments struct {
		Run    string   `json:"run" jsonschema:"id of the run, or its name"`
		Keys   []string `json:"keys" jsonschema:"names of the metrics"`
		Points int      `json:"points,omitempty" jsonschema:"maximum number of points of each metric; default 100, at most 500"`
	}
	tagArguments struct {
		Run string `json:"run" jsonschema:"id of the run, or its name"`
		Tag string `json:"tag" jsonschema:"the tag"`
	}
	notesArguments struct {
		Run   string `json:"run" jsonschema:"id of the run, or its name"`
		Notes string `json:"notes" jsonschema:"the text, in Markdown, that replaces the notes"`
	}
)

// tools returns an MCP server with tools that read data through c. If allowWrite is set, the
// server also has tools that write.
func tools(c *rest.Client, allowWrite bool) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "tracker", Version: Version()}, &mcp.ServerOptions{
		Instructions: "Reads machine-learning experiments from a tracker server. A project has experiments, an experiment has runs; " +
			"a run has parameters, metrics over steps, artifacts and the code that it ran."})
	tool(s, true, "list_projects", "List the projects, newest first.", func(ctx context.Context, _ noArguments) (any, error) {
		projects, err := c.Projects(ctx, maxListed)
		return map[string]any{"projects": projects}, err
	})
	tool(s, true, "list_experiments", "List the experiments of a project, newest first.",
		func(ctx context.Context, in projectArguments) (any, error) {
			p, err := c.Project(ctx, in.Project)
			if err != nil {
				return nil, err
			}
			experiments, err := c.Experiments(ctx, p.ID, maxListed)
			return map[string]any{"experiments": experiments}, err
		})
	tool(s, true, "list_runs", "Find runs of a project by parameters, metrics, tags and state.",
		func(ctx context.Context, in runsArguments) (any, error) {
			search := rest.Search{Filter: in.Filter, Sort: in.Sort, Columns: in.Columns, Limit: atMost(in.Limit, 50, maxAnswered)}
			if search.Sort == "" {
				search.Sort = "-created"
			}
			found, err := listRuns(ctx, c, in.Project, in.Experiment, search)
			return map[string]any{"experiments": found}, err
		})
	tool(s, true, "show_run", "Show a run: state, reason for a failure, parameters, statistics of its metrics, artifacts, code.",
		func(ctx context.Context, in runArguments) (any, error) {
			r, err := c.Find(ctx, in.Run)
			if err != nil {
				return nil, err
			}
			return c.Detail(ctx, r.ID)
		})
	tool(s, true, "compare_runs", "Compare runs: their parameters and the last values of their metrics.",
		func(ctx context.Context, in compareArguments) (any, error) {
			if len(in.Runs) == 0 || len(in.Runs) > maxCompared {
				return nil, fmt.Errorf("name 1 to %d runs, not %d", maxCompared, len(in.Runs))
			}
			runs, err := compare(ctx, c, in.Runs)
			return map[string]any{"runs": runs}, err
		})
	tool(s, true, "read_curve", "Read metrics of a run over its steps. A longer curve is reduced to buckets that preserve its peaks.",
		func(ctx context.Context, in curveArguments) (any, error) {
			if len(in.Keys) == 0 || len(in.Keys) > maxCurves {
				return nil, fmt.Errorf("name 1 to %d metrics, not %d", maxCurves, len(in.Keys))
			}
			r, err := c.Find(ctx, in.Run)
			if err != nil {
				return nil, err
			}
			curves, err := c.Curves(ctx, r.ID, in.Keys, max(2, atMost(in.Points, 100, maxCurvePoints)))
			return map[string]any{"curves": curves}, err
		})
	tool(s, true, "read_output", "Read the console output of a run that has ended; for a long output, only its end.",
		func(ctx context.Context, in runArguments) (any, error) {
			r, err := c.Find(ctx, in.Run)
			if err != nil {
				return nil, err
			}
			var text strings.Builder
			if err := c.WriteOutput(ctx, r, &text); err != nil {
				return nil, err
			}
			printed := text.String()
			cut := max(0, len(printed)-maxOutput)
			return map[string]any{"output": strings.ToValidUTF8(printed[cut:], ""), "bytes_left_out": cut}, nil
		})
	if !allowWrite {
		return s
	}
	tool(s, false, "tag_run", "Attach a tag to a run.", func(ctx context.Context, in tagArguments) (any, error) {
		r, err := c.Find(ctx, in.Run)
		if err != nil {
			return nil, err
		}
		return map[string]any{"done": true}, c.Tag(ctx, r.ID, in.Tag)
	})
	tool(s, false, "stop_run", "Ask a run to stop. Its client interrupts the script, and the run ends as KILLED.", func(ctx context.Context, in runArguments) (any, error) {
		r, err := c.Find(ctx, in.Run)
		if err != nil {
			return nil, err
		}
		return map[string]any{"done": true}, c.Stop(ctx, r.ID)
	})
	tool(s, false, "write_notes", "Replace the notes of a run.", func(ctx context.Context, in notesArguments) (any, error) {
		r, err := c.Find(ctx, in.Run)
		if err != nil {
			return nil, err
		}
		return map[string]any{"done": true}, c.SetNotes(ctx, r.ID, in.Notes)
	})
	return s
}

// tool adds a tool to s. If fn returns an error, the assistant receives the error text.
func tool[In any](s *mcp.Server, readOnly bool, name, description string, fn func(context.Context, In) (any, error)) {
	destructive := !readOnly
	annotations := &mcp.ToolAnnotations{ReadOnlyHint: readOnly, DestructiveHint: &destructive, IdempotentHint: true}
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: description, Annotations: annotations},
		func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			out, err := fn(ctx, in)
			if err != nil {
				return nil, nil, err
			}
			return nil, out, nil
		})
}

// atMost returns the smaller of n and most. If n is not positive, it returns the smaller of
// fallback and most.
func atMost(n, fallback, most int) int {
	if n <= 0 {
		n = fallback
	}
	return min(n, most)
}
