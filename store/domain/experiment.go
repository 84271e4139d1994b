package domain

import (
	"tracker/store/json"
	"tracker/store/scalar"
)

// ExperimentStatus is the status of an experiment.
type ExperimentStatus string

// The statuses of an experiment. Any can follow any other.
const (
	InProgress ExperimentStatus = "IN_PROGRESS"
	Stopped    ExperimentStatus = "STOPPED"
	Finished   ExperimentStatus = "FINISHED"
)

// ExperimentState holds the fields of an experiment that rules depend on.
type ExperimentState struct {
	ProjectID string
	Status    ExperimentStatus
	EndDate   *scalar.Time
	Deleted   bool // it or its project is in the trash
}

// AllowExperiment fails unless the experiment exists and actor has the right
// in its project.
func (tx *Tx) AllowExperiment(actor Actor, id string, want Right) (e ExperimentState, err error) {
	err = tx.Row(`SELECT
			experiment.project_id,
			experiment.status,
			experiment.end_date,
			coalesce(experiment.deleted_date, project.deleted_date) IS NOT NULL
		FROM experiment
		JOIN project ON project.id = experiment.project_id
		WHERE experiment.id = ? AND `+tx.Found("experiment", "project"), id).
		Scan(&e.ProjectID, &e.Status, &e.EndDate, &e.Deleted)
	if err != nil {
		return e, OrNotFound(err, "experiment")
	}
	return e, tx.Allow(actor, e.ProjectID, want)
}

// AllowOpenExperiment is AllowExperiment for adding to it: the experiment must be in
// progress.
func (tx *Tx) AllowOpenExperiment(actor Actor, id string, want Right) (ExperimentState, error) {
	e, err := tx.AllowExperiment(actor, id, want)
	if err == nil {
		err = e.Open()
	}
	return e, err
}

// Open fails unless the experiment is in progress.
func (e ExperimentState) Open() error {
	if e.Status == InProgress {
		return nil
	}
	return Errorf(CodeExperimentNotInProgress,
		"The experiment is %s; set its status to IN_PROGRESS to add to it.", e.Status)
}

// MaxSearched is the largest number of experiments that one query selects.
const MaxSearched = 10_000

// AllowExperiments returns those of ids that exist, once each, and which of them are in
// the trash. Those in the trash are left out unless trash is set. It fails unless actor
// may read them all.
func (tx *Tx) AllowExperiments(actor Actor, ids []string, trash bool) (existing []string, inTrash map[string]bool, err error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, nil, err
	}
	var found []struct {
		ID        string `db:"id"`
		ProjectID string `db:"project_id"`
		Deleted   bool   `db:"deleted"`
	}
	err = tx.Select(&found, `SELECT experiment.id, experiment.project_id, experiment.deleted_date IS NOT NULL AS deleted
		FROM experiment
		JOIN project ON project.id = experiment.project_id AND project.deleted_date IS NULL
		WHERE experiment.id IN (SELECT value FROM json_each(?)) ORDER BY experiment.id`, string(list))
	inTrash = map[string]bool{}
	for _, e := range found {
		if e.Deleted && !trash {
			continue
		}
		if err := tx.Allow(actor, e.ProjectID, RightRead); err != nil {
			return nil, nil, err
		}
		existing, inTrash[e.ID] = append(existing, e.ID), e.Deleted
	}
	return existing, inTrash, err
}
