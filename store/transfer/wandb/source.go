// Package wandb reads runs that W&B's client wrote offline. A run is a folder such as
// offline-run-20261122_033155-e7b4nwpj. The folder contains a log in W&B's own format, and the
// files of the run.
package wandb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protowire"

	"tracker/store/json"
	"tracker/store/transfer"
	"tracker/store/transfer/wire"
)

// projectName is the default project name of imported runs.
const projectName = "W&B"

// Kind returns the kind of source that this package reads.
func Kind() transfer.Kind {
	return transfer.Kind{Name: "wandb", Title: "W&B's offline runs", Project: projectName, Find: func(path string) (transfer.Source, error) {
		s, err := find(path)
		return transfer.Found(s, len(s.logs) == 0, err)
	}}
}

// source holds the logs found at a path.
type source struct {
	folder string // imported folder; "" if the path is a file
	logs   []logFile
	others []transfer.Loss // losses for .wandb files that are not valid logs
}

type logFile struct {
	path string
	info fs.FileInfo
}

// find returns the logs at a path, which can be a file or a folder.
func find(at string) (s source, err error) {
	if at, err = filepath.Abs(at); err != nil {
		return s, err
	}
	err = transfer.Walk(at, func(path string, d fs.DirEntry) error {
		if path == at && d.IsDir() {
			s.folder = at
		}
		if !d.Type().IsRegular() || filepath.Ext(path) != ".wandb" {
			return nil
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		in, err := os.Open(path)
		if err != nil {
			s.others = append(s.others, transfer.Loss{Path: path, Reason: fmt.Sprintf("It can't be read: %v.", err)})
			return nil
		}
		defer in.Close()
		header := make([]byte, fragmentHeader)
		if _, err := io.ReadFull(in, header); err == nil && isLog(header) {
			s.logs = append(s.logs, logFile{path, info})
		} else {
			s.others = append(s.others, transfer.Loss{Path: path, Reason: "It is not a W&B log; it is left out."})
		}
		return nil
	})
	return s, err
}

// Folder returns the imported folder, or "" if the source is a file.
func (s source) Folder() string { return s.folder }

// Reads reports whether a file is a log or is in the folder of a run. W&B's client writes some
// files in that folder only for its own use. They are not read, but Reads returns true for them.
func (s source) Reads(path string) bool {
	return filepath.Ext(path) == ".wandb" || slices.ContainsFunc(s.logs, func(l logFile) bool {
		return strings.HasPrefix(path, filepath.Dir(l.path)+string(filepath.Separator))
	})
}

// Size returns the total size of the logs in bytes.
func (s source) Size() (n int64) {
	for _, l := range s.logs {
		n += l.info.Size()
	}
	return n
}

// Import imports all runs in the order of their folder names, which begin with a time. A
// resumed run has several folders. The last folder determines the status of the run.
func (s source) Import(ctx context.Context, im *transfer.Import) error {
	for _, l := range s.others {
		im.Lose(l.Path, "%s", l.Reason)
	}
	abouts := make([]runRecord, len(s.logs))
	last := map[uuid.UUID]int{}
	for i, l := range s.logs {
		about, err := l.about()
		if err != nil {
			im.Lose(l.path, "It contains no run: %v.", err)
		}
		abouts[i], last[about.uuid()] = about, i
	}
	for i, l := range s.logs {
		about := abouts[i]
		if about.id != "" && im.Wanted(about.name, about.id, about.project) {
			if err := l.importRun(ctx, im, about, last[about.uuid()] == i); err != nil {
				return err
			}
		}
		im.Read(l.info.Size())
	}
	return nil
}

// about returns the run record in a log.
func (l logFile) about() (runRecord, error) {
	in, err := os.Open(l.path)
	if err != nil {
		return runRecord{}, err
	}
	defer in.Close()
	return firstRun(&log{in: in, size: l.info.Size(), pos: fragmentHeader})
}

// uuid returns the id of the run in tracker.
func (a runRecord) uuid() uuid.UUID { return transfer.ID("wandb", "run", a.entity, a.project, a.id) }

// importRun imports the new data of a log and the files of its run. last reports whether the
// log is the run's last log.
func (l logFile) importRun(ctx context.Context, im *transfer.Import, about runRecord, last bool) error {
	id := about.uuid()
	// A resumed run has several folders, each named after its start time.
	file := transfer.ID("wandb", "file", id.String(), filepath.Base(filepath.Dir(l.path)))
	known, err := im.Files(ctx, []uuid.UUID{file})
	if err != nil {
		return err
	}
	k, isKnown := known[file]
	if isKnown && k.RunID == uuid.Nil {
		im.LeaveOut(id, l.path, "The run was imported before and then deleted here; it is not imported again.")
		return nil
	}
	if k.Position > l.info.Size() {
		im.Lose(l.path, "The file was truncated after it was read; its new data is not imported.")
		k.Size = l.info.Size()
	}
	r := &reader{log: l, im: im, source: file, id: id, last: last}
	if k.State != "" {
		if err := json.Unmarshal([]byte(k.State), &r.state); err != nil {
			return fmt.Errorf("the state of the source %s: %w", l.path, err)
		}
	}
	r.w = im.Begin(about.run(id), l.path, isKnown)
	if !isKnown || k.Size != l.info.Size() {
		in, err := os.Open(l.path)
		if err != nil {
			im.Lose(l.path, "It can't be read: %v.", err)
			return nil
		}
		defer in.Close()
		if err := r.read(ctx, &log{in: in, size: l.info.Size(), pos: max(k.Position, fragmentHeader)}); err != nil {
			return err
		}
	}
	if err := l.importFiles(ctx, r.w); err != nil {
		return err
	}
	return r.importArtifacts(ctx)
}

// firstRun returns the run record, which is one of the first records of a log.
func firstRun(records *log) (runRecord, error) {
	for range 64 {
		data, err := records.next()
		if errors.Is(err, errDamaged) || errors.Is(err, errPart) {
			continue
		}
		if err != nil {
			return runRecord{}, err
		}
		var found *runRecord
		err = wire.Fields(data, func(n protowire.Number, _ protowire.Type, _ uint64, data []byte) error {
			if n != recordRun {
				return nil
			}
			r, err := parseRun(data)
			found = &r
			return err
		})
		if err == nil && found != nil && found.id != "" {
			return *found, nil
		}
	}
	return runRecord{}, errors.New("the first records have none")
}

// run returns the fields of the run to import.
func (a runRecord) run(id uuid.UUID) transfer.Run {
	project, name := a.project, a.name
	if project == "" {
		project = "uncategorized" // default project of W&B
	}
	if name == "" {
		name = a.id
	}
	return transfer.Run{ID: id, Project: projectName, Experiment: project, Name: name, Notes: a.notes, Created: transfer.Time(max(a.start, 0)), Status: transfer.Running}
}

// importFiles stores the files in the folder of a run.
func (l logFile) importFiles(ctx context.Context, w *transfer.RunWriter) error {
	return w.Folder(ctx, filepath.Join(filepath.Dir(l.path), "files"))
}
