package domain

import (
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// ExperimentStatus is the status of an experiment.
type ExperimentStatus string

// Statuses of an experiment. A user can change any status to any other status.
const (
	InProgress ExperimentStatus = "IN_PROGRESS"
	Stopped    ExperimentStatus = "STOPPED"
	Finished   ExperimentStatus = "FINISHED"
)

// ExperimentState holds the fields of an experiment that permission checks and other rules use.
type ExperimentState struct {
	ProjectID string
	Status    ExperimentStatus
	EndDate   *scalar.Time
	Deleted   bool // the experiment or its project is in the trash
}

// AllowExperiment checks that actor has the wanted right in the experiment's project. It
// returns NOT_FOUND if the experiment does not exist.
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

// AllowOpenExperiment is AllowExperiment for a method that adds to the experiment. It returns
// EXPERIMENT_NOT_IN_PROGRESS if the experiment is not in progress.
func (tx *Tx) AllowOpenExperiment(actor Actor, id string, want Right) (ExperimentState, error) {
	e, err := tx.AllowExperiment(actor, id, want)
	if err == nil {
		err = e.Open()
	}
	return e, err
}

// Open returns EXPERIMENT_NOT_IN_PROGRESS if the experiment is not in progress.
func (e ExperimentState) Open() error {
	if e.Status == InProgress {
		return nil
	}
	return Errorf(CodeExperimentNotInProgress,
		"The experiment is %s; set its status to IN_PROGRESS to add to it.", e.Status)
}

// InsertExperiment inserts an experiment that is in progress. The caller checks the values and the
// actor's rights.
func (tx *Tx) InsertExperiment(id, projectID, name, description string) error {
	_, err := tx.Exec(`INSERT INTO experiment (id, project_id, name, description, status, created_date, created_by, created_key)
		VALUES (?, ?, ?, ?, ?, ?, `+CreatorValues+`)`,
		id, projectID, name, description, InProgress, tx.Now, tx.Actor.CreatorID(), tx.Actor.Key)
	return err
}

// MaxSearched is the maximum number of experiments in one search.
const MaxSearched = 10_000

// AllowExperiments returns the ids of the existing experiments, sorted and without duplicates. It
// returns an error if actor lacks the right want in one of them. Experiments in the trash are
// included only if trash is set. Experiments of projects in the trash are never included. inTrash
// reports for each returned id whether the experiment is in the trash.
func (tx *Tx) AllowExperiments(actor Actor, ids []string, want Right, trash bool) (existing []string, inTrash map[string]bool, err error) {
	var found []struct {
		ID        string `db:"id"`
		ProjectID string `db:"project_id"`
		Deleted   bool   `db:"deleted"`
	}
	err = tx.Select(&found, `SELECT experiment.id, experiment.project_id, experiment.deleted_date IS NOT NULL AS deleted
		FROM experiment
		JOIN project ON project.id = experiment.project_id AND project.deleted_date IS NULL
		WHERE experiment.id IN (SELECT value FROM json_each(?)) ORDER BY experiment.id`, sqlite.JSON(ids))
	inTrash = map[string]bool{}
	for _, e := range found {
		if e.Deleted && !trash {
			continue
		}
		if err := tx.Allow(actor, e.ProjectID, want); err != nil {
			return nil, nil, err
		}
		existing, inTrash[e.ID] = append(existing, e.ID), e.Deleted
	}
	return existing, inTrash, err
}
