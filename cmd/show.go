package cmd

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"tracker/client/rest"
)

func (a *app) showCommand() *cobra.Command {
	p := api{app: a}
	cmd := &cobra.Command{
		Use:     "show RUN",
		GroupID: groupRuns,
		Short:   "Show a run: parameters, metrics, artifacts, code",
		Long: `Show a run: its state, the reason if it failed, its parameters, the last value and the
extremes of each metric, its artifacts, and the code that it ran. RUN is an id, the address
of a page, or a unique name.`,
		Example: `  tracker show 01a1fd72-2c13-79ed-97b8-5face34acb11
  tracker show quiet-otter
  tracker show http://127.0.0.1:9001/iteration/01a1fd72-2c13-79ed-97b8-5face34acb11 --json`,
		Args:              one("RUN"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			c, r, err := p.find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			d, err := c.Detail(cmd.Context(), r.ID)
			if err != nil {
				return err
			}
			if p.asJSON {
				return a.printJSON(d)
			}
			return printDetail(a.stdout, d)
		}),
	}
	p.flags(cmd)
	return cmd
}

func printDetail(out io.Writer, d rest.Detail) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	line := func(title, text string) {
		if text != "" {
			fmt.Fprintf(w, "%s\t%s\n", title, text)
		}
	}
	line("run", clip(d.Name, 60))
	line("id", d.ID)
	line("experiment", clip(d.Project+" / "+d.Experiment, 60))
	line("status", d.Status)
	line("error", clip(d.Error, 200))
	if d.StopAsked != nil {
		line("stop requested", d.StopAsked.Local().Format(time.DateTime))
	}
	line("created", d.Created.Local().Format(time.DateTime))
	line("took", took(d.Duration()))
	line("tags", strings.Join(d.Tags, ", "))
	line("notes", clip(d.Notes, 200))
	if s := d.Snapshot; s != nil {
		line("commit", commit(*s))
		line("command", clip(s.Command, 200))
		line("host", s.Hostname)
		line("runtime", s.Runtime)
	}
	if d.Diagnosis != nil && len(d.Diagnosis.Findings) > 0 {
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(w, "\nWHAT HAPPENED")
		for _, f := range d.Diagnosis.Findings {
			fmt.Fprintln(w, wrap(clip(f.Text, 400), 78))
		}
	}
	if len(d.Summary.Params) > 0 {
		fmt.Fprintln(w, "\nPARAMETER\tVALUE")
		for _, name := range slices.Sorted(maps.Keys(d.Summary.Params)) {
			fmt.Fprintf(w, "%s\t%s\n", clip(name, 30), clip(d.Summary.Params[name], 45))
		}
	}
	if len(d.Summary.Metrics) > 0 {
		fmt.Fprintln(w, "\nMETRIC\tLAST\tSTEP\tMIN\tMAX")
		for _, key := range slices.Sorted(maps.Keys(d.Summary.Metrics)) {
			m := d.Summary.Metrics[key]
			fmt.Fprintf(w, "%s\t%v\t%d\t%s\t%s\n", clip(key, 30), m.Last, m.LastStep, optional(m.Min), optional(m.Max))
		}
	}
	if len(d.Artifacts) > 0 {
		fmt.Fprintln(w, "\nARTIFACT\tSIZE\tID")
		for _, f := range d.Artifacts {
			fmt.Fprintf(w, "%s\t%d\t%s\n", clip(f.Name, 30), f.Size, f.ID)
		}
	}
	return w.Flush()
}

// wrap breaks text between words into lines of at most the given number of characters. Further
// lines are indented.
func wrap(text string, width int) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case column == 0:
		case column+1+n > width:
			b.WriteString("\n  ")
			column = 2
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}

func commit(s rest.Snapshot) string {
	if s.GitDirty != nil && *s.GitDirty {
		return s.GitSHA + ", with changes"
	}
	return s.GitSHA
}

// optional formats n, or returns "" if n is nil.
func optional(n *rest.Number) string {
	if n == nil {
		return ""
	}
	return n.String()
}
