// Package dvclive reads the folders that DVCLive writes. A folder contains a file of
// tab-separated values for each metric in plots/metrics, the file params.yaml, images, and
// other plots.
package dvclive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"tracker/store/transfer"
	"tracker/store/transfer/params"
)

// projectName is the default project name of imported runs.
const projectName = "DVCLive"

// Kind returns the kind of source that this package reads.
func Kind() transfer.Kind {
	return transfer.Kind{Name: "dvclive", Title: "DVCLive's folders", Project: projectName, Find: func(path string) (transfer.Source, error) {
		s, err := find(path)
		return transfer.Found(s, len(s.folders) == 0, err)
	}}
}

// source holds the run folders found at a path.
type source struct {
	root    string
	folders []string
}

const (
	// maxFiles is the maximum number of files in plots/metrics.
	maxFiles = 1_000_000
	// maxLine is the maximum length of a row in bytes.
	maxLine = 64 << 10
)

var metricsFolder = filepath.Join("plots", "metrics")

// find returns the folders that contain metric tables in plots/metrics.
func find(path string) (s source, err error) {
	if s.root, err = filepath.Abs(path); err != nil {
		return s, err
	}
	err = transfer.Walk(s.root, func(at string, d fs.DirEntry) error {
		if d.IsDir() && strings.HasSuffix(at, string(filepath.Separator)+metricsFolder) {
			tables, _, err := metricTables(at)
			if err == nil && len(tables) > 0 {
				s.folders = append(s.folders, filepath.Dir(filepath.Dir(at)))
			}
			return fs.SkipDir
		}
		return nil
	})
	return s, err
}

// metricTable describes the file that holds the values of one metric.
type metricTable struct {
	key, path string
	info      fs.FileInfo
	columns   []string
}

// metricTables returns the metric tables below a folder. A metric table has a step column. others
// contains the paths of all other files.
func metricTables(folder string) (all []metricTable, others []string, err error) {
	n := 0
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if n++; n > maxFiles {
			return fmt.Errorf("%s has more than %d files", folder, maxFiles)
		}
		if err != nil || d.IsDir() {
			return err
		}
		t := metricTable{path: path}
		if d.Type().IsRegular() && filepath.Ext(path) == ".tsv" {
			if t.info, err = d.Info(); err != nil {
				return nil // the file was just removed
			}
			if t.columns, err = header(path); err != nil {
				return err
			}
		}
		if len(t.columns) < 2 || !slices.Contains(t.columns[:len(t.columns)-1], stepColumn) {
			others = append(others, path)
			return nil
		}
		name, err := filepath.Rel(folder, strings.TrimSuffix(path, ".tsv"))
		t.key = filepath.ToSlash(name)
		all = append(all, t)
		return err
	})
	return all, others, err
}

// These are the names of the leading columns of a metric table. The last column holds the values.
// The timestamp column holds times in milliseconds. It exists only if DVCLive was configured to
// write it.
const (
	stepColumn = "step"
	timeColumn = "timestamp"
)

// header returns the column names of a table, or nil if the first line is incomplete or too
// long.
func header(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	line, err := bufio.NewReaderSize(f, maxLine).ReadSlice('\n')
	if err != nil {
		return nil, nil // an incomplete line, or not a table
	}
	return strings.Split(strings.TrimRight(string(line), "\r\n"), "\t"), nil
}

// Folder returns the imported folder.
func (s source) Folder() string { return s.root }

// Reads reports whether a file is in a run's folder, where all files are read.
func (s source) Reads(path string) bool {
	return slices.ContainsFunc(s.folders, func(folder string) bool { return strings.HasPrefix(path, folder+string(filepath.Separator)) })
}

// Size returns 0, because the size is unknown.
func (s source) Size() int64 { return 0 }

