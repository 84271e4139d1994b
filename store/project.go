package store

import (
	"context"
	"fmt"

	"tracker/store/search"
)

// Project holds experiments and models. Permissions are granted on projects.
type Project struct {
	ID              string `json:"id" db:"id"`
	Name            string `json:"name" db:"name"`
	Description     string `json:"description" db:"description"`
	CreatedDate     Time   `json:"created_date" db:"created_date"`
	ExperimentCount int    `json:"experiment_count" db:"experiment_count"`
	IterationCount  int    `json:"iteration_count" db:"iteration_count"`
}

func (p Project) TextBytes() int { return len(p.Description) }

// NewProject holds the arguments of CreateProject.
type NewProject struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// ProjectPatch holds the fields that UpdateProject sets; nil leaves a field as it is.
type ProjectPatch struct {
	Name        *string `json:"name"`
	Description *string `json:"description"`
	Before      Before  `json:"-"`
}

// ProjectQuery selects projects.
type ProjectQuery struct {
	Page
	Name string // a part of the name, in any case; "" for all
}

const projectColumns = `
	project.id,
	project.name,
	project.description,
	project.created_date,
	(SELECT count(*) FROM experiment
		WHERE experiment.project_id = project.id AND experiment.deleted_date IS NULL) AS experiment_count,
	(SELECT count(*) FROM experiment JOIN iteration ON iteration.experiment_id = experiment.id
		WHERE experiment.project_id = project.id AND experiment.deleted_date IS NULL
		AND iteration.deleted_date IS NULL) AS iteration_count`

// Projects lists the projects that actor may read, the newest first.
func (v *View) Projects(q ProjectQuery) (List[Project], error) {
	u, err := v.tx.user(v.actor)
	if err != nil {
		return List[Project]{}, err
	}
	from := `FROM project WHERE project.deleted_date IS NULL AND ` + search.Contains(`project.name`)
	args := []any{q.Name}
	if !u.IsAdmin {
		from += ` AND project.id IN (SELECT project_id FROM user_permission WHERE user_id = ? AND read_permission)`
		args = append(args, u.ID)
	}
	return list[Project](v.tx, q.Page, projectColumns, from, `project.created_date DESC, project.id DESC`, args...)
}

// Projects is View.Projects.
func (db *DB) Projects(ctx context.Context, actor Actor, q ProjectQuery) (List[Project], error) {
	return view(ctx, db, actor, func(v *View) (List[Project], error) { return v.Projects(q) })
}

// Project returns one project. Needs read.
func (v *View) Project(id string) (p Project, err error) {
	if err := v.tx.allowProject(v.actor, id, rightRead); err != nil {
		return p, err
	}
	err = v.tx.Get(&p, `SELECT `+projectColumns+` FROM project WHERE id = ?`, id)
	return p, err
}

// Project is View.Project.
func (db *DB) Project(ctx context.Context, actor Actor, id string) (Project, error) {
	return view(ctx, db, actor, func(v *View) (Project, error) { return v.Project(id) })
}

// ProjectNamed returns the id of the project with this name or id: of several with
// the name, the oldest one that actor may read. NOT_FOUND when there is none.
func (db *DB) ProjectNamed(ctx context.Context, actor Actor, name string) (string, error) {
	return read(ctx, db, func(tx *tx) (string, error) {
		id, err := tx.projectNamed(actor, name)
		if err == nil {
			err = tx.allow(actor, id, rightRead)
		}
		return id, err
	})
}

// EnsureProject is ProjectNamed for n.Name that makes the project when there is none.
func (db *DB) EnsureProject(ctx context.Context, actor Actor, n NewProject) (string, error) {
	id, err := db.ProjectNamed(ctx, actor, n.Name)
	if err == nil || AsError(err).Code != CodeNotFound {
		return id, err
	}
	if err := n.check(); err != nil {
		return "", err
	}
	created, err := write(ctx, db, actor, func(tx *tx) (Created, error) {
		id, err := tx.projectNamed(actor, n.Name) // another caller may have made it meanwhile
		if err == nil {
			return Created{ID: id, Existing: true}, tx.allow(actor, id, rightRead)
		}
		if AsError(err).Code != CodeNotFound {
			return Created{}, err
		}
		return tx.insertProject(actor, n)
	})
	return created.ID, err
}

