package store

import (
	"context"

	"tracker/store/scalar"
	"tracker/store/search"
)

// ExperimentStatus is the status of an experiment.
type ExperimentStatus string

// The statuses of an experiment. Any can follow any other.
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
	Objective      string           `json:"objective,omitzero" db:"objective"` // as ParseObjective reads it
	Deleted        bool             `json:"-" db:"deleted"`                    // it or its project is in the trash
	UpdatedDate    Time             `json:"-" db:"updated_date"`               // of the last change, 0 for none
}

func (e Experiment) TextBytes() int { return len(e.Description) }

// NewExperiment holds the arguments of CreateExperiment.
type NewExperiment struct {
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Status      *ExperimentStatus `json:"status"` // nil or IN_PROGRESS

	Properties []Property `json:"-"`
	// Unique makes the name of another experiment in the project a CONFLICT.
	Unique bool `json:"-"`
}

// ExperimentPatch holds the fields that UpdateExperiment sets; nil leaves a field as it is.
type ExperimentPatch struct {
	Name        *string           `json:"name"`
	Description *string           `json:"description"`
	Status      *ExperimentStatus `json:"status"`
	EndDate     *Time             `json:"end_date"`
	Objective   *string           `json:"objective"`
	Before      Before            `json:"-"`
	Unique      bool              `json:"-"` // as in NewExperiment
}

// ExperimentQuery selects experiments.
type ExperimentQuery struct {
	Page
	Name   string            // a part of the name, in any case; "" for all
	Status *ExperimentStatus // nil for all
	Trash  TrashFilter       // "" for those that are not in the trash
}

const experimentColumns = `
	experiment.id,
	experiment.project_id,
	experiment.name,
	experiment.description,
	experiment.status,
	experiment.created_date,
	experiment.end_date,
	experiment.updated_date,
	(SELECT count(*) FROM iteration
		WHERE iteration.experiment_id = experiment.id AND iteration.deleted_date IS NULL) AS iteration_count,
	coalesce(experiment.deleted_date, (SELECT project.deleted_date FROM project
		WHERE project.id = experiment.project_id)) IS NOT NULL AS deleted,
	experiment.objective`

// Experiments lists the experiments of a project, the newest first. Needs read.
func (v *View) Experiments(projectID string, q ExperimentQuery) (List[Experiment], error) {
	if q.Status != nil {
		if err := checkExperimentStatus(*q.Status); err != nil {
			return List[Experiment]{}, err
		}
	}
	if err := v.tx.allowProject(v.actor, projectID, rightRead); err != nil {
		return List[Experiment]{}, err
	}
	from := `FROM experiment WHERE experiment.project_id = ? AND ` + q.Trash.condition("experiment") +
		` AND ` + search.Contains(`experiment.name`)
	args := []any{projectID, q.Name}
	if q.Status != nil {
		from += ` AND experiment.status = ?`
		args = append(args, *q.Status)
	}
	return list[Experiment](v.tx, q.Page, experimentColumns, from,
		`experiment.created_date DESC, experiment.id DESC`, args...)
}

// Experiments is View.Experiments.
func (db *DB) Experiments(ctx context.Context, actor Actor, projectID string, q ExperimentQuery) (List[Experiment], error) {
	return view(ctx, db, actor, func(v *View) (List[Experiment], error) { return v.Experiments(projectID, q) })
}

// Experiment returns one experiment. Needs read.
func (v *View) Experiment(id string) (e Experiment, err error) {
	if _, err := v.tx.allowExperiment(v.actor, id, rightRead); err != nil {
		return e, err
	}
	err = v.tx.Get(&e, `SELECT `+experimentColumns+` FROM experiment WHERE id = ?`, id)
	return e, err
}

// Experiment is View.Experiment.
func (db *DB) Experiment(ctx context.Context, actor Actor, id string) (Experiment, error) {
	return view(ctx, db, actor, func(v *View) (Experiment, error) { return v.Experiment(id) })
}

