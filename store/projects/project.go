package projects

import (
	"context"

	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/scalar"
	"tracker/store/search"
)

// Project holds experiments and models. Rights are granted per project.
type Project struct {
	ID          string `json:"id" db:"id"`
	Name        string `json:"name" db:"name"`
	Description string `json:"description" db:"description"`
	domain.Creator
	Owner           *string     `json:"owner" db:"owner"` // user name of the first owner; nil if nobody owns the project
	CreatedDate     scalar.Time `json:"created_date" db:"created_date"`
	ExperimentCount int         `json:"experiment_count" db:"experiment_count"`
	IterationCount  int         `json:"iteration_count" db:"iteration_count"`
}

func (p Project) TextBytes() int { return len(p.Description) }

// ProjectPatch holds the fields that UpdateProject sets. A nil field is not changed.
type ProjectPatch struct {
	Name        *string       `json:"name"`
	Description *string       `json:"description"`
	Before      domain.Before `json:"-"`
}

// ProjectQuery selects projects.
type ProjectQuery struct {
	domain.Page
	Name  string // text that the name must contain, ignoring case; "" for all projects
	Given bool   // only projects that the actor finds by name, first the projects that the actor owns
}

const projectColumns = `
	project.id,
	project.name,
	project.description,
	project.created_date,
	project.created_by,
	project.created_key,
	(SELECT user.username FROM user_permission JOIN user ON user.id = user_permission.user_id
		WHERE user_permission.project_id = project.id AND user_permission.owner
		ORDER BY user_permission.id LIMIT 1) AS owner,
	(SELECT count(*) FROM experiment
		WHERE experiment.project_id = project.id AND experiment.deleted_date IS NULL) AS experiment_count,
	(SELECT count(*) FROM experiment JOIN iteration ON iteration.experiment_id = experiment.id
		WHERE experiment.project_id = project.id AND experiment.deleted_date IS NULL
		AND iteration.deleted_date IS NULL) AS iteration_count`

// Projects returns the projects that the actor may read, newest first.
func (v *View) Projects(q ProjectQuery) (domain.List[Project], error) {
	readable, args, err := v.tx.Having(v.tx.Actor, domain.RightFind, `project.id`)
	if err != nil {
		return domain.List[Project]{}, err
	}
	from, order := `FROM project `, `project.created_date DESC, project.id DESC`
	if q.Given {
		given, more, err := v.tx.Given(v.tx.Actor, `project.id`)
		if err != nil {
			return domain.List[Project]{}, err
		}
		from += `LEFT JOIN user_permission AS mine ON mine.project_id = project.id AND mine.user_id = ? `
		order = `coalesce(mine.owner, 0) DESC, project.created_date, project.id`
		readable, args = readable+` AND `+given, append(append([]any{v.tx.Actor.UserID}, args...), more...)
	}
	from += `WHERE project.deleted_date IS NULL AND ` + readable + ` AND ` + search.Contains(`project.name`)
	args = append(args, q.Name)
	return domain.PageOf[Project](v.tx, q.Page, projectColumns, from, order, args...)
}

// Projects calls View.Projects on a new snapshot.
func (db *DB) Projects(ctx context.Context, actor domain.Actor, q ProjectQuery) (domain.List[Project], error) {
	return view(ctx, db, actor, func(v *View) (domain.List[Project], error) { return v.Projects(q) })
}

// Project returns the project with the given id. It requires the right to read.
func (v *View) Project(id string) (p Project, err error) {
	if err := v.tx.AllowProject(v.tx.Actor, id, domain.RightFind); err != nil {
		return p, err
	}
	err = v.tx.Get(&p, `SELECT `+projectColumns+` FROM project WHERE id = ?`, id)
	return p, err
}

// Project calls View.Project on a new snapshot.
func (db *DB) Project(ctx context.Context, actor domain.Actor, id string) (Project, error) {
	return view(ctx, db, actor, func(v *View) (Project, error) { return v.Project(id) })
}

// ProjectNamed returns the id of the project with the given name or id, as domain.Tx.ProjectNamed does.
// It requires the right to find the project.
func (db *DB) ProjectNamed(ctx context.Context, actor domain.Actor, name string) (string, error) {
	return domain.Read(ctx, db.base, func(tx *domain.Tx) (string, error) {
		id, err := tx.ProjectNamed(actor, name, name)
		if err == nil {
			err = tx.Allow(actor, id, domain.RightFind)
		}
		return id, err
	})
}

// EnsureProject returns the id of the project that ProjectNamed finds for n.Name. If there is
// no such project, EnsureProject creates it.
func (db *DB) EnsureProject(ctx context.Context, actor domain.Actor, n domain.NewProject) (string, error) {
	id, err := db.ProjectNamed(ctx, actor, n.Name)
	if err == nil || domain.AsError(err).Code != domain.CodeNotFound {
		return id, err
	}
	if err := n.Check(); err != nil {
		return "", err
	}
	created, err := domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (domain.Created, error) {
		id, err := tx.ProjectNamed(actor, n.Name, n.Name) // another caller might have created the project
		if err == nil {
			return domain.Created{ID: id, Existing: true}, tx.Allow(actor, id, domain.RightFind)
		}
		if domain.AsError(err).Code != domain.CodeNotFound {
			return domain.Created{}, err
		}
		return tx.InsertProject(actor, n)
	})
	return created.ID, err
}

// CreateProject creates a project and grants actor all four rights in the project.
func (db *DB) CreateProject(ctx context.Context, actor domain.Actor, n domain.NewProject) (domain.Created, error) {
	if err := n.Check(); err != nil {
		return domain.Created{}, err
	}
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (domain.Created, error) { return tx.InsertProject(actor, n) })
}

// UpdateProject changes a project. It requires the right to update.
func (db *DB) UpdateProject(ctx context.Context, actor domain.Actor, id string, p ProjectPatch) error {
	if err := domain.CheckNameAndText(p.Name, "description", p.Description); err != nil {
		return err
	}
	return domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
		if err := tx.AllowProject(actor, id, domain.RightUpdate); err != nil {
			return err
		}
		if err := tx.RefuseIfOverwritten(p.Before, "project", id, map[string]*string{"name": p.Name, "description": p.Description}); err != nil {
			return err
		}
		_, err := tx.Exec(`UPDATE project SET
				name        = coalesce(?, name),
				description = coalesce(?, description)
			WHERE id = ?`, p.Name, p.Description, id)
		return err
	})
}

// DeleteProject moves a project and all records in it to the trash. It returns CONFLICT if a
// model version in another project refers to a record in the project. It requires the right to
// delete.
func (db *DB) DeleteProject(ctx context.Context, actor domain.Actor, id string) error {
	return db.base.Discard(ctx, actor, func(tx *domain.Tx) error {
		if err := tx.AllowProject(actor, id, domain.RightDelete); err != nil {
			return err
		}
		if err := registry.RefuseIfProjectVersioned(tx, id); err != nil {
			return err
		}
		return tx.Discard(domain.TrashedProject, id)
	})
}
