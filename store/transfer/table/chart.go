package table

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"tracker/store/transfer"
)

// W&B exports a chart as a table. The first column holds the steps. Each run has three columns:
// "run - metric", and the same name with the suffixes __MIN and __MAX.

// chartColumn holds the run and the metric of a column.
type chartColumn struct{ run, metric string }

// chartColumns returns the metric columns of a chart by column index. It returns nil if header is
// not the header of a chart.
func chartColumns(header []string) map[int]chartColumn {
	is := map[string]bool{}
	for _, name := range header {
		is[name] = true
	}
	columns := map[int]chartColumn{}
	for i, name := range header {
		at := strings.LastIndex(name, " - ")
		if i > 0 && at > 0 && is[name+"__MIN"] && is[name+"__MAX"] {
			columns[i] = chartColumn{name[:at], name[at+len(" - "):]}
		}
	}
	if len(columns) == 0 {
		return nil
	}
	return columns
}

// header returns the first row of a comma-separated file. It returns nil if the file is not
// readable.
func header(path string) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	return newSeparated(&reader{in: f}, ',').(*separated).header
}

// importChart imports the runs of a chart. If the chart was exported again after an earlier
// import, the new points replace the earlier points.
func (s source) importChart(ctx context.Context, im *transfer.Import, f file, columns map[int]chartColumn) error {
	defer im.Read(f.info.Size())
	var names []string
	ids := map[string]uuid.UUID{} // id of each run's transfer.File, by run name
	for i := range len(header(f.path)) {
		if c, ok := columns[i]; ok && ids[c.run] == uuid.Nil {
			ids[c.run] = transfer.ID("chart", "file", f.path, c.run)
			names = append(names, c.run)
		}
	}
	all := make([]uuid.UUID, len(names))
	for i, name := range names {
		all[i] = ids[name]
	}
	known, err := im.Files(ctx, all)
	if err != nil {
		return err
	}
	writers := map[string]*transfer.RunWriter{}
	for _, name := range names {
		id := transfer.ID("chart", "run", f.path, name)
		k, isKnown := known[ids[name]]
		switch {
		case !im.Wanted(name, f.name):
		case isKnown && k.RunID == uuid.Nil:
			im.LeaveOut(id, f.path+" run "+name, "The run was imported before and then deleted here; it is not imported again.")
		case isKnown && k.Size == f.info.Size() && k.Fingerprint == fingerprint(f):
			im.Unchanged(id)
		default:
			writers[name] = im.Begin(transfer.Run{ID: id, Project: projectName, Experiment: f.name, Name: name, Created: timeOfFile(f), Status: transfer.Running},
				f.path+" run "+name, isKnown)
		}
	}
	if err := addChart(ctx, im, f, columns, writers); err != nil {
		return err
	}
	for _, name := range names {
		if w := writers[name]; w != nil {
			w.Mark(transfer.File{ID: ids[name], Path: f.path, Size: f.info.Size(), Fingerprint: fingerprint(f)})
			if err := w.End(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func timeOfFile(f file) transfer.Time { return transfer.Time(f.info.ModTime().UnixMilli()) }

// addChart adds the points of a chart to writers, which maps run names to writers. It does not mark
// the file as read, so if it is interrupted, the next import starts again and replaces the imported
// points.
func addChart(ctx context.Context, im *transfer.Import, f file, columns map[int]chartColumn, writers map[string]*transfer.RunWriter) error {
	if len(writers) == 0 {
		return nil
	}
	in, err := os.Open(f.path)
	if err != nil {
		im.Lose(f.path, "It can't be read: %v.", err)
		return nil
	}
	defer in.Close()
	rows := newSeparated(&reader{in: in}, ',').(*separated)
	for _, c := range columns {
		if w := writers[c.run]; w != nil {
			w.Rewind(c.metric, math.MinInt64)
		}
	}
	for n := 1; rows.err == nil; n++ {
		rows.row = 0
		record, err := rows.in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			im.Lose(f.path, "It was read only up to row %d: %v.", n-1, err)
			return nil
		}
		step, err := strconv.ParseFloat(strings.TrimSpace(record[0]), 64)
		if err != nil || step != math.Trunc(step) || math.Abs(step) >= 1<<62 {
			im.Lose(f.path, "Row %d has no whole number in the step column %q; it was skipped. Export the chart with steps on the horizontal axis.", n, rows.header[0])
			continue
		}
		for i, text := range record {
			c, ok := columns[i]
			w := writers[c.run]
			if !ok || w == nil || strings.HasPrefix(c.metric, "_") {
				continue
			}
			if x, ok := valueOf(text); ok {
				w.Point(c.metric, transfer.Step(step), x, timeOfFile(f))
			} else if !missing(text) {
				im.Lose(f.path, "The column %q contains text, which is not imported.", rows.header[i])
			}
		}
		for _, w := range writers {
			if w.Full() {
				if err := w.Flush(ctx); err != nil {
					return err
				}
			}
			break // all writers share one queue
		}
	}
	return nil
}