// CreateExperiment makes an experiment that is in progress. Needs create.
func (db *DB) CreateExperiment(ctx context.Context, actor Actor, projectID string, n NewExperiment) (Created, error) {
	err := firstError(checkName("name", n.Name), checkText("description", n.Description), checkProperties(n.Properties))
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
		if n.Unique {
			if err := tx.refuseIfNamed(projectID, "", n.Name); err != nil {
				return Created{}, err
			}
		}
		id, err := newID()
		if err != nil {
			return Created{}, err
		}
		_, err = tx.Exec(`INSERT INTO experiment (id, project_id, name, description, status, created_date)
			VALUES (?, ?, ?, ?, ?, ?)`,
			id, projectID, n.Name, n.Description, InProgress, tx.now)
		if err != nil {
			return Created{}, err
		}
		tx.within()
		return Created{ID: id}, tx.setProperties(actor, propertyOwner{projectID: projectID, column: "experiment_id", key: id}, n.Properties)
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
	if p.Objective != nil {
		if _, err := ParseObjective(*p.Objective); err != nil {
			return err
		}
	}
	return change(ctx, db, actor, func(tx *tx) error {
		e, err := tx.allowExperiment(actor, id, rightUpdate)
		if err != nil {
			return err
		}
		next := map[string]*string{"name": p.Name, "description": p.Description, "status": (*string)(p.Status), "objective": p.Objective}
		if err := tx.refuseIfOverwritten(p.Before, "experiment", id, next); err != nil {
			return err
		}
		if p.Unique && p.Name != nil {
			if err := tx.refuseIfNamed(e.projectID, id, *p.Name); err != nil {
				return err
			}
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
		_, err = tx.Exec(`UPDATE experiment SET
				name        = coalesce(?, name),
				description = coalesce(?, description),
				status      = ?,
				end_date    = ?,
				objective   = coalesce(?, objective),
				updated_date = iif(name <> coalesce(?, name) OR description <> coalesce(?, description) OR status <> ?, ?, updated_date)
			WHERE id = ?`, p.Name, p.Description, status, end, p.Objective, p.Name, p.Description, status, tx.now, id)
		return err
	})
}

// DeleteExperiment moves an experiment with all that is in it to the trash. Needs
// delete. CONFLICT when a model version refers to an iteration or artifact in it.
func (db *DB) DeleteExperiment(ctx context.Context, actor Actor, id string) error {
	return db.discard(ctx, actor, func(tx *tx) error {
		if _, err := tx.allowExperiment(actor, id, rightDelete); err != nil {
			return err
		}
		if err := tx.refuseIfExperimentVersioned(id); err != nil {
			return err
		}
		return tx.discard(TrashedExperiment, id)
	})
}

// refuseIfNamed fails with CONFLICT when an experiment of the project other than id
// has this name.
func (tx *tx) refuseIfNamed(projectID, id, name string) error {
	var n int
	err := tx.Row(`SELECT count(*) FROM experiment WHERE project_id = ? AND name = ? AND id <> ?`, projectID, name, id).Scan(&n)
	if err == nil && n > 0 {
		return &Error{Code: CodeConflict, Field: "name", Message: "The project already has an experiment with the name " + scalar.Quote(name) + "; choose another one."}
	}
	return err
}

func checkExperimentStatus(s ExperimentStatus) error {
	return oneOf("status", s, InProgress, Stopped, Finished)
}

// experimentState holds the fields of an experiment that rules depend on.
type experimentState struct {
	projectID string
	status    ExperimentStatus
	endDate   *Time
	deleted   bool // it or its project is in the trash
}

// allowExperiment fails unless the experiment exists and actor has the right
// in its project.
func (tx *tx) allowExperiment(actor Actor, id string, want right) (e experimentState, err error) {
	err = tx.Row(`SELECT
			experiment.project_id,
			experiment.status,
			experiment.end_date,
			coalesce(experiment.deleted_date, project.deleted_date) IS NOT NULL
		FROM experiment
		JOIN project ON project.id = experiment.project_id
		WHERE experiment.id = ? AND `+tx.found("experiment", "project"), id).
		Scan(&e.projectID, &e.status, &e.endDate, &e.deleted)
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
