package registry

import (
	"context"
	"database/sql"
	"errors"

	"tracker/store/domain"
	"tracker/store/scalar"
	"tracker/store/search"
	"tracker/store/sqlite"
)

// Model is a registered model in a project.
type Model struct {
	ID          string `json:"id" db:"id"`
	ProjectID   string `json:"project_id" db:"project_id"`
	Name        string `json:"name" db:"name"` // unique within the project
	Description string `json:"description" db:"description"`
	domain.Creator
	CreatedDate scalar.Time `json:"created_date" db:"created_date"`
	UpdatedDate scalar.Time `json:"updated_date" db:"updated_date"` // time of the last change to Name or Description
}

func (m Model) TextBytes() int { return len(m.Description) }

// NewModel holds the arguments of CreateModel.
type NewModel struct {
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Properties  []domain.Property `json:"-"`
}

// ModelPatch holds the new values for UpdateModel. UpdateModel does not change a field whose
// value is nil.
type ModelPatch struct {
	Name        *string       `json:"name"`
	Description *string       `json:"description"`
	Before      domain.Before `json:"-"`
}

// ModelQuery holds the search conditions of Models.
type ModelQuery struct {
	domain.Page
	Part  string  // substring of the name, ignoring case; "" matches all models
	Name  *string // exact name; nil matches all models
	Trash domain.TrashFilter
}

const modelColumns = `
	model.id,
	model.project_id,
	model.name,
	model.description,
	model.created_date,
	model.created_by,
	model.created_key,
	model.updated_date`

// Models returns a page of a project's models, sorted by name. The actor needs the right to
// read.
func (v *View) Models(projectID string, q ModelQuery) (domain.List[Model], error) {
	if err := v.tx.AllowProject(v.tx.Actor, projectID, domain.RightRead); err != nil {
		return domain.List[Model]{}, err
	}
	from := `FROM model WHERE model.project_id = ? AND ` + q.Trash.Condition("model") + ` AND ` + search.Contains(`model.name`)
	args := []any{projectID, q.Part}
	if q.Name != nil {
		from += ` AND model.name = ?`
		args = append(args, *q.Name)
	}
	return domain.PageOf[Model](v.tx, q.Page, modelColumns, from, `model.name`, args...)
}

// Models calls View.Models in a new read transaction.
func (db *DB) Models(ctx context.Context, actor domain.Actor, projectID string, q ModelQuery) (domain.List[Model], error) {
	return view(ctx, db, actor, func(v *View) (domain.List[Model], error) { return v.Models(projectID, q) })
}

// Model returns the model with the given id. The actor needs the right to read.
func (v *View) Model(id string) (Model, error) {
	return AllowModel(v.tx, v.tx.Actor, id, domain.RightRead)
}

// Model calls View.Model in a new read transaction.
func (db *DB) Model(ctx context.Context, actor domain.Actor, id string) (Model, error) {
	return view(ctx, db, actor, func(v *View) (Model, error) { return v.Model(id) })
}

// CreateModel creates a model without versions. It returns CONFLICT if the project already has
// a model with the same name. The actor needs the right to create.
func (db *DB) CreateModel(ctx context.Context, actor domain.Actor, projectID string, n NewModel) (domain.Created, error) {
	err := domain.FirstError(domain.CheckName("name", n.Name), domain.CheckText("description", n.Description), domain.CheckProperties(n.Properties))
	if err != nil {
		return domain.Created{}, err
	}
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (domain.Created, error) {
		if err := tx.AllowProject(actor, projectID, domain.RightCreate); err != nil {
			return domain.Created{}, err
		}
		id, err := insertModel(tx, actor, projectID, n)
		return domain.Created{ID: id}, err
	})
}

func insertModel(tx *domain.Tx, actor domain.Actor, projectID string, n NewModel) (id string, err error) {
	id = domain.NewID()
	_, err = tx.Exec(`INSERT INTO model (id, project_id, name, description, created_date, updated_date, created_by, created_key)
		VALUES (?, ?, ?, ?, ?, ?, `+domain.CreatorValues+`)`,
		id, projectID, n.Name, n.Description, tx.Now, tx.Now, actor.CreatorID(), actor.Key)
	if sqlite.IsDuplicate(err) {
		return "", errModelExists
	}
	if err != nil {
		return "", err
	}
	owner := domain.PropertyOwner{ProjectID: projectID, Column: "model_id", Key: id}
	return id, tx.SetProperties(actor, owner, n.Properties)
}

// EnsureModel returns the model with the given name. It creates the model if the project does not
// have it. The actor needs the right to create.
func EnsureModel(tx *domain.Tx, actor domain.Actor, projectID, name string) (m Model, err error) {
	if err := tx.AllowProject(actor, projectID, domain.RightCreate); err != nil {
		return m, err
	}
	const query = `SELECT ` + modelColumns + ` FROM model WHERE project_id = ? AND name = ? AND deleted_date IS NULL`
	err = tx.Get(&m, query, projectID, name)
	if !errors.Is(err, sql.ErrNoRows) {
		return m, err
	}
	if err := domain.CheckName("name", name); err != nil {
		return m, err
	}
	if _, err := insertModel(tx, actor, projectID, NewModel{Name: name}); err != nil {
		return m, err
	}
	return m, tx.Get(&m, query, projectID, name)
}

// UpdateModel changes a model. It returns CONFLICT if another model in the project has the new
// name. The actor needs the right to update.
func (db *DB) UpdateModel(ctx context.Context, actor domain.Actor, id string, p ModelPatch) error {
	if err := domain.CheckNameAndText(p.Name, "description", p.Description); err != nil {
		return err
	}
	return domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
		m, err := AllowModel(tx, actor, id, domain.RightUpdate)
		if err != nil {
			return err
		}
		if err := tx.RefuseIfOverwritten(p.Before, "model", id, map[string]*string{"name": p.Name, "description": p.Description}); err != nil {
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
			WHERE id = ?`, next.Name, next.Description, tx.Now, id)
		if sqlite.IsDuplicate(err) {
			return errModelExists
		}
		return err
	})
}

// DeleteModel moves a model and its versions to the trash. It does not delete the iterations
// and artifacts of the versions. The actor needs the right to delete.
func (db *DB) DeleteModel(ctx context.Context, actor domain.Actor, id string) error {
	return db.base.Discard(ctx, actor, func(tx *domain.Tx) error {
		if _, err := AllowModel(tx, actor, id, domain.RightDelete); err != nil {
			return err
		}
		return tx.Discard(domain.TrashedModel, id)
	})
}

var errModelExists = &domain.Error{Code: domain.CodeConflict, Field: "name",
	Message: "The project already has a model with this name; add a version to it or choose another name."}

// AllowModel returns the model with the given id. It returns an error if the model does not
// exist or actor lacks the right want in the model's project.
func AllowModel(tx *domain.Tx, actor domain.Actor, id string, want domain.Right) (m Model, err error) {
	if err := tx.Get(&m, `SELECT `+modelColumns+`
		FROM model
		JOIN project ON project.id = model.project_id
		WHERE model.id = ? AND `+tx.Found("model", "project"), id); err != nil {
		return m, domain.OrNotFound(err, "model")
	}
	return m, tx.Allow(actor, m.ProjectID, want)
}
