package store

import (
	"context"
)

// ExperimentStatus says whether an experiment goes on.
type ExperimentStatus string

// The states of an experiment. Any can follow any.
const (
	InProgress ExperimentStatus = "IN_PROGRESS"
	Stopped    ExperimentStatus = "STOPPED"
	Finished   ExperimentStatus = "FINISHED"
)

// Experiment is a set of iterations that belong together.
type Experiment struct {
	ID             string           `json:"id" db:"id"`
	ProjectID      string           `json:"project_id" db:"project_id"`
	Name           string           `json:"name" db:"name"`
	Description    string           `json:"description" db:"description"`
	Status         ExperimentStatus `json:"status" db:"status"`
	CreatedDate    Time             `json:"created_date" db:"created_date"`
	EndDate        *Time            `json:"end_date" db:"end_date"`
	IterationCount int              `json:"iteration_count" db:"iteration_count"`
}

// NewExperiment is what CreateExperiment takes.
type NewExperiment struct {
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Status      *ExperimentStatus `json:"status"` // nil or IN_PROGRESS
}

// ExperimentPatch is what UpdateExperiment changes; nil leaves a field as it is.
type ExperimentPatch struct {
	Name        *string           `json:"name"`
	Description *string           `json:"description"`
	Status      *ExperimentStatus `json:"status"`
	EndDate     *Time             `json:"end_date"`
	Before      Before            `json:"-"`
}

// ExperimentQuery narrows a listing.
type ExperimentQuery struct {
	Page
	Name   string            // a part of the name, in any case; "" for all
	Status *ExperimentStatus // nil for all
}

const experimentColumns = `
	experiment.id,
	experiment.project_id,
	experiment.name,
	experiment.description,
	experiment.status,
	experiment.created_date,
	experiment.end_date,
	(SELECT count(*) FROM iteration WHERE iteration.experiment_id = experiment.id) AS iteration_count`

// Experiments lists the experiments of a project, the newest first. Needs read.
func (db *DB) Experiments(ctx context.Context, actor Actor, projectID string, q ExperimentQuery) (List[Experiment], error) {
	if q.Status != nil {
		if err := checkExperimentStatus(*q.Status); err != nil {
			return List[Experiment]{}, err
		}
	}
	return read(ctx, db, func(tx *tx) (List[Experiment], error) {
		if err := tx.allowProject(actor, projectID, rightRead); err != nil {
			return List[Experiment]{}, err
		}
		from := `FROM experiment WHERE experiment.project_id = ? AND ` + contains(`experiment.name`)
		args := []any{projectID, q.Name}
		if q.Status != nil {
			from += ` AND experiment.status = ?`
			args = append(args, *q.Status)
		}
		return list[Experiment](tx, q.Page, experimentColumns, from,
			`experiment.created_date DESC, experiment.id DESC`, args...)
	})
}

// Experiment returns one experiment. Needs read.
func (db *DB) Experiment(ctx context.Context, actor Actor, id string) (Experiment, error) {
	return read(ctx, db, func(tx *tx) (e Experiment, err error) {
		if _, err := tx.allowExperiment(actor, id, rightRead); err != nil {
			return e, err
		}
		err = tx.get(&e, `SELECT `+experimentColumns+` FROM experiment WHERE id = ?`, id)
		return e, err
	})
}

// CreateExperiment makes an experiment that is in progress. Needs create.
func (db *DB) CreateExperiment(ctx context.Context, actor Actor, projectID string, n NewExperiment) (Created, error) {
	err := firstError(checkName("name", n.Name), checkText("description", n.Description))
	if err != nil {
		return Created{}, err
	}
	if n.Status != nil && *n.Status != InProgress {
		return Created{}, Invalid("status", "A new experiment is IN_PROGRESS; change its status when it ends.")
	}
	return write(ctx, db, actor, func(tx *tx) (Created, error) {
		if err := tx.allowProject(actor, projectID, rightCreate); err != nil {
			return Created{}, err
		}
		id, err := newID()
		if err != nil {
			return Created{}, err
		}
		_, err = tx.exec(`INSERT INTO experiment (id, project_id, name, description, status, created_date)
			VALUES (?, ?, ?, ?, ?, ?)`,
			id, projectID, n.Name, n.Description, InProgress, tx.now)
		return Created{ID: id}, err
	})
}

// UpdateExperiment changes an experiment. Needs update. STOPPED and FINISHED
// set the end date when none is given, IN_PROGRESS clears it.
func (db *DB) UpdateExperiment(ctx context.Context, actor Actor, id string, p ExperimentPatch) error {
	if err := checkNameAndText(p.Name, "description", p.Description); err != nil {
		return err
	}
	if p.Status != nil {
		if err := checkExperimentStatus(*p.Status); err != nil {
			return err
		}
	}
	return change(ctx, db, actor, func(tx *tx) error {
		e, err := tx.allowExperiment(actor, id, rightUpdate)
		if err != nil {
			return err
		}
		next := map[string]*string{"name": p.Name, "description": p.Description, "status": (*string)(p.Status)}
		if err := tx.refuseIfOverwritten(p.Before, "experiment", id, next); err != nil {
			return err
		}
		status, end := e.status, e.endDate
		if p.Status != nil && *p.Status != status {
			status, end = *p.Status, nil
		}
		switch {
		case status == InProgress && p.EndDate != nil:
			return Invalid("end_date", "An experiment in progress has no end_date; give the status STOPPED or FINISHED with it.")
		case p.EndDate != nil:
			end = p.EndDate
		case status != InProgress && end == nil:
			end = &tx.now
		}
		_, err = tx.exec(`UPDATE experiment SET
				name        = coalesce(?, name),
				description = coalesce(?, description),
				status      = ?,
				end_date    = ?
			WHERE id = ?`, p.Name, p.Description, status, end, id)
		return err
	})
}

// DeleteExperiment removes an experiment with all that is in it. Needs delete.
// The bytes of its artifacts follow in the background.
// CONFLICT when a model version points at something in it.
func (db *DB) DeleteExperiment(ctx context.Context, actor Actor, id string) error {
	err := change(ctx, db, actor, func(tx *tx) error {
		if _, err := tx.allowExperiment(actor, id, rightDelete); err != nil {
			return err
		}
		if err := tx.refuseIfExperimentVersioned(id); err != nil {
			return err
		}
		_, err := tx.exec(`DELETE FROM experiment WHERE id = ?`, id)
		return err
	})
	db.collectSoon()
	return err
}

func checkExperimentStatus(s ExperimentStatus) error {
	return oneOf("status", s, InProgress, Stopped, Finished)
}

// experimentState is what the rules ask of an experiment.
type experimentState struct {
	projectID string
	status    ExperimentStatus
	endDate   *Time
}

// allowExperiment fails unless the experiment exists and actor has the right
// in its project.
func (tx *tx) allowExperiment(actor Actor, id string, want right) (e experimentState, err error) {
	err = tx.row(`SELECT project_id, status, end_date FROM experiment WHERE id = ?`, id).
		Scan(&e.projectID, &e.status, &e.endDate)
	if err != nil {
		return e, orNotFound(err, "experiment")
	}
	return e, tx.allow(actor, e.projectID, want)
}

// open fails unless the experiment is in progress.
func (e experimentState) open() error {
	if e.status == InProgress {
		return nil
	}
	return Errorf(CodeExperimentNotInProgress,
		"The experiment is %s; set its status to IN_PROGRESS to add to it.", e.status)
}
