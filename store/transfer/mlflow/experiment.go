package mlflow

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"tracker/store/transfer"
)

// experiment is an experiment read from a database or a file store.
type experiment struct {
	id, name string
	created  any // Unix milliseconds; nil if unknown
	deleted  bool
	tags     map[string]string
	path     string     // location for messages about losses
	run      *uuid.UUID // id of an imported run of the experiment; nil if none
	held     bool       // whether the experiment has runs or models
	problem  error      // error from reading the experiment's meta.yaml
}

// importExperiment imports the tags and the description of an experiment after its runs. If the
// experiment has no runs, importExperiment creates it. It ignores an experiment with id 0 that has
// neither runs nor tags, because every store has such an experiment.
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

// leftOut counts records that were deleted in MLflow and therefore not imported. By default, the
// options exclude deleted records.
type leftOut struct{ runs, experiments, models int }

// lose reports the counts as losses.
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

// trash collects the deleted runs of a store. The import moves these runs to the trash after it has
// imported all runs, because a run in the trash can't be a parent.
type trash struct {
	ids   []uuid.UUID
	paths []string
}

func (t *trash) add(r *run) {
	if r.deleted && !r.experimentDeleted {
		t.ids, t.paths = append(t.ids, r.uuid()), append(t.paths, r.path)
	}
}
