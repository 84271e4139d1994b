package store

import (
	"context"

	"tracker/store/search"
	"tracker/store/sqlite"
)

// Model is a name in a project for the versions of a trained model.
type Model struct {
	ID          string `json:"id" db:"id"`
	ProjectID   string `json:"project_id" db:"project_id"`
	Name        string `json:"name" db:"name"` // unique in the project
	Description string `json:"description" db:"description"`
	CreatedDate Time   `json:"created_date" db:"created_date"`
	UpdatedDate Time   `json:"updated_date" db:"updated_date"` // of the last change of name or description
}

func (m Model) TextBytes() int { return len(m.Description) }

// NewModel holds the arguments of CreateModel.
type NewModel struct {
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Properties  []Property `json:"-"`
}

// ModelPatch holds the fields that UpdateModel sets; nil leaves a field as it is.
type ModelPatch struct {
	Name        *string `json:"name"`
	Description *string `json:"description"`
	Before      Before  `json:"-"`
}

// ModelQuery selects models.
type ModelQuery struct {
	Page
	Part  string  // a part of the name, in any case; "" for all
	Name  *string // the whole name, to the letter; nil for all
	Trash TrashFilter
}

const modelColumns = `
	model.id,
	model.project_id,
	model.name,
	model.description,
	model.created_date,
	model.updated_date`

// Models lists the models of a project by name. Needs read.
func (v *View) Models(projectID string, q ModelQuery) (List[Model], error) {
	if err := v.tx.allowProject(v.actor, projectID, rightRead); err != nil {
		return List[Model]{}, err
	}
	from := `FROM model WHERE model.project_id = ? AND ` + q.Trash.condition("model") + ` AND ` + search.Contains(`model.name`)
	args := []any{projectID, q.Part}
	if q.Name != nil {
		from += ` AND model.name = ?`
		args = append(args, *q.Name)
	}
	return list[Model](v.tx, q.Page, modelColumns, from, `model.name`, args...)
}

// Models is View.Models.
func (db *DB) Models(ctx context.Context, actor Actor, projectID string, q ModelQuery) (List[Model], error) {
	return view(ctx, db, actor, func(v *View) (List[Model], error) { return v.Models(projectID, q) })
}

// Model returns one model. Needs read.
func (v *View) Model(id string) (Model, error) {
	return v.tx.allowModel(v.actor, id, rightRead)
}

// Model is View.Model.
func (db *DB) Model(ctx context.Context, actor Actor, id string) (Model, error) {
	return view(ctx, db, actor, func(v *View) (Model, error) { return v.Model(id) })
}

// CreateModel makes a model without versions; CONFLICT when the project has
// one of that name. Needs create.
func (db *DB) CreateModel(ctx context.Context, actor Actor, projectID string, n NewModel) (Created, error) {
	err := firstError(checkName("name", n.Name), checkText("description", n.Description), checkProperties(n.Properties))
	if err != nil {
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
		_, err = tx.Exec(`INSERT INTO model (id, project_id, name, description, created_date, updated_date)
			VALUES (?, ?, ?, ?, ?, ?)`,
			id, projectID, n.Name, n.Description, tx.now, tx.now)
		if sqlite.IsDuplicate(err) {
			return Created{}, errModelExists
		}
		if err != nil {
			return Created{}, err
		}
		owner := propertyOwner{projectID: projectID, column: "model_id", key: id}
		return Created{ID: id}, tx.setProperties(actor, owner, n.Properties)
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
		_, err = tx.Exec(`UPDATE model SET
				name         = ?,
				description  = ?,
				updated_date = ?
			WHERE id = ?`, next.Name, next.Description, tx.now, id)
		if sqlite.IsDuplicate(err) {
			return errModelExists
		}
		return err
	})
}

// DeleteModel moves a model with its versions to the trash. The iterations and
// artifacts that they refer to stay. Needs delete.
func (db *DB) DeleteModel(ctx context.Context, actor Actor, id string) error {
	return db.discard(ctx, actor, func(tx *tx) error {
		if _, err := tx.allowModel(actor, id, rightDelete); err != nil {
			return err
		}
		return tx.discard(TrashedModel, id)
	})
}

var errModelExists = &Error{Code: CodeConflict, Field: "name",
	Message: "The project has a model of this name; add a version to that one or choose another name."}

// allowModel returns the model. It fails unless there is one and actor has the
// right in its project.
func (tx *tx) allowModel(actor Actor, id string, want right) (m Model, err error) {
	if err := tx.Get(&m, `SELECT `+modelColumns+`
		FROM model
		JOIN project ON project.id = model.project_id
		WHERE model.id = ? AND `+tx.found("model", "project"), id); err != nil {
		return m, orNotFound(err, "model")
	}
	return m, tx.allow(actor, m.ProjectID, want)
}