// projectNamed returns the project with a name or id: of several with the name the
// oldest one that actor may read, and where actor may read none, the oldest.
func (tx *tx) projectNamed(actor Actor, name string) (id string, err error) {
	u, err := tx.user(actor)
	if err != nil {
		return "", err
	}
	err = tx.Row(`SELECT id FROM project WHERE (name = ? OR id = ?) AND deleted_date IS NULL
		ORDER BY
			NOT (? OR id IN (SELECT project_id FROM user_permission WHERE user_id = ? AND read_permission)),
			created_date,
			id
		LIMIT 1`, name, name, u.IsAdmin, u.ID).Scan(&id)
	return id, orNotFound(err, "project")
}

// CreateProject makes a project; its creator gets all four permissions.
func (db *DB) CreateProject(ctx context.Context, actor Actor, n NewProject) (Created, error) {
	if err := n.check(); err != nil {
		return Created{}, err
	}
	return write(ctx, db, actor, func(tx *tx) (Created, error) { return tx.insertProject(actor, n) })
}

func (n NewProject) check() error {
	return firstError(checkName("name", n.Name), checkText("description", n.Description))
}

func (tx *tx) insertProject(actor Actor, n NewProject) (Created, error) {
	u, err := tx.user(actor)
	if err != nil {
		return Created{}, err
	}
	id, err := newID()
	if err != nil {
		return Created{}, err
	}
	_, err = tx.Exec(`INSERT INTO project (id, name, description, created_date) VALUES (?, ?, ?, ?)`,
		id, n.Name, n.Description, tx.now)
	if err == nil && u.ID != "" {
		_, err = tx.insertPermission(Permission{UserID: u.ID, ProjectID: id,
			Create: true, Read: true, Update: true, Delete: true})
	}
	return Created{ID: id}, err
}

// UpdateProject changes a project. Needs update.
func (db *DB) UpdateProject(ctx context.Context, actor Actor, id string, p ProjectPatch) error {
	if err := checkNameAndText(p.Name, "description", p.Description); err != nil {
		return err
	}
	return change(ctx, db, actor, func(tx *tx) error {
		if err := tx.allowProject(actor, id, rightUpdate); err != nil {
			return err
		}
		if err := tx.refuseIfOverwritten(p.Before, "project", id, map[string]*string{"name": p.Name, "description": p.Description}); err != nil {
			return err
		}
		_, err := tx.Exec(`UPDATE project SET
				name        = coalesce(?, name),
				description = coalesce(?, description)
			WHERE id = ?`, p.Name, p.Description, id)
		return err
	})
}

// DeleteProject moves a project with all that is in it to the trash. Needs delete.
// CONFLICT when a model of another project has a version that came from it.
func (db *DB) DeleteProject(ctx context.Context, actor Actor, id string) error {
	return db.discard(ctx, actor, func(tx *tx) error {
		if err := tx.allowProject(actor, id, rightDelete); err != nil {
			return err
		}
		if err := tx.refuseIfProjectVersioned(id); err != nil {
			return err
		}
		return tx.discard(TrashedProject, id)
	})
}

// allowProject fails unless the project exists and actor has the right in it.
func (tx *tx) allowProject(actor Actor, id string, want right) error {
	if err := tx.exists(`SELECT 1 FROM project WHERE id = ? AND `+tx.found("project"), id, "project"); err != nil {
		return err
	}
	return tx.allow(actor, id, want)
}

// checkNameAndText checks the two fields that most patches have.
func checkNameAndText(name *string, field string, text *string) error {
	if name != nil {
		if err := checkName("name", *name); err != nil {
			return err
		}
	}
	if text != nil {
		return checkText(field, *text)
	}
	return nil
}

// oneOf fails unless a value is in a list.
func oneOf[T ~string](field string, v T, all ...T) error {
	for _, a := range all {
		if v == a {
			return nil
		}
	}
	return Invalid(field, "%s must be one of %s.", field, fmt.Sprint(all))
}
