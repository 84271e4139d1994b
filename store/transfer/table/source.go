// Package table reads tables of metrics. It supports CSV, TSV, JSON Lines, Parquet, and
// trainer_state.json of Hugging Face's Trainer. Each table is a run. Each row holds the values
// of metrics at one step.
package table

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"tracker/store/transfer"
	"tracker/store/transfer/neptune"
	"tracker/store/transfer/params"
)

// projectName is the default project name of imported runs.
const projectName = "Tables"

// Kind returns the kind of source that this package reads.
func Kind() transfer.Kind {
	return transfer.Kind{Name: "table", Title: "tables (CSV, TSV, JSON Lines, Parquet, trainer_state.json)", Project: projectName, Find: func(path string) (transfer.Source, error) {
		s, err := find(path)
		return transfer.Found(s, len(s.files) == 0, err)
	}}
}

// source holds the tables found at a path.
type source struct {
	root   string
	folder bool // whether the path is a folder
	files  []file
	others []string // tables that are not imported because of their names
	known  map[string]bool
}

// file describes a table.
type file struct {
	path string
	name string // name of the table's run
	info fs.FileInfo
	rows func(*reader) rows
	more []string // paths of the other parts of a W&B run history
}

const (
	stateName  = "trainer_state.json"
	checkpoint = "checkpoint-"
)

// formats maps file extensions to functions that return a reader.
var formats = map[string]func(*reader) rows{
	".csv": commaRows, ".tsv": tabRows, ".jsonl": lineRows, ".ndjson": lineRows, parquetName: parquetRows,
}

const (
	parquetName = ".parquet"
	// kerasName is the file name that Keras's documentation uses for CSVLogger. Other programs also
	// use this name, so rowsOf checks the header.
	kerasName = "training.log"
	// hparamsName is the name of the file to which Lightning writes the parameters of a run.
	hparamsName = "hparams.yaml"
)

// rowsOf returns the format of the file at path, or nil if the format is not supported.
func rowsOf(path string) func(*reader) rows {
	name := filepath.Base(path)
	if name == stateName {
		return stateRows
	}
	extension := strings.ToLower(filepath.Ext(name))
	if extension == ".log" && isKeras(header(path)) {
		return commaRows
	}
	return formats[extension]
}

// isKeras reports whether header is the header of a Keras log. The first column of a Keras log
// is "epoch".
func isKeras(header []string) bool { return len(header) > 1 && header[0] == "epoch" }

// hasLines reports whether each row is a line of the file. A program might append lines to such a
// file during the import.
func (f file) hasLines() bool {
	return filepath.Base(f.path) != stateName && strings.ToLower(filepath.Ext(f.path)) != parquetName
}

// metricsName matches the file names of tables to import from a folder.
var metricsName = regexp.MustCompile(`^(metrics|log|history|results|progress|training_log)\.(csv|tsv|jsonl|ndjson|parquet)$`)

// find returns the tables at a path. If the path is a folder, find returns only tables with
// file names that common frameworks use.
func find(path string) (s source, err error) {
	if s.root, err = filepath.Abs(path); err != nil {
		return s, err
	}
	info, err := os.Stat(s.root)
	if err != nil {
		return s, err
	}
	if info.Mode().IsRegular() {
		if rows := rowsOf(s.root); rows != nil && !neptune.IsPart(filepath.Base(s.root)) {
			s.files = []file{{path: s.root, name: s.runName(s.root), info: info, rows: rows}}
			s.root = filepath.Dir(s.root)
		}
		return s, nil
	}
	if !info.IsDir() {
		return s, nil
	}
	s.folder = true
	err = transfer.Walk(s.root, func(path string, d fs.DirEntry) error {
		if d.IsDir() && d.Name() == "metrics" && filepath.Base(filepath.Dir(path)) == "plots" {
			return fs.SkipDir // a folder written by DVCLive
		}
		if !d.Type().IsRegular() {
			return nil
		}
		rows := rowsOf(path)
		isNamed := d.Name() == stateName || d.Name() == kerasName || metricsName.MatchString(d.Name()) || historyOf(path) != ""
		switch {
		case rows == nil:
			return nil
		case !isNamed:
			s.others = append(s.others, path)
			return nil
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		s.files = append(s.files, file{path: path, name: s.runName(path), info: info, rows: rows})
		return nil
	})
	s.known = map[string]bool{}
	for _, f := range s.files {
		s.known[f.path] = true
		if metricsName.MatchString(filepath.Base(f.path)) {
			s.known[filepath.Join(filepath.Dir(f.path), hparamsName)] = true
		}
	}
	for _, path := range s.others {
		s.known[path] = true
	}
	s.files = joined(withoutEarlier(s.files))
	return s, err
}

// runName returns the run name for a table. It is the name of the folder if the file name is
// generic, and otherwise the file name.
func (s source) runName(path string) string {
	name, dir := filepath.Base(path), filepath.Dir(path)
	if run := historyOf(path); run != "" {
		return run
	}
	if name == stateName && strings.HasPrefix(filepath.Base(dir), checkpoint) {
		dir = filepath.Dir(dir)
	}
	if name != stateName && name != kerasName && !metricsName.MatchString(name) {
		return strings.TrimSuffix(name, filepath.Ext(name))
	}
	if rel, err := filepath.Rel(s.root, dir); err == nil && filepath.IsLocal(rel) && rel != "." {
		return filepath.ToSlash(rel)
	}
	return filepath.Base(dir)
}

// withoutEarlier removes each trainer_state.json of an earlier checkpoint. The file of the last
// checkpoint contains the same data.
func withoutEarlier(files []file) []file {
	last := map[string]int{} // step of each run's last checkpoint, by run name
	step := func(f file) int {
		n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(f.path)), checkpoint))
		if err != nil {
			return int(^uint(0) >> 1) // the state at the end of training comes last
		}
		return n
	}
	for _, f := range files {
		if filepath.Base(f.path) == stateName {
			last[f.name] = max(last[f.name], step(f))
		}
	}
	return slices.DeleteFunc(files, func(f file) bool { return filepath.Base(f.path) == stateName && step(f) < last[f.name] })
}

