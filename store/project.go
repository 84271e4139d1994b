package store

import (
	"context"
	"fmt"
)

// Project is the outermost folder, and what permissions are given on.
type Project struct {
	ID              string `json:"id" db:"id"`
	Name            string `json:"name" db:"name"`
	Description     string `json:"description" db:"description"`
	CreatedDate     Time   `json:"created_date" db:"created_date"`
	ExperimentCount int    `json:"experiment_count" db:"experiment_count"`
	IterationCount  int    `json:"iteration_count" db:"iteration_count"`
}

// NewProject is what CreateProject takes.
type NewProject struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// ProjectPatch is what UpdateProject changes; nil leaves a field as it is.
type ProjectPatch struct {
	Name        *string `json:"name"`
	Description *string `json:"description"`
	Before      Before  `json:"-"`
}

// ProjectQuery narrows a listing.
type ProjectQuery struct {
	Page
	Name string // a part of the name, in any case; "" for all
}

const projectColumns = `
	project.id,
	project.name,
	project.description,
	project.created_date,
	(SELECT count(*) FROM experiment WHERE experiment.project_id = project.id) AS experiment_count,
	(SELECT count(*) FROM experiment JOIN iteration ON iteration.experiment_id = experiment.id
		WHERE experiment.project_id = project.id) AS iteration_count`

// Projects lists the projects that actor may read, the newest first.
func (db *DB) Projects(ctx context.Context, actor Actor, q ProjectQuery) (List[Project], error) {
	return read(ctx, db, func(tx *tx) (List[Project], error) {
		u, err := tx.user(actor)
		if err != nil {
			return List[Project]{}, err
		}
		from := `FROM project WHERE ` + contains(`project.name`)
		args := []any{q.Name}
		if !u.IsAdmin {
			from += ` AND project.id IN (SELECT project_id FROM user_permission WHERE user_id = ? AND read_permission)`
			args = append(args, u.ID)
		}
		return list[Project](tx, q.Page, projectColumns, from, `project.created_date DESC, project.id DESC`, args...)
	})
}

// Project returns one project. Needs read.
func (db *DB) Project(ctx context.Context, actor Actor, id string) (Project, error) {
	return read(ctx, db, func(tx *tx) (p Project, err error) {
		if err := tx.allowProject(actor, id, rightRead); err != nil {
			return p, err
		}
		err = tx.get(&p, `SELECT `+projectColumns+` FROM project WHERE id = ?`, id)
		return p, err
	})
}

// CreateProject makes a project; its creator gets all four permissions.
func (db *DB) CreateProject(ctx context.Context, actor Actor, n NewProject) (Created, error) {
	if err := firstError(checkName("name", n.Name), checkText("description", n.Description)); err != nil {
		return Created{}, err
	}
	return write(ctx, db, actor, func(tx *tx) (Created, error) {
		u, err := tx.user(actor)
		if err != nil {
			return Created{}, err
		}
		id, err := newID()
		if err != nil {
			return Created{}, err
		}
		_, err = tx.exec(`INSERT INTO project (id, name, description, created_date) VALUES (?, ?, ?, ?)`,
			id, n.Name, n.Description, tx.now)
		if err == nil && u.ID != "" {
			_, err = tx.insertPermission(Permission{UserID: u.ID, ProjectID: id,
				Create: true, Read: true, Update: true, Delete: true})
		}
		return Created{ID: id}, err
	})
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
		_, err := tx.exec(`UPDATE project SET
				name        = coalesce(?, name),
				description = coalesce(?, description)
			WHERE id = ?`, p.Name, p.Description, id)
		return err
	})
}

// DeleteProject removes a project with all that is in it. Needs delete. The
// bytes of its artifacts follow in the background. CONFLICT when a model of another
// project has a version that came from it.
func (db *DB) DeleteProject(ctx context.Context, actor Actor, id string) error {
	err := change(ctx, db, actor, func(tx *tx) error {
		if err := tx.allowProject(actor, id, rightDelete); err != nil {
			return err
		}
		if err := tx.refuseIfProjectVersioned(id); err != nil {
			return err
		}
		_, err := tx.exec(`DELETE FROM project WHERE id = ?`, id)
		return err
	})
	db.collectSoon()
	return err
}

// allowProject fails unless the project exists and actor has the right in it.
func (tx *tx) allowProject(actor Actor, id string, want right) error {
	if err := tx.exists(`SELECT 1 FROM project WHERE id = ?`, id, "project"); err != nil {
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

// oneOf accepts the values of a closed list.
func oneOf[T ~string](field string, v T, all ...T) error {
	for _, a := range all {
		if v == a {
			return nil
		}
	}
	return Invalid(field, "%s must be one of %s.", field, fmt.Sprint(all))
}
