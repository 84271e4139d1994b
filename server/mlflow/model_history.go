package mlflow

import (
	"reflect"
	"slices"
	"unicode/utf8"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/json"
	"tracker/store/runs"
)

// notedModel is a model's entry in the model history of a run.
type notedModel struct {
	RunID   any `json:"run_id,omitzero"`
	Path    any `json:"artifact_path,omitzero"`
	Created any `json:"utc_time_created,omitzero"`
	UUID    any `json:"model_uuid,omitzero"`
	Version any `json:"mlflow_version,omitzero"`
	Flavors any `json:"flavors,omitzero"`
}

type modelLog struct {
	runRef
	Model text `json:"model_json"`
}

// logModel records a model that a client older than MLflow 3.0 has logged as an artifact of a run.
// These clients read the models of a run from the tag tagHistory, so logModel appends the model to
// this tag.
func (c *call) logModel(in modelLog) error {
	id, err := in.id()
	if err != nil {
		return err
	}
	if err := need("model_json", string(in.Model)); err != nil {
		return err
	}
	var model *notedModel
	if err := json.Unmarshal([]byte(in.Model), &model); err != nil || model == nil {
		return domain.Invalid("model_json", "model_json must be a JSON object.")
	}
	var r runs.IterationRecord
	err = c.db.View(c.ctx, c.actor, func(v *store.View) (err error) {
		r, err = v.Runs.IterationRecord(id)
		return err
	})
	if err != nil {
		return c.activeRun(id, err)
	}
	var all []any
	for _, p := range r.Properties {
		if p.Key == tagHistory && json.Unmarshal([]byte(p.Value), &all) != nil {
			return domain.Invalid("run_id", "The tag %s of the run is not a list; remove it first.", tagHistory)
		}
	}
	noted, err := json.Marshal(model, json.Deterministic(true))
	if err != nil {
		return err
	}
	var entry any
	if err := json.Unmarshal(noted, &entry); err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(other any) bool { return reflect.DeepEqual(other, entry) }) {
		return nil // a repeated request, because the response was lost
	}
	value, err := json.Marshal(append(all, model))
	if err != nil {
		return err
	}
	if utf8.RuneCount(value) > maxTag {
		return domain.Invalid("model_json", "The history of models of the run would be longer than %d characters.", maxTag)
	}
	return c.setTag(runTag{in.runRef, tag{tagHistory, text(value)}})
}