// Folder returns the imported folder, or "" if the source is a file.
func (s source) Folder() string {
	if s.folder {
		return s.root
	}
	return ""
}

// Reads reports whether the source imports the file or reports it as a loss.
func (s source) Reads(path string) bool { return s.known[path] }

// experiment returns the name of the experiment for all runs.
func (s source) experiment() string { return filepath.Base(s.root) }

// Size returns the total size of the tables in bytes.
func (s source) Size() (n int64) {
	for _, f := range s.files {
		n += f.info.Size()
	}
	return n
}

// Import imports all runs of the source.
func (s source) Import(ctx context.Context, im *transfer.Import) error {
	if err := s.checkColumns(ctx, im); err != nil {
		return err
	}
	for _, path := range s.others {
		im.Lose(path, "In a folder, only tables with file names that common frameworks use are read; import this file separately if it is a run.")
	}
	for _, f := range s.files {
		if err := s.importFile(ctx, im, f); err != nil {
			return err
		}
	}
	return nil
}

// importFile imports the new data of a table. The run's id is derived from the file's path, because
// a table stores no run id.
func (s source) importFile(ctx context.Context, im *transfer.Import, f file) error {
	experiment := s.experiment()
	if strings.ToLower(filepath.Ext(f.path)) == ".csv" {
		top := header(f.path)
		if columns := chartColumns(top); columns != nil {
			return s.importChart(ctx, im, f, columns)
		}
		if isRuns(top) {
			return s.importRuns(ctx, im, f)
		}
	}
	if !im.Wanted(f.name, experiment) {
		im.Read(f.info.Size())
		return nil
	}
	identity := f.path
	if filepath.Base(f.path) == stateName {
		identity = filepath.Join(filepath.Dir(s.root), experiment, filepath.FromSlash(f.name), stateName) // the same for all checkpoints of a run
	}
	id, source := transfer.ID("table", "run", identity), transfer.ID("table", "file", identity)
	set := settingsOf(im, f, identity)
	known, err := im.Files(ctx, []uuid.UUID{source, set.id})
	if err != nil {
		return err
	}
	k, isKnown := known[source]
	set.isNew = set.isNew && known[set.id].Fingerprint != set.Fingerprint
	run := transfer.Run{ID: id, Project: projectName, Experiment: experiment, Name: f.name, Created: timeOfFile(f), Status: transfer.Running}
	switch {
	case isKnown && k.RunID == uuid.Nil:
		im.Read(f.info.Size())
		im.LeaveOut(id, f.path, "The run was imported before and then deleted here; it is not imported again.")
		return nil
	case isKnown && k.Size == f.info.Size() && k.Fingerprint == fingerprint(f):
		im.Read(f.info.Size())
		im.Unchanged(id)
		if !set.isNew {
			return nil
		}
		w := im.Begin(run, f.path, true)
		set.add(w)
		return w.End(ctx)
	}
	r := &reader{file: f, im: im, source: source, known: k, isKnown: isKnown, settings: set}
	return r.read(ctx, run)
}

// settings holds the parameters that Lightning writes to a file next to the table.
type settings struct {
	params.File
	id    uuid.UUID // id of the transfer.File for hparams.yaml
	path  string
	isNew bool // whether the parameters exist and have not been imported
}

func settingsOf(im *transfer.Import, f file, identity string) settings {
	set := settings{id: transfer.ID("table", hparamsName, identity), path: filepath.Join(filepath.Dir(f.path), hparamsName)}
	if metricsName.MatchString(filepath.Base(f.path)) {
		set.File, set.isNew = params.Read(im, set.path)
	}
	return set
}

// add adds the parameters to the run if they are new.
func (s settings) add(w *transfer.RunWriter) {
	if s.isNew {
		s.File.Add(w)
		w.Mark(transfer.File{ID: s.id, Path: s.path, Fingerprint: s.Fingerprint})
	}
}

// fingerprint returns a string that changes if a program writes to a part of the table.
func fingerprint(f file) string {
	text := strconv.FormatInt(f.info.ModTime().UnixNano(), 36)
	for _, path := range f.more {
		if info, err := os.Stat(path); err == nil {
			text += fmt.Sprintf(" %d-%x", info.Size(), info.ModTime().UnixNano())
		}
	}
	return text
}
