package mlflow

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/google/uuid"

	"tracker/store/transfer"
)

// meta holds the fields of meta.yaml, which describes an experiment or a run.
type meta struct {
	ExperimentID string `yaml:"experiment_id"`
	Name         string `yaml:"name"` // set only for an experiment
	RunID        string `yaml:"run_id"`
	RunUUID      string `yaml:"run_uuid"` // used only by old stores
	RunName      string `yaml:"run_name"`
	Status       any    `yaml:"status"`
	Start        any    `yaml:"start_time"`
	End          any    `yaml:"end_time"`
	Created      any    `yaml:"creation_time"` // set only for an experiment
	Stage        string `yaml:"lifecycle_stage"`
	Artifacts    string `yaml:"artifact_uri"`
	User         string `yaml:"user_id"`
	SourceName   string `yaml:"source_name"`
	Version      string `yaml:"source_version"`
}

func (m meta) runID() string { return first(m.RunID, m.RunUUID) }

// These are the size limits of a file store, in bytes. maxText limits a parameter or tag, and
// maxLine limits a line of a metric file.
const (
	maxMeta = 1 << 20
	maxText = 1 << 20
	maxLine = 4096
	// maxTexts is the maximum total size of a run's parameters or a run's tags, in bytes.
	maxTexts = 64 << 20
)

var errTexts = fmt.Errorf("there are more than %d, or more than %d MiB; the rest are left out", maxEntries, maxTexts>>20)

func readMeta(folder string) (m meta, err error) {
	text, err := readText(filepath.Join(folder, "meta.yaml"), maxMeta)
	if err == nil {
		err = yaml.Unmarshal([]byte(text), &m)
	}
	return m, err
}

// readText returns the content of a file. It returns an error if the file has more than limit
// bytes.
func readText(path string, limit int64) (string, error) {
	return transfer.ReadFile(path, limit)
}

// numberedStatuses maps the status numbers of a file store to status names.
var numberedStatuses = map[string]string{"1": "RUNNING", "2": "SCHEDULED", "3": "FINISHED", "4": "FAILED", "5": "KILLED"}

// importFolder imports the runs, models and experiments of a file store.
func importFolder(ctx context.Context, im *transfer.Import, folder string) error {
	var left leftOut
	experiments, err := folderExperiments(folder)
	if err != nil {
		return err
	}
	runs, err := folderRuns(im, experiments, &left)
	if err != nil {
		return err
	}
	places := newPlaces(im, filepath.Dir(folder), folder)
	var deleted trash
	uses := map[string][]transfer.ModelUse{}
	for _, r := range parentsFirst(runs) {
		r.tags, r.params, r.datasets = texts(im, filepath.Join(r.path, "tags")), texts(im, filepath.Join(r.path, "params")), folderDatasets(im, r.path)
		if err := importFolderRun(ctx, im, places, r); err != nil {
			return err
		}
		deleted.add(r)
		folderUses(im, r, uses)
		r.params, r.tags, r.datasets = nil, nil, nil // frees memory, because a store can have many runs
	}
	if err := im.Trash(ctx, deleted.ids, deleted.paths); err != nil {
		return err
	}
	if err := folderModels(ctx, im, folder, experiments, uses, places, &left); err != nil {
		return err
	}
	for _, e := range experiments {
		if e.name == "" {
			if e.problem != nil && !errors.Is(e.problem, errNone) {
				im.Lose(e.path, "Its meta.yaml can't be read: %v.", e.problem)
			}
			continue // not an experiment, for example the model registry
		}
		e.tags = texts(im, filepath.Join(e.path, "tags"))
		if e.deleted && e.run == nil && !im.Deleted && im.Wanted(e.name) && !e.held {
			left.experiments++
		}
		if err := e.importExperiment(ctx, im); err != nil {
			return err
		}
		e.tags = nil
	}
	left.lose(im, folder)
	places.lose(im, folder)
	return nil
}

// subfolders returns the paths of all folders directly in folder. It omits hidden folders.
func subfolders(folder string) (paths []string, err error) {
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			paths = append(paths, filepath.Join(folder, e.Name()))
		}
	}
	return paths, err
}

// eachFile calls fn for each file below folder. name is the path of the file relative to
// folder.
func eachFile(im *transfer.Import, folder string, fn func(name, path string, size int64) error) error {
	n := 0
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if n++; n > maxFiles {
			return fmt.Errorf("%s has more than %d files", folder, maxFiles)
		}
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				im.Lose(path, "It can't be read: %v.", pathless(err))
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil // the file was just removed
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		return fn(filepath.ToSlash(name), path, info.Size())
	})
}

