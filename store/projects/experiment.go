package projects

import (
	"context"

	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/scalar"
	"tracker/store/search"
)

// Experiment is a set of runs. The API calls a run an iteration.
type Experiment struct {
	ID          string                  `json:"id" db:"id"`
	ProjectID   string                  `json:"project_id" db:"project_id"`
	Name        string                  `json:"name" db:"name"`
	Description string                  `json:"description" db:"description"`
	Status      domain.ExperimentStatus `json:"status" db:"status"`
	domain.Creator
	CreatedDate    scalar.Time  `json:"created_date" db:"created_date"`
	EndDate        *scalar.Time `json:"end_date" db:"end_date"`
	IterationCount int          `json:"iteration_count" db:"iteration_count"`
	Objective      string       `json:"objective,omitzero" db:"objective"` // format: see ParseObjective
	Deleted        bool         `json:"-" db:"deleted"`                    // the experiment or its project is in the trash
	UpdatedDate    scalar.Time  `json:"-" db:"updated_date"`               // time of the last change; 0 if there was no change
}

func (e Experiment) TextBytes() int { return len(e.Description) }

// NewExperiment holds the arguments of CreateExperiment.
type NewExperiment struct {
	Name        string                   `json:"name"`
	Description string                   `json:"description"`
	Status      *domain.ExperimentStatus `json:"status"` // nil means IN_PROGRESS

	Properties []domain.Property `json:"-"`
	// Unique makes CreateExperiment return CONFLICT if the project has an experiment with the
	// same name.
	Unique bool `json:"-"`
}

// ExperimentPatch holds the fields that UpdateExperiment sets. A nil field is not changed.
type ExperimentPatch struct {
	Name        *string                  `json:"name"`
	Description *string                  `json:"description"`
	Status      *domain.ExperimentStatus `json:"status"`
	EndDate     *scalar.Time             `json:"end_date"`
	Objective   *string                  `json:"objective"`
	Before      domain.Before            `json:"-"`
	Unique      bool                     `json:"-"` // UpdateExperiment returns CONFLICT if another experiment has the new name
}

// ExperimentQuery selects experiments of a project.
type ExperimentQuery struct {
	domain.Page
	Name   string                   // text that the name must contain, ignoring case; "" for all experiments
	Status *domain.ExperimentStatus // nil for all statuses
	Trash  domain.TrashFilter       // "" for experiments outside the trash
}

const experimentColumns = `
	experiment.id,
	experiment.project_id,
	experiment.name,
	experiment.description,
	experiment.status,
	experiment.created_date,
	experiment.created_by,
	experiment.created_key,
	experiment.end_date,
	experiment.updated_date,
	(SELECT count(*) FROM iteration
		WHERE iteration.experiment_id = experiment.id AND iteration.deleted_date IS NULL) AS iteration_count,
	coalesce(experiment.deleted_date, (SELECT project.deleted_date FROM project
		WHERE project.id = experiment.project_id)) IS NOT NULL AS deleted,
	experiment.objective`

// Experiments returns experiments of a project, newest first. It requires the right to read.
func (v *View) Experiments(projectID string, q ExperimentQuery) (domain.List[Experiment], error) {
	if q.Status != nil {
		if err := checkExperimentStatus(*q.Status); err != nil {
			return domain.List[Experiment]{}, err
		}
	}
	if err := v.tx.AllowProject(v.tx.Actor, projectID, domain.RightFind); err != nil {
		return domain.List[Experiment]{}, err
	}
	from := `FROM experiment WHERE experiment.project_id = ? AND ` + q.Trash.Condition("experiment") +
		` AND ` + search.Contains(`experiment.name`)
	args := []any{projectID, q.Name}
	if q.Status != nil {
		from += ` AND experiment.status = ?`
		args = append(args, *q.Status)
	}
	return domain.PageOf[Experiment](v.tx, q.Page, experimentColumns, from,
		`experiment.created_date DESC, experiment.id DESC`, args...)
}

// Experiments calls View.Experiments on a new snapshot.
func (db *DB) Experiments(ctx context.Context, actor domain.Actor, projectID string, q ExperimentQuery) (domain.List[Experiment], error) {
	return view(ctx, db, actor, func(v *View) (domain.List[Experiment], error) { return v.Experiments(projectID, q) })
}

