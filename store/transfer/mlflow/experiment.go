package mlflow

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"tracker/store/transfer"
)

// experiment is an experiment of a database or a file store.
type experiment struct {
	id, name string
	created  any // Unix milliseconds; nil when it is not known
	deleted  bool
	tags     map[string]string
	path     string     // for losses
	run      *uuid.UUID // any imported run of the experiment
	held     bool       // it has runs
	problem  error      // error of reading its meta.yaml
}

// importExperiment imports an experiment after its runs: its tags, its description, and its name if
// it has no runs. The default experiment of each store is left out while it is empty.
func (e *experiment) importExperiment(ctx context.Context, im *transfer.Import) error {
	if e.deleted && !im.Deleted || e.run == nil && (!im.Wanted(e.name) || e.id == "0" && len(e.tags) == 0) {
		return nil
	}
	to := transfer.Experiment{ID: e.id, Project: projectName, Name: e.name, Description: e.tags["mlflow.note.content"], Deleted: e.deleted, RunID: e.run}
	for _, key := range sorted(e.tags) {
		if key != "mlflow.note.content" {
			to.Properties = append(to.Properties, transfer.Parameter{Key: key, Value: e.tags[key]})
		}
	}
	if e.created != nil {
		at, ok := timeAt(e.created)
		if !ok {
			im.Lose(e.path, "The creation time of the experiment, %s, is not a valid time; it is shown as created today.", shown(e.created))
		}
		to.Created = at
	}
	return im.Experiment(ctx, to, e.path)
}

// leftOut counts records that are deleted in MLflow and not imported, since the options exclude
// them.
type leftOut struct{ runs, experiments, models int }

// lose reports the counts.
func (l leftOut) lose(im *transfer.Import, path string) {
	var parts []string
	for _, c := range []struct {
		n         int
		one, many string
	}{{l.runs, "run", "runs"}, {l.experiments, "empty experiment", "empty experiments"}} {
		if c.n == 1 {
			parts = append(parts, "1 "+c.one)
		} else if c.n > 1 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.many))
		}
	}
	if len(parts) > 0 {
		im.Lose(path, "MLflow has deleted %s, which %s left out; --deleted imports them into the trash.", strings.Join(parts, " and "), isAre(l.runs+l.experiments))
	}
	if l.models > 0 {
		im.Lose(path, "Logged models that MLflow has deleted are left out: %d.", l.models)
	}
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// trash holds the deleted runs of a store until all runs are imported, since a run in the trash
// can't be the parent of another run.
type trash struct {
	ids   []uuid.UUID
	paths []string
}

func (t *trash) add(r *run) {
	if r.deleted && !r.experimentDeleted {
		t.ids, t.paths = append(t.ids, r.uuid()), append(t.paths, r.path)
	}
}
