package runs

import (
	"context"

	"tracker/store/access"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// Parameter is a setting of a run. Keys are unique in an iteration.
type Parameter struct {
	ID          string `json:"id" db:"id"`
	IterationID string `json:"iteration_id" db:"iteration_id"`
	Key         string `json:"key" db:"key"`
	Value       string `json:"value" db:"value"`
}

func (p Parameter) TextBytes() int { return len(p.Value) }

// ParameterPatch holds the fields that UpdateParameter sets; nil leaves a field as it is.
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

var errParameterExists = &access.Error{Code: access.CodeConflict, Field: "key",
	Message: "The iteration already has a parameter with this key; PATCH that one to change its value."}

// Parameters lists the parameters of an iteration by key. Needs read.
func (db *DB) Parameters(ctx context.Context, actor access.Actor, iterationID string, p access.Page) (access.List[Parameter], error) {
	return access.Read(ctx, db.base, func(tx *access.Tx) (access.List[Parameter], error) {
		it, err := tx.AllowIteration(actor, iterationID, access.RightRead)
		if err != nil {
			return access.List[Parameter]{}, err
		}
		return access.PageOf[Parameter](tx, p, parameterColumns,
			parameterFrom+`WHERE parameter.iteration_num = ?`, `parameter.key`, it.Num)
	})
}

// Parameter returns one parameter. Needs read.
func (db *DB) Parameter(ctx context.Context, actor access.Actor, id string) (Parameter, error) {
	return access.Read(ctx, db.base, func(tx *access.Tx) (Parameter, error) {
		p, err := parameter(tx, id)
		if err != nil {
			return p, err
		}
		_, err = tx.AllowIteration(actor, p.IterationID, access.RightRead)
		return p, err
	})
}

func parameter(tx *access.Tx, id string) (p Parameter, err error) {
	err = tx.Get(&p, `SELECT `+parameterColumns+` `+parameterFrom+`WHERE parameter.id = ?`, id)
	return p, access.OrNotFound(err, "parameter")
}

// CreateParameter records a setting; CONFLICT when the key is there. Needs
// create; the iteration must not have ended.
func (db *DB) CreateParameter(ctx context.Context, actor access.Actor, iterationID, key string, value scalar.Text) (access.Created, error) {
	if err := access.FirstError(access.CheckKey(key), access.CheckText("value", string(value))); err != nil {
		return access.Created{}, err
	}
	return access.Write(ctx, db.base, actor, func(tx *access.Tx) (access.Created, error) {
		it, err := tx.AllowOpenIteration(actor, iterationID, access.RightCreate)
		if err != nil {
			return access.Created{}, err
		}
		id, err := access.NewID()
		if err != nil {
			return access.Created{}, err
		}
		_, err = tx.Exec(`INSERT INTO parameter (iteration_num, key, id, value) VALUES (?, ?, ?, ?)`,
			it.Num, key, id, string(value))
		if sqlite.IsDuplicate(err) {
			return access.Created{}, errParameterExists
		}
		tx.Within()
		tx.Touch(it.IterationRef)
		tx.NoteIteration(it.IterationRef)
		return access.Created{ID: id}, err
	})
}

// UpdateParameter changes a setting; CONFLICT when another one has the new
// key. Needs update; the iteration must not have ended.
func (db *DB) UpdateParameter(ctx context.Context, actor access.Actor, id string, p ParameterPatch) error {
	if p.Key != nil {
		if err := access.CheckKey(*p.Key); err != nil {
			return err
		}
	}
	if p.Value != nil {
		if err := access.CheckText("value", string(*p.Value)); err != nil {
			return err
		}
	}
	return access.Change(ctx, db.base, actor, func(tx *access.Tx) error {
		old, err := parameter(tx, id)
		if err != nil {
			return err
		}
		it, err := tx.AllowOpenIteration(actor, old.IterationID, access.RightUpdate)
		if err != nil {
			return err
		}
		tx.NoteIteration(it.IterationRef)
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

// DeleteParameter removes a setting. Needs delete; the iteration must not have
// ended.
func (db *DB) DeleteParameter(ctx context.Context, actor access.Actor, id string) error {
	return access.Remove(ctx, db.base, actor, func(tx *access.Tx) error {
		p, err := parameter(tx, id)
		if err != nil {
			return err
		}
		it, err := tx.AllowOpenIteration(actor, p.IterationID, access.RightDelete)
		if err != nil {
			return err
		}
		tx.NoteIteration(it.IterationRef)
		_, err = tx.Exec(`DELETE FROM parameter WHERE id = ?`, id)
		return err
	})
}