// Experiment returns the experiment with the given id. It requires the right to read.
func (v *View) Experiment(id string) (e Experiment, err error) {
	if _, err := v.tx.AllowExperiment(v.tx.Actor, id, domain.RightFind); err != nil {
		return e, err
	}
	err = v.tx.Get(&e, `SELECT `+experimentColumns+` FROM experiment WHERE id = ?`, id)
	return e, err
}

// Experiment calls View.Experiment on a new snapshot.
func (db *DB) Experiment(ctx context.Context, actor domain.Actor, id string) (Experiment, error) {
	return view(ctx, db, actor, func(v *View) (Experiment, error) { return v.Experiment(id) })
}

// CreateExperiment creates an experiment with status IN_PROGRESS. It requires the right to
// create.
func (db *DB) CreateExperiment(ctx context.Context, actor domain.Actor, projectID string, n NewExperiment) (domain.Created, error) {
	err := domain.FirstError(domain.CheckName("name", n.Name), domain.CheckText("description", n.Description), domain.CheckProperties(n.Properties))
	if err != nil {
		return domain.Created{}, err
	}
	if n.Status != nil && *n.Status != domain.InProgress {
		return domain.Created{}, domain.Invalid("status", "A new experiment is IN_PROGRESS; change its status when it ends.")
	}
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (domain.Created, error) {
		if err := tx.AllowProject(actor, projectID, domain.RightCreate); err != nil {
			return domain.Created{}, err
		}
		if n.Unique {
			if err := refuseIfNamed(tx, projectID, "", n.Name); err != nil {
				return domain.Created{}, err
			}
		}
		id := domain.NewID()
		if err := tx.InsertExperiment(id, projectID, n.Name, n.Description); err != nil {
			return domain.Created{}, err
		}
		return domain.Created{ID: id}, tx.SetProperties(actor, domain.PropertyOwner{ProjectID: projectID, Column: "experiment_id", Key: id}, n.Properties)
	})
}

// UpdateExperiment changes an experiment. The statuses STOPPED and FINISHED set the end date to
// the current time if the patch has no end date. IN_PROGRESS clears the end date.
// UpdateExperiment requires the right to update.
func (db *DB) UpdateExperiment(ctx context.Context, actor domain.Actor, id string, p ExperimentPatch) error {
	if err := domain.CheckNameAndText(p.Name, "description", p.Description); err != nil {
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
	return domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
		e, err := tx.AllowExperiment(actor, id, domain.RightUpdate)
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
		case status == domain.InProgress && p.EndDate != nil:
			return domain.Invalid("end_date", "An experiment in progress can't have an end_date; also set the status to STOPPED or FINISHED.")
		case p.EndDate != nil:
			end = p.EndDate
		case status != domain.InProgress && end == nil:
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

// DeleteExperiment moves an experiment and all records in it to the trash. It returns CONFLICT if
// a model version refers to an iteration or artifact in the experiment. It requires the right to
// delete.
func (db *DB) DeleteExperiment(ctx context.Context, actor domain.Actor, id string) error {
	return db.base.Discard(ctx, actor, func(tx *domain.Tx) error {
		if _, err := tx.AllowExperiment(actor, id, domain.RightDelete); err != nil {
			return err
		}
		if err := registry.RefuseIfExperimentVersioned(tx, id); err != nil {
			return err
		}
		return tx.Discard(domain.TrashedExperiment, id)
	})
}

// refuseIfNamed returns CONFLICT if an experiment of the project has the given name. It ignores
// the experiment with the given id.
func refuseIfNamed(tx *domain.Tx, projectID, id, name string) error {
	var n int
	err := tx.Row(`SELECT count(*) FROM experiment WHERE project_id = ? AND name = ? AND id <> ?`, projectID, name, id).Scan(&n)
	if err == nil && n > 0 {
		return &domain.Error{Code: domain.CodeConflict, Field: "name", Message: "The project already has an experiment with the name " + scalar.Quote(name) + "; choose another one."}
	}
	return err
}

func checkExperimentStatus(s domain.ExperimentStatus) error {
	return domain.OneOf("status", s, domain.InProgress, domain.Stopped, domain.Finished)
}
