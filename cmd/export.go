package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tracker/store"
	"tracker/store/archive"
	"tracker/store/domain"
	"tracker/store/export"
	"tracker/store/projects"
	"tracker/store/transfer"
)

// formatArchive is the name of tracker's own archive format.
const formatArchive = "archive"

// selection holds the values of the flags that select records to export.
type selection struct {
	project, experiment, filter string
	runs                        []string
}

func (s *selection) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.project, "project", "", "`name` or id of the project (default: the only project)")
	f.StringVar(&s.experiment, "experiment", "", "`name` or id of an experiment of the project (default: all)")
	f.StringVar(&s.filter, "filter", "", "`expression` that the runs must match, as in docs/search.md")
	f.StringArrayVar(&s.runs, "run", nil, "`id` of a run; can be repeated")
}

func (a *app) exportCommand() *cobra.Command {
	var s selection
	var format string
	var asJSON bool
	lines := []string{fmt.Sprintf("  %-12s %s", formatArchive, "a zip file that `tracker import` imports without losses and with the same ids (NAME.zip)")}
	names := []string{formatArchive}
	for _, f := range export.Formats() {
		lines = append(lines, fmt.Sprintf("  %-12s %s", f.Name, f.Title))
		names = append(names, f.Name)
	}
	cmd := &cobra.Command{
		Use:     "export OUT",
		GroupID: groupDatabase,
		Short:   "Write a project, an experiment or runs to a file or folder",
		Long: `Write a project, an experiment or some of its runs to OUT, which must not exist. The format
is selected by --format, or by the extension of OUT: .zip for an archive, .html for a page.

` + strings.Join(lines, "\n") + `

A server may use the database at the same time; the export is a consistent snapshot. The
summary lists data that the format can't hold, and the exit code is then 3.`,
		Example: `  tracker export iris.zip --project iris
  tracker export report.html --project iris --experiment sweep --filter "metric.loss < 0.1"
  tracker export tables/ --format csv --run 0192d3f4-5b6c-7d8e-9fa0-b1c2d3e4f5a6`,
		Args: one("OUT"),
		RunE: run(func(cmd *cobra.Command, args []string) error {
			if format == "" {
				var err error
				if format, err = formatOf(args[0]); err != nil {
					return err
				}
			}
			out, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			if _, err := os.Lstat(out); !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s already exists; choose another name or remove it first", args[0])
			}
			return a.withDB(cmd, func(db *store.DB) error {
				q, err := s.query(cmd.Context(), db)
				if err != nil {
					return err
				}
				return a.export(cmd.Context(), db, q, format, out, asJSON)
			})
		}),
	}
	addSettings(cmd, append([]string{"SERVICE_DB_FILE"}, artifactSettings...)...)
	s.flags(cmd)
	cmd.Flags().StringVar(&format, "format", "", "`format`: "+strings.Join(names, ", ")+" (default: from the name of OUT)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the summary as JSON")
	return cmd
}

// formatOf returns the export format for the file extension of out.
func formatOf(out string) (string, error) {
	switch strings.ToLower(filepath.Ext(out)) {
	case ".zip":
		return formatArchive, nil
	case ".html", ".htm":
		return "html", nil
	}
	return "", misuse(fmt.Sprintf("choose a --format, or a name for %q that ends with .zip or .html", out))
}

// query returns an archive query for the records that s selects.
func (s selection) query(ctx context.Context, db *store.DB) (q archive.Query, err error) {
	if len(s.runs) > 0 {
		if s.project != "" || s.experiment != "" || s.filter != "" {
			return q, misuse("--run can't be combined with --project, --experiment and --filter")
		}
		q.IterationIDs = s.runs
		return q, nil
	}
	if s.filter != "" && s.experiment == "" {
		return q, misuse("--filter needs --experiment")
	}
	project, err := s.projectID(ctx, db)
	if err != nil {
		return q, err
	}
	if s.experiment == "" {
		q.ProjectID = project
		return q, nil
	}
	q.Filter = s.filter
	q.ExperimentID, err = experimentNamed(ctx, db, project, s.experiment)
	return q, err
}