// Import imports all runs of the source.
func (s source) Import(ctx context.Context, im *transfer.Import) error {
	for _, folder := range s.folders {
		experiment := filepath.Base(s.root)
		name := filepath.Base(folder)
		if rel, err := filepath.Rel(s.root, folder); err == nil && filepath.IsLocal(rel) && rel != "." {
			name = filepath.ToSlash(rel)
		} else {
			experiment = filepath.Base(filepath.Dir(folder))
		}
		if im.Wanted(name, experiment) {
			if err := importRun(ctx, im, folder, experiment, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// importRun imports the new data of a run's folder. The run's id is derived from the folder's path,
// because DVCLive stores no run id.
func importRun(ctx context.Context, im *transfer.Import, folder, experiment, name string) error {
	tables, others, err := metricTables(filepath.Join(folder, metricsFolder))
	if err != nil {
		im.Lose(folder, "It can't be read: %v.", err)
		return nil
	}
	for _, path := range others {
		im.Lose(path, "It is not a DVCLive table with a column %s; it is left out.", stepColumn)
	}
	id := transfer.ID("dvclive", "run", folder)
	ids := make([]uuid.UUID, len(tables), len(tables)+1)
	to := transfer.Run{ID: id, Project: projectName, Experiment: experiment, Name: name, Status: transfer.Running}
	for i, t := range tables {
		ids[i] = transfer.ID("dvclive", "file", folder, t.key)
		if at := timeOf(t); to.Created == 0 || at < to.Created {
			to.Created = at
		}
	}
	settings, isThere := params.Read(im, filepath.Join(folder, "params.yaml"))
	about := transfer.ID("dvclive", "params", folder)
	known, err := im.Files(ctx, append(ids, about))
	if err != nil {
		return err
	}
	isKnown, isNew := len(known) > 0, false
	for _, k := range known {
		if k.RunID == uuid.Nil {
			im.LeaveOut(id, folder, "The run was imported before and then deleted here; it is not imported again.")
			return nil
		}
	}
	w := im.Begin(to, folder, isKnown)
	for i, t := range tables {
		k := known[ids[i]]
		if fingerprint := strconv.FormatInt(t.info.ModTime().UnixNano(), 36); k.Size != t.info.Size() || k.Fingerprint != fingerprint {
			isNew = true
			if err := readTable(ctx, im, w, t, transfer.File{ID: ids[i], Path: t.path, Fingerprint: fingerprint, Position: k.Position}); err != nil {
				return err
			}
		}
	}
	if k := known[about]; isThere && k.Fingerprint != settings.Fingerprint {
		isNew = true
		settings.Add(w)
		w.Mark(transfer.File{ID: about, Path: folder, Fingerprint: settings.Fingerprint})
	}
	if isNew {
		if err := w.End(ctx); err != nil {
			return err
		}
	}
	return w.Folder(ctx, folder, filepath.ToSlash(metricsFolder), "params.yaml", "metrics.json")
}

func timeOf(t metricTable) transfer.Time { return transfer.Time(t.info.ModTime().UnixMilli()) }

// readTable adds the rows after f.Position to w. An incomplete last row is read by the next import.
func readTable(ctx context.Context, im *transfer.Import, w *transfer.RunWriter, t metricTable, f transfer.File) error {
	in, err := os.Open(t.path)
	if err != nil {
		im.Lose(t.path, "It can't be read: %v.", err)
		return nil
	}
	defer in.Close()
	if f.Position > t.info.Size() {
		im.Lose(t.path, "The file was truncated and was read again from the start.")
		w.Rewind(t.key, -1<<63)
		f.Position = 0
	}
	if _, err := in.Seek(f.Position, io.SeekStart); err != nil {
		return err
	}
	lines := bufio.NewReaderSize(io.LimitReader(in, t.info.Size()-f.Position), maxLine)
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			im.Lose(t.path, "The row at byte %d is longer than %d bytes; the rest was not read.", f.Position, maxLine)
			break
		}
		if err != nil {
			break // end of the file, or an incomplete row
		}
		if f.Position > 0 {
			if !addRow(w, t, string(line)) {
				im.Lose(t.path, "The row at byte %d does not have a number and a step; it was skipped.", f.Position)
			}
		}
		f.Position += int64(len(line))
		if w.Full() {
			f.Size = -1
			w.Mark(f)
			if err := w.Flush(ctx); err != nil {
				return err
			}
		}
	}
	f.Size = t.info.Size()
	w.Mark(f)
	return nil
}

// addRow parses a row and adds its point to w. It reports whether the row is valid.
func addRow(w *transfer.RunWriter, t metricTable, line string) bool {
	cells := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
	if len(cells) != len(t.columns) {
		return false
	}
	at := timeOf(t)
	var step int64
	var value transfer.Value
	for i, text := range cells {
		var err error
		switch {
		case i == len(cells)-1:
			x, err := strconv.ParseFloat(text, 64)
			if err != nil && !errors.Is(err, strconv.ErrRange) {
				return false
			}
			value = transfer.Value(x)
		case t.columns[i] == stepColumn:
			if step, err = strconv.ParseInt(text, 10, 64); err != nil {
				return false
			}
		case t.columns[i] == timeColumn:
			if ms, err := strconv.ParseInt(text, 10, 64); err == nil && ms > 0 && ms < 253402300800000 {
				at = transfer.Time(ms)
			}
		}
	}
	w.Point(t.key, transfer.Step(step), value, at)
	return true
}
