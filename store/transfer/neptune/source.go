// Package neptune reads the output of neptune-exporter. The exporter writes a set of Parquet
// files and a folder of files for each run. Each row of a Parquet file holds one value.
package neptune

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"tracker/store/transfer"
	"tracker/store/transfer/parquet"
)

// projectName is the default project name of imported runs.
const projectName = "Neptune"

// Kind returns the kind of source that this package reads.
func Kind() transfer.Kind {
	return transfer.Kind{Name: "neptune", Title: "files of neptune-exporter", Project: projectName, Find: func(path string) (transfer.Source, error) {
		s, err := find(path)
		return transfer.Found(s, len(s.runs) == 0, err)
	}}
}

var partName = regexp.MustCompile(`^(.+)_part_(\d{1,9})\.parquet$`)

// IsPart reports whether a file has the name of a part of a run, such as RUN_part_0.parquet.
func IsPart(name string) bool { return partName.MatchString(name) }

// source holds the runs found at a path.
type source struct {
	runs       []*run
	incomplete []*run // runs whose first part is missing
}

// run holds the Parquet files of one run.
type run struct {
	folder string
	parts  []part // sorted by number
}

type part struct {
	number int
	path   string
	info   fs.FileInfo
}

// find returns the runs at a path, which can be a file or a folder. A run whose first part is
// missing is incomplete, because the exporter gives the first part its final name last.
func find(at string) (s source, err error) {
	if at, err = filepath.Abs(at); err != nil {
		return s, err
	}
	info, err := os.Stat(at)
	if err != nil {
		return s, err
	}
	root, only := at, ""
	if !info.IsDir() {
		m := partName.FindStringSubmatch(filepath.Base(at))
		if m == nil {
			return s, nil
		}
		root, only = filepath.Dir(at), filepath.Join(filepath.Dir(at), m[1])
	}
	runs := map[string]*run{}
	err = transfer.Walk(root, func(path string, d fs.DirEntry) error {
		m := partName.FindStringSubmatch(d.Name())
		if m == nil || !d.Type().IsRegular() {
			return nil
		}
		key := filepath.Join(filepath.Dir(path), m[1])
		if only != "" && key != only {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil // the file was just removed
		}
		if runs[key] == nil {
			runs[key] = &run{folder: filepath.Dir(path)}
		}
		number, err := strconv.Atoi(m[2])
		runs[key].parts = append(runs[key].parts, part{number, path, info})
		return err
	})
	if err != nil {
		return s, err
	}
	for _, r := range runs {
		slices.SortFunc(r.parts, func(a, b part) int { return a.number - b.number })
		if r.parts[0].number == 0 {
			s.runs = append(s.runs, r)
		} else {
			s.incomplete = append(s.incomplete, r)
		}
	}
	slices.SortFunc(s.incomplete, func(a, b *run) int { return strings.Compare(a.parts[0].path, b.parts[0].path) })
	slices.SortFunc(s.runs, func(a, b *run) int { return strings.Compare(a.parts[0].path, b.parts[0].path) })
	return s, nil
}

// Size returns the total size of all parts in bytes.
func (s source) Size() (n int64) {
	for _, r := range s.runs {
		for _, p := range r.parts {
			n += p.info.Size()
		}
	}
	return n
}

// Import imports all runs of the source.
func (s source) Import(ctx context.Context, im *transfer.Import) error {
	for _, r := range s.incomplete {
		im.Lose(r.parts[0].path, "Part 0 of the run is missing, because its export did not finish; the run is left out.")
	}
	for _, r := range s.runs {
		about, err := r.about(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			im.Lose(r.parts[0].path, "The run can't be read: %v.", err)
		case im.Wanted(about.name, about.run, about.project):
			if err := r.importRun(ctx, im, about); err != nil {
				return err
			}
		}
		for _, p := range r.parts {
			im.Read(p.info.Size())
		}
	}
	return nil
}

