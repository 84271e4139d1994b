package table

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"tracker/store/transfer"
)

// W&B exports the runs of a project as a table with one row per run. The first columns are the same
// in all projects. The names of the remaining columns are keys of configurations and summaries,
// without a prefix.

// runColumns lists the columns that W&B defines. The first three columns are always present.
var runColumns = []string{"Name", "State", "Created", "ID", "Notes", "User", "Tags", "Runtime", "Sweep", "Group", "Job Type"}

// isRuns reports whether header is the header of a table of runs.
func isRuns(header []string) bool {
	for _, name := range runColumns[:3] {
		if !slices.Contains(header, name) {
			return false
		}
	}
	return true
}

var runStates = map[string]transfer.Status{"finished": transfer.Succeeded, "failed": transfer.Failed, "crashed": transfer.Failed,
	"killed": transfer.Killed, "preempted": transfer.Killed, "running": transfer.Running, "pending": transfer.Running, "preempting": transfer.Running}

// tableRun is one row of a table of runs.
type tableRun struct {
	own    map[string]string // values of the columns in runColumns
	cells  []cell            // values of all other columns
	sum    string            // checksum of the row
	id     uuid.UUID
	source uuid.UUID
}

// maxRowsAtOnce is the maximum number of rows of a table of runs that are held in memory.
const maxRowsAtOnce = 200

// importRuns imports the rows of a table of runs. Each row becomes a run.
func (s source) importRuns(ctx context.Context, im *transfer.Import, f file) error {
	defer im.Read(f.info.Size())
	in, err := os.Open(f.path)
	if err != nil {
		im.Lose(f.path, "It can't be read: %v.", err)
		return nil
	}
	defer in.Close()
	rows := newSeparated(&reader{in: io.LimitReader(in, f.info.Size())}, ',').(*separated)
	media := (&reader{file: f, im: im}).loseMedia(rows.header)
	seen := map[uuid.UUID]bool{}
	for n := 1; ; {
		var runs []tableRun
		var err error
		for size := 0; len(runs) < maxRowsAtOnce && size < maxLine; n++ {
			var cells []cell
			if cells, err = rows.next(); err != nil {
				var own *rowError
				if !errors.As(err, &own) {
					break
				}
				im.Lose(f.path, "Row %d was skipped: %v.", n, own.err)
				continue
			}
			r := newTableRun(cells, media)
			if seen[r.id] {
				im.Lose(f.path, "Row %d has the same name and time as another row; it was skipped.", n)
				continue
			}
			seen[r.id] = true
			runs = append(runs, r)
			for _, c := range cells {
				size += len(c.text)
			}
		}
		if e := s.importRows(ctx, im, f, runs); e != nil {
			return e
		}
		if err != nil && !errors.Is(err, io.EOF) {
			im.Lose(f.path, "Only the rows up to row %d were read: %v.", n-1, err)
		}
		if err != nil {
			return nil
		}
	}
}

func newTableRun(cells []cell, media map[string]bool) tableRun {
	r := tableRun{own: map[string]string{}, sum: checksum(cells)}
	for _, c := range cells {
		if slices.Contains(runColumns, c.key) {
			r.own[c.key] = c.text
		} else if !media[c.key] {
			r.cells = append(r.cells, c)
		}
	}
	identity := []string{r.own["User"], r.own["Name"], r.own["Created"]}
	if r.own["ID"] != "" {
		identity = []string{r.own["ID"]}
	}
	r.id = transfer.ID(append([]string{"table of runs", "run"}, identity...)...)
	r.source = transfer.ID("table of runs", "row", r.id.String())
	return r
}

// importRows imports rows that are new or have changed.
func (s source) importRows(ctx context.Context, im *transfer.Import, f file, runs []tableRun) error {
	ids := make([]uuid.UUID, len(runs))
	for i, r := range runs {
		ids[i] = r.source
	}
	known, err := im.Files(ctx, ids)
	if err != nil {
		return err
	}
	for _, r := range runs {
		k, isKnown := known[r.source]
		path := f.path + " run " + r.own["Name"]
		switch {
		case !im.Wanted(r.own["Name"], f.name):
		case isKnown && k.RunID == uuid.Nil:
			im.LeaveOut(r.id, path, "The run was imported before and then deleted here; it is not imported again.")
		case isKnown && k.Fingerprint == r.sum:
			im.Unchanged(r.id)
		default:
			if err := r.importRun(ctx, im, f, path, isKnown); err != nil {
				return err
			}
		}
	}
	return nil
}

// importRun imports one row. Numbers in columns whose names begin with "config." become parameters.
// All other numbers become points. All text values become parameters.
func (r tableRun) importRun(ctx context.Context, im *transfer.Import, f file, path string, isKnown bool) error {
	created, ok := timeOf(r.own["Created"])
	if !ok {
		im.Lose(path, "The run has no start time; it is shown as started in 1970.")
	}
	status, ok := runStates[strings.ToLower(r.own["State"])]
	if !ok {
		status = transfer.Running
		im.Lose(path, "The state %q of the run is not a state of W&B; the run is imported as RUNNING.", r.own["State"])
	}
	at := created
	if seconds, err := strconv.ParseFloat(r.own["Runtime"], 64); err == nil && seconds >= 0 && seconds < 1e10 {
		at += transfer.Time(seconds * 1000)
	}
	run := transfer.Run{ID: r.id, Project: projectName, Experiment: f.name, Name: r.own["Name"], Notes: r.own["Notes"], Created: created, Status: status}
	if status != transfer.Running {
		run.Ended = &at
	}
	w := im.Begin(run, path, isKnown)
	for tag := range strings.SplitSeq(r.own["Tags"], ",") {
		w.Tag(strings.TrimSpace(tag))
	}
	for tag, column := range map[string]string{"group=": "Group", "job_type=": "Job Type", "sweep=": "Sweep"} {
		if text := r.own[column]; text != "" && !missing(text) {
			w.Tag(tag + text)
		}
	}
	if user := r.own["User"]; user != "" {
		w.Property("user", user)
	}
	for _, c := range r.cells {
		value, isNumber := valueOf(c.text)
		setting, isSetting := strings.CutPrefix(c.key, "config.")
		switch {
		case missing(c.text) || strings.HasPrefix(c.key, "_"):
		case isNumber && !isSetting:
			key := strings.TrimPrefix(c.key, "summary.")
			w.Rewind(key, math.MinInt64)
			w.Point(key, 0, value, at)
		default:
			w.Parameter(setting, c.text)
		}
	}
	w.Mark(transfer.File{ID: r.source, Path: path, Fingerprint: r.sum})
	return w.End(ctx)
}
