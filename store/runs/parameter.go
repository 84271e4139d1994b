package runs

import (
	"context"

	"tracker/store/domain"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// Parameter is a parameter of a run. A key is unique in an iteration.
type Parameter struct {
	ID          string `json:"id" db:"id"`
	IterationID string `json:"iteration_id" db:"iteration_id"`
	Key         string `json:"key" db:"key"`
	Value       string `json:"value" db:"value"`
}

func (p Parameter) TextBytes() int { return len(p.Value) }

// ParameterPatch holds the new values for UpdateParameter. UpdateParameter does not change a
// field whose value is nil.
type ParameterPatch struct {
	Key   *string      `json:"key"`
	Value *scalar.Text `json:"value"`
}

const (
	parameterColumns = `
	parameter.id,
	iteration.id AS iteration_id,
	parameter.key,
	parameter.value`

	parameterFrom = `FROM parameter JOIN iteration ON iteration.num = parameter.iteration_num `
)

var errParameterExists = &domain.Error{Code: domain.CodeConflict, Field: "key",
	Message: "A parameter with this key already exists; send PATCH to change its value."}

// Parameters returns a page of the parameters of an iteration, sorted by key. The actor needs
// the right to read.
func (db *DB) Parameters(ctx context.Context, actor domain.Actor, iterationID string, p domain.Page) (domain.List[Parameter], error) {
	return domain.Read(ctx, db.base, func(tx *domain.Tx) (domain.List[Parameter], error) {
		it, err := tx.AllowIteration(actor, iterationID, domain.RightRead)
		if err != nil {
			return domain.List[Parameter]{}, err
		}
		return domain.PageOf[Parameter](tx, p, parameterColumns,
			parameterFrom+`WHERE parameter.iteration_num = ?`, `parameter.key`, it.Num)
	})
}

// Parameter returns the parameter with the given id. The actor needs the right to read.
func (db *DB) Parameter(ctx context.Context, actor domain.Actor, id string) (Parameter, error) {
	return domain.Read(ctx, db.base, func(tx *domain.Tx) (Parameter, error) {
		p, err := parameter(tx, id)
		if err != nil {
			return p, err
		}
		_, err = tx.AllowIteration(actor, p.IterationID, domain.RightRead)
		return p, err
	})
}

func parameter(tx *domain.Tx, id string) (p Parameter, err error) {
	err = tx.Get(&p, `SELECT `+parameterColumns+` `+parameterFrom+`WHERE parameter.id = ?`, id)
	return p, domain.OrNotFound(err, "parameter")
}

// CreateParameter records a parameter. It returns CONFLICT if a parameter with the same key
// exists. The iteration must not have ended. The actor needs the right to create.
func (db *DB) CreateParameter(ctx context.Context, actor domain.Actor, iterationID, key string, value scalar.Text) (domain.Created, error) {
	if err := domain.FirstError(domain.CheckKey(key), domain.CheckText("value", string(value))); err != nil {
		return domain.Created{}, err
	}
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (domain.Created, error) {
		it, err := tx.AllowOpenIteration(actor, iterationID, domain.RightCreate)
		if err != nil {
			return domain.Created{}, err
		}
		id := domain.NewID()
		_, err = tx.Exec(`INSERT INTO parameter (iteration_num, key, id, value) VALUES (?, ?, ?, ?)`,
			it.Num, key, id, string(value))
		if sqlite.IsDuplicate(err) {
			return domain.Created{}, errParameterExists
		}
		return domain.Created{ID: id}, err
	})
}

// UpdateParameter changes a parameter. It returns CONFLICT if another parameter has the new
// key. The iteration must not have ended. The actor needs the right to update.
func (db *DB) UpdateParameter(ctx context.Context, actor domain.Actor, id string, p ParameterPatch) error {
	if p.Key != nil {
		if err := domain.CheckKey(*p.Key); err != nil {
			return err
		}
	}
	if p.Value != nil {
		if err := domain.CheckText("value", string(*p.Value)); err != nil {
			return err
		}
	}
	return domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
		old, err := parameter(tx, id)
		if err != nil {
			return err
		}
		if _, err := tx.AllowOpenIteration(actor, old.IterationID, domain.RightUpdate); err != nil {
			return err
		}
		_, err = tx.Exec(`UPDATE parameter SET
				key   = coalesce(?, key),
				value = coalesce(?, value)
			WHERE id = ?`, p.Key, (*string)(p.Value), id)
		if sqlite.IsDuplicate(err) {
			return errParameterExists
		}
		return err
	})
}

// DeleteParameter deletes a parameter. The iteration must not have ended. The actor needs the
// right to delete.
func (db *DB) DeleteParameter(ctx context.Context, actor domain.Actor, id string) error {
	return domain.Remove(ctx, db.base, actor, func(tx *domain.Tx) error {
		p, err := parameter(tx, id)
		if err != nil {
			return err
		}
		if _, err := tx.AllowOpenIteration(actor, p.IterationID, domain.RightDelete); err != nil {
			return err
		}
		_, err = tx.Exec(`DELETE FROM parameter WHERE id = ?`, id)
		return err
	})
}
