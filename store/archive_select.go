package store

import (
	"fmt"
	"maps"
	"slices"

	"tracker/store/json"
)

// archived returns the records that q selects in the order in which they are copied,
// and what kind of selection that is.
func (tx *tx) archived(actor Actor, q ArchiveQuery) (refs []recordRef, scope string, err error) {
	switch {
	case q.ProjectID != "":
		if err := tx.allowProject(actor, q.ProjectID, rightRead); err != nil {
			return nil, "", err
		}
		refs, err = tx.recordsOfProject(q.ProjectID)
		if err == nil && q.Records != nil {
			err = keepOnly(refs, q.Records)
			refs = slices.DeleteFunc(refs, func(r recordRef) bool {
				return r.context && r.kind.name != "project" && r.kind.name != "experiment" && r.kind.name != "model"
			})
		}
		return refs, "project", err
	case q.ExperimentID != "" && q.Filter == "":
		e, err := tx.allowExperiment(actor, q.ExperimentID, rightRead)
		if err != nil {
			return nil, "", err
		}
		refs = []recordRef{{kind: kindOf("project"), id: e.projectID, context: true}, {kind: kindOf("experiment"), id: q.ExperimentID}}
		for _, kind := range []string{"iteration", "logged_model", "wandb_artifact"} {
			more, err := tx.recordsWhere(kind, `experiment.id = ?`, q.ExperimentID)
			if err != nil {
				return nil, "", err
			}
			refs = append(refs, more...)
		}
		return refs, "experiment", nil
	case q.ExperimentID != "":
		v := &View{tx: tx, actor: actor}
		for {
			l, err := v.Iterations(q.ExperimentID, IterationQuery{Filter: q.Filter, Sort: "created", Page: Page{Limit: MaxLimit, Offset: len(q.IterationIDs)}})
			if err != nil {
				return nil, "", err
			}
			for _, it := range l.Data {
				q.IterationIDs = append(q.IterationIDs, it.ID)
			}
			if len(l.Data) == 0 || len(q.IterationIDs) >= l.Total {
				break
			}
		}
	}
	refs, err = tx.recordsOfRuns(actor, q.IterationIDs)
	return refs, "runs", err
}

// keepOnly marks all but some records as those that others need.
func keepOnly(refs []recordRef, wanted []string) error {
	there := map[string]bool{}
	for _, w := range wanted {
		there[w] = true
	}
	for i := range refs {
		refs[i].context = !there[refs[i].String()]
		delete(there, refs[i].String())
	}
	for missing := range maps.Keys(there) {
		return Invalid("records", "The project has no record %q.", truncate(missing))
	}
	return nil
}

// recordsOfProject returns all records of a project.
func (tx *tx) recordsOfProject(id string) (refs []recordRef, err error) {
	for _, k := range recordKinds {
		more, err := tx.recordsWhere(k.name, `project.id = ?`, id)
		if err != nil {
			return nil, err
		}
		refs = append(refs, more...)
	}
	return refs, nil
}

// recordsOfRuns returns runs, in the order of their numbers, with what holds them.
func (tx *tx) recordsOfRuns(actor Actor, ids []string) (refs []recordRef, err error) {
	for chunk := range slices.Chunk(ids, MaxLimit) {
		if _, err := tx.allowIterations(actor, chunk, rightRead); err != nil {
			return nil, err
		}
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	for _, k := range []struct{ kind, where string }{
		{"project", `project.id IN (SELECT project_id FROM experiment JOIN iteration ON experiment_id = experiment.id
			WHERE iteration.id IN (SELECT value FROM json_each(?)))`},
		{"experiment", `experiment.id IN (SELECT experiment_id FROM iteration WHERE id IN (SELECT value FROM json_each(?)))`},
		{"iteration", `iteration.id IN (SELECT value FROM json_each(?))`},
	} {
		more, err := tx.recordsWhere(k.kind, k.where, string(list))
		if err != nil {
			return nil, err
		}
		for i := range more {
			more[i].context = k.kind != "iteration"
		}
		refs = append(refs, more...)
	}
	if len(refs) == 0 {
		return nil, Invalid("iteration_ids", "No run is selected.")
	}
	return refs, nil
}

// recordsWhere returns the records of a kind that fulfil a condition on it and on
// what holds it.
func (tx *tx) recordsWhere(kind, where string, args ...any) ([]recordRef, error) {
	from := map[string]string{
		"project": `project.id FROM project WHERE %s AND project.deleted_date IS NULL
			ORDER BY project.created_date, project.id`,
		"experiment": `experiment.id FROM experiment JOIN project ON project.id = project_id
			WHERE %s AND project.deleted_date IS NULL AND experiment.deleted_date IS NULL
			ORDER BY experiment.created_date, experiment.id`,
		"iteration": `iteration.id FROM iteration JOIN experiment ON experiment.id = experiment_id JOIN project ON project.id = project_id
			WHERE %s AND project.deleted_date IS NULL AND experiment.deleted_date IS NULL AND iteration.deleted_date IS NULL
			ORDER BY iteration.num`,
		"logged_model": `logged_model.id FROM logged_model JOIN experiment ON experiment.id = experiment_id JOIN project ON project.id = project_id
			WHERE %s AND project.deleted_date IS NULL AND experiment.deleted_date IS NULL
			ORDER BY logged_model.num`,
		"wandb_artifact": `wandb_artifact.id FROM wandb_artifact
			JOIN iteration ON iteration.num = iteration_num AND iteration.deleted_date IS NULL
			JOIN experiment ON experiment.id = wandb_artifact.experiment_id JOIN project ON project.id = project_id
			WHERE %s AND project.deleted_date IS NULL AND experiment.deleted_date IS NULL
			ORDER BY wandb_artifact.num`,
		"report": `report.id FROM report JOIN project ON project.id = project_id
			WHERE %s AND project.deleted_date IS NULL AND report.deleted_date IS NULL
			ORDER BY report.created_date, report.id`,
		"model": `model.id FROM model JOIN project ON project.id = project_id
			WHERE %s AND project.deleted_date IS NULL AND model.deleted_date IS NULL
			ORDER BY model.created_date, model.id`,
		"model_version": `model_version.id FROM model_version JOIN model ON model.id = model_id JOIN project ON project.id = project_id
			WHERE %s AND project.deleted_date IS NULL AND model.deleted_date IS NULL AND model_version.deleted_date IS NULL
			ORDER BY model.created_date, model.id, version`,
	}[kind]
	var ids []string
	if err := tx.Select(&ids, `SELECT `+fmt.Sprintf(from, where), args...); err != nil {
		return nil, err
	}
	refs := make([]recordRef, len(ids))
	for i, id := range ids {
		refs[i] = recordRef{kind: kindOf(kind), id: id}
	}
	return refs, nil
}

// allRecords returns the records of a database that was made for an archive.
func (tx *tx) allRecords(context []string) (refs []recordRef, err error) {
	others := map[string]bool{}
	for _, c := range context {
		others[c] = true
	}
	for _, k := range recordKinds {
		more, err := tx.recordsWhere(k.name, `TRUE`)
		if err != nil {
			return nil, err
		}
		for i := range more {
			more[i].context = others[more[i].String()]
		}
		refs = append(refs, more...)
	}
	return refs, nil
}
