package mlflow

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"tracker/store/transfer"
)

// folderExperiments returns the experiments of a file store, including deleted experiments. The
// name of an experiment is empty if its meta.yaml is not readable.
func folderExperiments(folder string) (all []*experiment, err error) {
	paths, err := subfolders(folder)
	if err != nil {
		return nil, err
	}
	trash, err := subfolders(filepath.Join(folder, ".trash"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, path := range append(paths, trash...) {
		e := &experiment{path: path}
		m, err := readMeta(path)
		switch {
		case err == nil && m.ExperimentID != "":
			e.id, e.name, e.created, e.deleted = m.ExperimentID, m.Name, m.Created, m.Stage == "deleted"
			if e.name == "" {
				e.problem = errors.New("it has no name")
			}
		case err == nil:
			e.problem = errors.New("it has no experiment_id")
		case !errors.Is(err, fs.ErrNotExist):
			e.problem = pathless(err)
		default:
			e.problem = errNone
		}
		all = append(all, e)
	}
	return all, nil
}

var errNone = errors.New("there is none")

// folderRuns returns the runs of a file store. It does not read parameters, tags and datasets.
// If im.Deleted is false, folderRuns omits deleted runs and counts them in left.
func folderRuns(im *transfer.Import, experiments []*experiment, left *leftOut) (runs []*run, err error) {
	for _, e := range experiments {
		folders, err := subfolders(e.path)
		if err != nil {
			return nil, err
		}
		for _, path := range folders {
			m, err := readMeta(path)
			hasRun := isFolder(filepath.Join(path, "metrics")) || isFolder(filepath.Join(path, "params"))
			switch {
			case errors.Is(err, fs.ErrNotExist):
				if hasRun && !strings.HasPrefix(filepath.Base(path), "m-") {
					im.Lose(path, "The run has no meta.yaml; it is left out.")
				}
				if filepath.Base(path) == "traces" {
					loseTraces(im, path)
				}
				continue
			case err != nil:
				im.Lose(path, "Its meta.yaml can't be read: %v.", pathless(err))
				continue
			case m.runID() == "":
				if hasRun {
					im.Lose(path, "Its meta.yaml has no run_id; the run is left out.")
				}
				continue
			}
			if e.problem != nil {
				if e.name == "" {
					e.name = filepath.Base(e.path)
				}
				im.Lose(e.path, "The meta.yaml of the experiment can't be read: %v. Its runs are imported into an experiment with the name %q.", e.problem, e.name)
				e.problem = nil
			}
			e.held = true
			if !im.Wanted(m.RunName, e.name) {
				continue
			}
			if (e.deleted || m.Stage == "deleted") && !im.Deleted {
				left.runs++
				continue
			}
			r := m.run(path, e)
			runs = append(runs, r)
			if e.run == nil {
				e.run = new(r.uuid())
			}
		}
	}
	return runs, nil
}

// loseTraces records the traces of an experiment as a loss. Traces are not imported.
func loseTraces(im *transfer.Import, folder string) {
	traces, err := subfolders(folder)
	if err != nil {
		im.Lose(folder, "It can't be read: %v.", pathless(err))
	}
	if len(traces) > 0 {
		im.Lose(folder, "It has %d traces, which are not imported.", len(traces))
	}
}

func (m meta) run(path string, e *experiment) *run {
	status := fmt.Sprint(m.Status)
	if s, ok := numberedStatuses[status]; ok {
		status = s
	}
	parent, err := readText(filepath.Join(path, "tags", "mlflow.parentRunId"), 100)
	if err != nil {
		parent = "" // the run has no parent, or the function texts will report the error
	}
	return &run{id: m.runID(), experiment: e.name, name: m.RunName, status: status, start: m.Start, end: m.End, deleted: e.deleted || m.Stage == "deleted",
		experimentDeleted: e.deleted, artifacts: m.Artifacts, user: m.User, source: m.SourceName, commit: m.Version, path: path, parent: parent}
}
