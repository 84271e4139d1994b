package store

import (
	"context"

	"tracker/store/access"
	"tracker/store/registry"
	"tracker/store/scalar"
	"tracker/store/search"
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
	if err := v.tx.AllowProject(v.tx.Actor, projectID, access.RightRead); err != nil {
		return List[Experiment]{}, err
	}
	from := `FROM experiment WHERE experiment.project_id = ? AND ` + q.Trash.Condition("experiment") +
		` AND ` + search.Contains(`experiment.name`)
	args := []any{projectID, q.Name}
	if q.Status != nil {
		from += ` AND experiment.status = ?`
		args = append(args, *q.Status)
	}
	return access.PageOf[Experiment](v.tx, q.Page, experimentColumns, from,
		`experiment.created_date DESC, experiment.id DESC`, args...)
}

// Experiments is View.Experiments.
func (db *DB) Experiments(ctx context.Context, actor Actor, projectID string, q ExperimentQuery) (List[Experiment], error) {
	return view(ctx, db, actor, func(v *View) (List[Experiment], error) { return v.Experiments(projectID, q) })
}

// Experiment returns one experiment. Needs read.
func (v *View) Experiment(id string) (e Experiment, err error) {
	if _, err := v.tx.AllowExperiment(v.tx.Actor, id, access.RightRead); err != nil {
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
	err := access.FirstError(access.CheckName("name", n.Name), access.CheckText("description", n.Description), access.CheckProperties(n.Properties))
	if err != nil {
		return Created{}, err
	}
	if n.Status != nil && *n.Status != InProgress {
		return Created{}, access.Invalid("status", "A new experiment is IN_PROGRESS; change its status when it ends.")
	}
	return access.Write(ctx, db.base, actor, func(tx *access.Tx) (Created, error) {
		if err := tx.AllowProject(actor, projectID, access.RightCreate); err != nil {
			return Created{}, err
		}
		if n.Unique {
			if err := refuseIfNamed(tx, projectID, "", n.Name); err != nil {
				return Created{}, err
			}
		}
		id, err := access.NewID()
		if err != nil {
			return Created{}, err
		}
		_, err = tx.Exec(`INSERT INTO experiment (id, project_id, name, description, status, created_date)
			VALUES (?, ?, ?, ?, ?, ?)`,
			id, projectID, n.Name, n.Description, InProgress, tx.Now)
		if err != nil {
			return Created{}, err
		}
		tx.Within()
		return Created{ID: id}, tx.SetProperties(actor, access.PropertyOwner{ProjectID: projectID, Column: "experiment_id", Key: id}, n.Properties)
	})
}

// UpdateExperiment changes an experiment. Needs update. STOPPED and FINISHED
// set the end date when none is given, IN_PROGRESS clears it.
func (db *DB) UpdateExperiment(ctx context.Context, actor Actor, id string, p ExperimentPatch) error {
	if err := access.CheckNameAndText(p.Name, "description", p.Description); err != nil {
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
	return access.Change(ctx, db.base, actor, func(tx *access.Tx) error {
		e, err := tx.AllowExperiment(actor, id, access.RightUpdate)
		if err != nil {
			return err
		}
		next := map[string]*string{"name": p.Name, "description": p.Description, "status": (*string)(p.Status), "objective": p.Objective}
		if err := tx.RefuseIfOverwritten(p.Before, "experiment", id, next); err != nil {
			return err
		}
		if p.Unique && p.Name != nil {
			if err := refuseIfNamed(tx, e.ProjectID, id, *p.Name); err != nil {
				return err
			}
		}
		status, end := e.Status, e.EndDate
		if p.Status != nil && *p.Status != status {
			status, end = *p.Status, nil
		}
		switch {
		case status == InProgress && p.EndDate != nil:
			return access.Invalid("end_date", "An experiment in progress has no end_date; give the status STOPPED or FINISHED with it.")
		case p.EndDate != nil:
			end = p.EndDate
		case status != InProgress && end == nil:
			end = &tx.Now
		}
		_, err = tx.Exec(`UPDATE experiment SET
				name        = coalesce(?, name),
				description = coalesce(?, description),
				status      = ?,
				end_date    = ?,
				objective   = coalesce(?, objective),
				updated_date = iif(name <> coalesce(?, name) OR description <> coalesce(?, description) OR status <> ?, ?, updated_date)
			WHERE id = ?`, p.Name, p.Description, status, end, p.Objective, p.Name, p.Description, status, tx.Now, id)
		return err
	})
}

// DeleteExperiment moves an experiment with all that is in it to the trash. Needs
// delete. CONFLICT when a model version refers to an iteration or artifact in it.
func (db *DB) DeleteExperiment(ctx context.Context, actor Actor, id string) error {
	return db.base.Discard(ctx, actor, func(tx *access.Tx) error {
		if _, err := tx.AllowExperiment(actor, id, access.RightDelete); err != nil {
			return err
		}
		if err := registry.RefuseIfExperimentVersioned(tx, id); err != nil {
			return err
		}
		return tx.Discard(TrashedExperiment, id)
	})
}

// refuseIfNamed fails with CONFLICT when an experiment of the project other than id
// has this name.
func refuseIfNamed(tx *access.Tx, projectID, id, name string) error {
	var n int
	err := tx.Row(`SELECT count(*) FROM experiment WHERE project_id = ? AND name = ? AND id <> ?`, projectID, name, id).Scan(&n)
	if err == nil && n > 0 {
		return &Error{Code: CodeConflict, Field: "name", Message: "The project already has an experiment with the name " + scalar.Quote(name) + "; choose another one."}
	}
	return err
}

func checkExperimentStatus(s ExperimentStatus) error {
	return access.OneOf("status", s, InProgress, Stopped, Finished)
}
