package record

import (
	"fmt"

	"tracker/store/json"
)

// OfProject returns all records of the project with the given id.
func (tx Tx) OfProject(id string) (refs []Ref, err error) {
	for _, k := range Kinds {
		more, err := tx.where(k, `project.id = ?`, id)
		if err != nil {
			return nil, err
		}
		refs = append(refs, more...)
	}
	return refs, nil
}

// Only selects records from refs, the records of a project. It selects the records in wanted,
// which lists them as kind/id. It also selects the needed records and all projects, experiments
// and models, and sets Context for these. missing is the first wanted record that is not in refs.
func Only(refs []Ref, wanted []string, needed map[string]bool) (some []Ref, missing string) {
	isWanted, there := map[string]bool{}, map[string]bool{}
	for _, w := range wanted {
		isWanted[w] = true
	}
	for _, ref := range refs {
		ref.Context = !isWanted[ref.String()]
		there[ref.String()] = true
		if !ref.Context || ref.Kind == projectKind || ref.Kind == experimentKind || ref.Kind == modelKind || needed[ref.String()] {
			some = append(some, ref)
		}
	}
	for _, w := range wanted {
		if !there[w] {
			return nil, w
		}
	}
	return some, ""
}

// OfExperiment returns the records of an experiment except reports and models. The result also
// contains the experiment's project, with Context set.
func (tx Tx) OfExperiment(projectID, id string) (refs []Ref, err error) {
	refs = []Ref{{Kind: projectKind, ID: projectID, Context: true}, {Kind: experimentKind, ID: id}}
	for _, k := range []*Kind{iterationKind, loggedModelKind, artifactVersionKind} {
		more, err := tx.where(k, `experiment.id = ?`, id)
		if err != nil {
			return nil, err
		}
		refs = append(refs, more...)
	}
	return refs, nil
}

// OfRuns returns the iterations with the given ids, sorted by number. The containers of the
// iterations come first, with Context set.
func (tx Tx) OfRuns(ids []string) (refs []Ref, err error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	for _, k := range []struct {
		kind  *Kind
		where string
	}{
		{projectKind, `project.id IN (SELECT project_id FROM experiment JOIN iteration ON experiment_id = experiment.id
			WHERE iteration.id IN (SELECT value FROM json_each(?)))`},
		{experimentKind, `experiment.id IN (SELECT experiment_id FROM iteration WHERE id IN (SELECT value FROM json_each(?)))`},
		{iterationKind, `iteration.id IN (SELECT value FROM json_each(?))`},
	} {
		more, err := tx.where(k.kind, k.where, string(list))
		if err != nil {
			return nil, err
		}
		for i := range more {
			more[i].Context = k.kind != iterationKind
		}
		refs = append(refs, more...)
	}
	return refs, nil
}

// All returns all records of a database that was created for an archive. It sets Context for the
// records in context, which lists them as kind/id.
func (tx Tx) All(context []string) (refs []Ref, err error) {
	others := map[string]bool{}
	for _, c := range context {
		others[c] = true
	}
	for _, k := range Kinds {
		more, err := tx.where(k, `TRUE`)
		if err != nil {
			return nil, err
		}
		for i := range more {
			more[i].Context = others[more[i].String()]
		}
		refs = append(refs, more...)
	}
	return refs, nil
}

// where returns the records of a kind that match an SQL condition. The condition can use the
// tables of the kind and of its containers.
func (tx Tx) where(kind *Kind, condition string, args ...any) ([]Ref, error) {
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
		"wandb_artifact": `artifact_version.id FROM artifact_version
			JOIN iteration ON iteration.num = iteration_num AND iteration.deleted_date IS NULL
			JOIN experiment ON experiment.id = artifact_version.experiment_id JOIN project ON project.id = project_id
			WHERE %s AND project.deleted_date IS NULL AND experiment.deleted_date IS NULL
			ORDER BY artifact_version.num`,
		"report": `report.id FROM report JOIN project ON project.id = project_id
			WHERE %s AND project.deleted_date IS NULL AND report.deleted_date IS NULL
			ORDER BY report.created_date, report.id`,
		"model": `model.id FROM model JOIN project ON project.id = project_id
			WHERE %s AND project.deleted_date IS NULL AND model.deleted_date IS NULL
			ORDER BY model.created_date, model.id`,
		"model_version": `model_version.id FROM model_version JOIN model ON model.id = model_id JOIN project ON project.id = project_id
			WHERE %s AND project.deleted_date IS NULL AND model.deleted_date IS NULL AND model_version.deleted_date IS NULL
			ORDER BY model.created_date, model.id, version`,
	}[kind.Name]
	var ids []string
	if err := tx.Select(&ids, `SELECT `+fmt.Sprintf(from, condition), args...); err != nil {
		return nil, err
	}
	refs := make([]Ref, len(ids))
	for i, id := range ids {
		refs[i] = Ref{Kind: kind, ID: id}
	}
	return refs, nil
}