// texts returns the contents of all files below folder, by relative path.
func texts(im *transfer.Import, folder string) map[string]string {
	all := map[string]string{}
	held := 0
	err := eachFile(im, folder, func(name, path string, _ int64) error {
		text, err := readText(path, maxText)
		if err != nil {
			im.Lose(path, "It can't be read: %v.", err)
			return nil
		}
		if held += len(name) + len(text); held > maxTexts || len(all) == maxEntries-1 {
			return errTexts
		}
		all[name] = text
		return nil
	})
	if err != nil {
		im.Lose(folder, "%v.", err)
	}
	return all
}

// metricFile describes the file that holds the points of one metric.
type metricFile struct {
	key, path string
	size      int64
	id        uuid.UUID
}

// importFolderRun imports the new data of a run in a file store.
func importFolderRun(ctx context.Context, im *transfer.Import, p *places, r *run) error {
	about := transfer.ID("mlflow", "run", r.id)
	ids := []uuid.UUID{about}
	var metrics []metricFile
	err := eachFile(im, filepath.Join(r.path, "metrics"), func(name, path string, size int64) error {
		metrics = append(metrics, metricFile{name, path, size, transfer.ID("mlflow", "metric", r.id, name)})
		ids = append(ids, metrics[len(metrics)-1].id)
		return nil
	})
	if err != nil {
		return err
	}
	known, err := im.Files(ctx, ids)
	if err != nil {
		return err
	}
	fingerprint, err := r.fingerprint()
	if err != nil {
		return err
	}
	former, isKnown := known[about]
	if isKnown && former.RunID == uuid.Nil {
		r.leaveOut(im)
		return nil
	}
	w := r.begin(im, isKnown)
	isNew := !isKnown || former.Fingerprint != fingerprint
	if isNew {
		r.describe(w)
	}
	for _, m := range metrics {
		if k := known[m.id]; k.Size != m.size || k.ID == uuid.Nil {
			isNew = true
			if err := r.readMetric(ctx, im, w, m, k); err != nil {
				return err
			}
		}
	}
	if isNew {
		w.Mark(transfer.File{ID: about, Path: r.path, Fingerprint: fingerprint})
		if err := w.End(ctx); err != nil {
			return err
		}
	}
	return r.importArtifacts(ctx, im, w, p)
}

// readMetric adds the lines of a metric file after known.Position. An incomplete last line is read
// by the next import.
func (r *run) readMetric(ctx context.Context, im *transfer.Import, w *transfer.RunWriter, m metricFile, known transfer.File) error {
	f, err := os.Open(m.path)
	if err != nil {
		im.Lose(m.path, "It can't be read: %v.", err)
		return nil
	}
	defer f.Close()
	position := known.Position
	if m.size < position {
		position = 0
		im.Lose(m.path, "The file was truncated and was read again from the start.")
		w.Rewind(m.key, transfer.Step(-1<<63))
	}
	if _, err := f.Seek(position, io.SeekStart); err != nil {
		return err
	}
	in := bufio.NewReaderSize(io.LimitReader(f, m.size-position), 64<<10)
	mark := func(complete bool) {
		file := transfer.File{ID: m.id, Path: m.path, Size: -1, Position: position}
		if complete {
			file.Size = m.size
		}
		w.Mark(file)
	}
	for n := 0; ; n++ {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			im.Lose(m.path, "The line at byte %d is longer than %d bytes; the rest was not read.", position, maxLine)
			break
		}
		if errors.Is(err, io.EOF) {
			if len(line) > 0 && w.Run().Status != transfer.Running {
				im.Lose(m.path, "The line at byte %d is incomplete although the run has ended; it is left out.", position)
			}
			break
		}
		if err != nil {
			im.Lose(m.path, "It can't be read after byte %d: %v.", position, err)
			break
		}
		if err := r.addLine(w, m.key, string(line)); err != nil {
			im.Lose(m.path, "The line at byte %d was skipped: %v.", position, err)
		}
		position += int64(len(line))
		if w.Full() {
			mark(false)
			if err := w.Flush(ctx); err != nil {
				return err
			}
		}
	}
	mark(true)
	return nil
}

var errLine = errors.New("it is not a time, a value and a step")

// addLine adds the point in a line of the form "milliseconds value step". The newest MLflow
// versions append a dataset to the line. addLine ignores the dataset.
func (r *run) addLine(w *transfer.RunWriter, key, line string) error {
	fields := strings.Fields(line)
	if len(line) > maxLine || len(fields) < 2 {
		return errLine
	}
	ms, err := strconv.ParseInt(fields[0], 10, 64)
	at, ok := timeOf(ms)
	if err != nil || !ok {
		return errLine
	}
	value, err := strconv.ParseFloat(fields[1], 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return errLine
	}
	step := int64(0)
	if len(fields) > 2 {
		if step, err = strconv.ParseInt(fields[2], 10, 64); err != nil {
			return errLine
		}
	}
	w.Point(key, transfer.Step(step), transfer.Value(value), at)
	return nil
}