// fingerprint returns a string that changes if a part of the run changes.
func (r *run) fingerprint() string {
	var text strings.Builder
	for _, p := range r.parts {
		fmt.Fprintf(&text, "%d-%x ", p.info.Size(), p.info.ModTime().UnixNano())
	}
	return strings.TrimSpace(text.String())
}

// importRun imports a run. If the run was exported again after an earlier import, its new
// points replace the earlier points.
func (r *run) importRun(ctx context.Context, im *transfer.Import, a about) error {
	path := r.parts[0].path
	id := transfer.ID("neptune", "run", a.project, a.run)
	file := transfer.ID("neptune", "file", id.String())
	known, err := im.Files(ctx, []uuid.UUID{file})
	if err != nil {
		return err
	}
	k, isKnown := known[file]
	now := r.fingerprint()
	switch {
	case isKnown && k.RunID == uuid.Nil:
		im.LeaveOut(id, path, "The run was imported before and then deleted here; it is not imported again.")
		return nil
	case isKnown && k.Fingerprint == now:
		im.Unchanged(id)
		return nil
	}
	to := transfer.Run{ID: id, Project: projectName, Experiment: a.project, Name: a.name, Notes: a.notes, Created: a.created, Status: a.status}
	if a.status != transfer.Running && a.ended > 0 {
		to.Ended = &a.ended
	}
	if a.created == 0 {
		im.Lose(path, "The run has no start time; it is shown as started in 1970.")
	}
	b := &importing{im: im, path: path, files: filepath.Join(filepath.Dir(filepath.Dir(r.folder)), "files"),
		w: im.Begin(to, path, isKnown), begun: map[string]bool{}, texts: map[string]*text{}}
	if err := r.each(ctx, allColumns, func(v row) error { return b.add(ctx, v) }); err != nil {
		var unreadable *transfer.ReadError
		if !errors.As(err, &unreadable) {
			return err
		}
		im.Lose(path, "It was read only up to a row that can't be read: %v.", err)
	}
	if err := b.saveTexts(ctx); err != nil {
		return err
	}
	b.w.Mark(transfer.File{ID: file, Path: path, Fingerprint: now})
	return b.w.End(ctx)
}

// row holds the values of a row by column name.
type row map[string]parquet.Value

func (v row) text(column string) string { return string(v[column].Text) }

// Names of the columns to read.
var (
	aboutColumns = []string{"project_id", "run_id", "attribute_path", "attribute_type", "string_value", "bool_value", "datetime_value"}
	allColumns   = append(slices.Clone(aboutColumns), "step", "timestamp", "int_value", "float_value", "string_set_value", "file_value/path")
)

var errColumns = errors.New("it does not have the columns that neptune-exporter writes")

// each calls fn for each row of all parts. It returns a *transfer.ReadError if a part can't be
// read.
func (r *run) each(ctx context.Context, names []string, fn func(row) error) error {
	for _, p := range r.parts {
		if err := p.each(ctx, names, fn); err != nil {
			return err
		}
	}
	return nil
}

func (p part) each(ctx context.Context, names []string, fn func(row) error) error {
	in, err := os.Open(p.path)
	if err != nil {
		return &transfer.ReadError{Err: err}
	}
	defer in.Close()
	f, err := parquet.Open(in, p.info.Size())
	if err != nil {
		return &transfer.ReadError{Err: err}
	}
	var columns []int
	var found []string
	for i, c := range f.Columns {
		if slices.Contains(names, c.Name) && c.Unreadable == "" && c.List == (c.Name == "string_set_value") {
			columns, found = append(columns, i), append(found, c.Name)
		}
	}
	for _, name := range aboutColumns[:4] {
		if !slices.Contains(found, name) {
			return &transfer.ReadError{Err: errColumns}
		}
	}
	rows := f.Rows(columns...)
	v := row{}
	for n := 0; ; n++ {
		values, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return &transfer.ReadError{Err: err}
		}
		for i, name := range found {
			v[name] = values[i]
		}
		if err := fn(v); err != nil {
			return err
		}
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
}