func (s selection) projectID(ctx context.Context, db *store.DB) (string, error) {
	if s.project != "" {
		return db.Projects.ProjectNamed(ctx, domain.System, s.project)
	}
	l, err := db.Projects.Projects(ctx, domain.System, projects.ProjectQuery{Page: domain.Page{Limit: 20}})
	switch {
	case err != nil:
		return "", err
	case l.Total == 1:
		return l.Data[0].ID, nil
	case l.Total == 0:
		return "", errors.New("there is no project yet")
	}
	var names []string
	for _, p := range l.Data {
		names = append(names, p.Name)
	}
	return "", misuse("choose a project with --project: " + clip(strings.Join(names, ", "), 400))
}

// experimentNamed returns the id of the experiment in a project with the given name or id. If
// several experiments have the name, it returns the newest.
func experimentNamed(ctx context.Context, db *store.DB, project, name string) (string, error) {
	for offset := 0; ; offset += domain.MaxLimit {
		l, err := db.Projects.Experiments(ctx, domain.System, project, projects.ExperimentQuery{Page: domain.Page{Limit: domain.MaxLimit, Offset: offset}})
		if err != nil {
			return "", err
		}
		for _, e := range l.Data {
			if e.Name == name || e.ID == name {
				return e.ID, nil
			}
		}
		if offset+len(l.Data) >= l.Total || len(l.Data) == 0 {
			return "", fmt.Errorf("the project has no experiment %q", name)
		}
	}
}

// export writes the records that q selects to out. If export fails, it removes the incomplete
// file or folder.
func (a *app) export(ctx context.Context, db *store.DB, q archive.Query, format, out string, asJSON bool) (err error) {
	r := &transfer.Result{Kind: format, Path: out, Losses: []transfer.Loss{}}
	partial := out + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	defer func() {
		if err != nil && !errors.As(err, new(incomplete)) {
			os.RemoveAll(partial)
		}
	}()
	if format == formatArchive {
		err = a.exportArchive(ctx, db, q, partial)
	} else {
		err = exportAs(ctx, db, q, format, partial, r)
	}
	if err != nil {
		return err
	}
	if err := os.Rename(partial, out); err != nil {
		return err
	}
	if err := a.printExport(r, asJSON); err != nil {
		return err
	}
	if r.Lost > 0 {
		return incomplete{fmt.Errorf("%s not written; an archive (OUT.zip) has everything", wasWere(r.Lost))}
	}
	return nil
}

func (a *app) exportArchive(ctx context.Context, db *store.DB, q archive.Query, path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = db.Archive.Export(ctx, domain.System, q, archive.Options{Report: true}, f)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func exportAs(ctx context.Context, db *store.DB, q archive.Query, format, path string, r *transfer.Result) error {
	for _, f := range export.Formats() {
		if f.Name == format {
			return db.Archive.Extract(ctx, domain.System, q, func(e *archive.Extract) error {
				if f.Folder {
					if err := os.MkdirAll(path, 0o755); err != nil {
						return err
					}
				}
				return f.Write(ctx, e, path, r)
			})
		}
	}
	return misuse(fmt.Sprintf("unknown format %q; see tracker export --help", format))
}

// printExport prints the numbers of exported records and the losses.
func (a *app) printExport(r *transfer.Result, asJSON bool) error {
	if asJSON {
		return a.printLine(r)
	}
	fmt.Fprintf(a.stdout, "Wrote %s.\n", r.Path)
	printLosses(a.stdout, r, "Not written:")
	return nil
}

// maxPrinted is the maximum number of losses in a text report. With --json the maximum is
// 1,000.
const maxPrinted = 100

// printLosses prints the records that the operation could not include.
func printLosses(w io.Writer, r *transfer.Result, title string) {
	if r.Lost > 0 {
		fmt.Fprintln(w, title)
	}
	shown := r.Losses[:min(len(r.Losses), maxPrinted)]
	for _, l := range shown {
		fmt.Fprintf(w, "  %s: %s\n", l.Path, l.Reason)
	}
	if more := r.Lost - len(shown); more > 0 {
		fmt.Fprintf(w, "  and %s more\n", count(more))
	}
}
