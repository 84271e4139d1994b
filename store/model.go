package store

import (
	"context"
)

// Model is a name under which a project keeps the versions of what it has
// trained.
type Model struct {
	ID          string `json:"id" db:"id"`
	ProjectID   string `json:"project_id" db:"project_id"`
	Name        string `json:"name" db:"name"` // unique in the project
	Description string `json:"description" db:"description"`
	CreatedDate Time   `json:"created_date" db:"created_date"`
	UpdatedDate Time   `json:"updated_date" db:"updated_date"` // of the last change of name or description
}

// NewModel is what CreateModel takes.
type NewModel struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// ModelPatch is what UpdateModel changes; nil leaves a field as it is.
type ModelPatch struct {
	Name        *string `json:"name"`
	Description *string `json:"description"`
	Before      Before  `json:"-"`
}

// ModelQuery narrows a listing.
type ModelQuery struct {
	Page
	Part string  // a part of the name, in any case; "" for all
	Name *string // the whole name, to the letter; nil for all
}

const modelColumns = `
	model.id,
	model.project_id,
	model.name,
	model.description,
	model.created_date,
	model.updated_date`

// Models lists the models of a project by name. Needs read.
func (db *DB) Models(ctx context.Context, actor Actor, projectID string, q ModelQuery) (List[Model], error) {
	return read(ctx, db, func(tx *tx) (List[Model], error) {
		if err := tx.allowProject(actor, projectID, rightRead); err != nil {
			return List[Model]{}, err
		}
		from := `FROM model WHERE model.project_id = ? AND ` + contains(`model.name`)
		args := []any{projectID, q.Part}
		if q.Name != nil {
			from += ` AND model.name = ?`
			args = append(args, *q.Name)
		}
		return list[Model](tx, q.Page, modelColumns, from, `model.name`, args...)
	})
}

// Model returns one model. Needs read.
func (db *DB) Model(ctx context.Context, actor Actor, id string) (Model, error) {
	return read(ctx, db, func(tx *tx) (Model, error) {
		return tx.allowModel(actor, id, rightRead)
	})
}

// CreateModel makes a model without versions; CONFLICT when the project has
// one of that name. Needs create.
func (db *DB) CreateModel(ctx context.Context, actor Actor, projectID string, n NewModel) (Created, error) {
	if err := firstError(checkName("name", n.Name), checkText("description", n.Description)); err != nil {
		return Created{}, err
	}
	return write(ctx, db, actor, func(tx *tx) (Created, error) {
		if err := tx.allowProject(actor, projectID, rightCreate); err != nil {
			return Created{}, err
		}
		id, err := newID()
		if err != nil {
			return Created{}, err
		}
		_, err = tx.exec(`INSERT INTO model (id, project_id, name, description, created_date, updated_date)
			VALUES (?, ?, ?, ?, ?, ?)`,
			id, projectID, n.Name, n.Description, tx.now, tx.now)
		if isDuplicate(err) {
			return Created{}, errModelExists
		}
		return Created{ID: id}, err
	})
}

// UpdateModel changes a model; CONFLICT when another one of the project has
// the new name. Needs update.
func (db *DB) UpdateModel(ctx context.Context, actor Actor, id string, p ModelPatch) error {
	if err := checkNameAndText(p.Name, "description", p.Description); err != nil {
		return err
	}
	return change(ctx, db, actor, func(tx *tx) error {
		m, err := tx.allowModel(actor, id, rightUpdate)
		if err != nil {
			return err
		}
		if err := tx.refuseIfOverwritten(p.Before, "model", id, map[string]*string{"name": p.Name, "description": p.Description}); err != nil {
			return err
		}
		next := m
		if p.Name != nil {
			next.Name = *p.Name
		}
		if p.Description != nil {
			next.Description = *p.Description
		}
		if next == m {
			return nil
		}
		_, err = tx.exec(`UPDATE model SET
				name         = ?,
				description  = ?,
				updated_date = ?
			WHERE id = ?`, next.Name, next.Description, tx.now, id)
		if isDuplicate(err) {
			return errModelExists
		}
		return err
	})
}

// DeleteModel removes a model with its versions. The iterations and artifacts
// that they point at stay. Needs delete.
func (db *DB) DeleteModel(ctx context.Context, actor Actor, id string) error {
	return change(ctx, db, actor, func(tx *tx) error {
		if _, err := tx.allowModel(actor, id, rightDelete); err != nil {
			return err
		}
		_, err := tx.exec(`DELETE FROM model WHERE id = ?`, id)
		return err
	})
}

var errModelExists = &Error{Code: CodeConflict, Field: "name",
	Message: "The project has a model of this name; add a version to that one or choose another name."}

// allowModel returns the model. It fails unless there is one and actor has the
// right in its project.
func (tx *tx) allowModel(actor Actor, id string, want right) (m Model, err error) {
	if err := tx.get(&m, `SELECT `+modelColumns+` FROM model WHERE id = ?`, id); err != nil {
		return m, orNotFound(err, "model")
	}
	return m, tx.allow(actor, m.ProjectID, want)
}
