package store

import (
	"context"

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
	Key   *string `json:"key"`
	Value *Text   `json:"value"`
}

const (
	parameterColumns = `
	parameter.id,
	iteration.id AS iteration_id,
	parameter.key,
	parameter.value`

	parameterFrom = `FROM parameter JOIN iteration ON iteration.num = parameter.iteration_num `
)

var errParameterExists = &Error{Code: CodeConflict, Field: "key",
	Message: "The iteration already has a parameter with this key; PATCH that one to change its value."}

// Parameters lists the parameters of an iteration by key. Needs read.
func (db *DB) Parameters(ctx context.Context, actor Actor, iterationID string, p Page) (List[Parameter], error) {
	return read(ctx, db, func(tx *tx) (List[Parameter], error) {
		it, err := tx.allowIteration(actor, iterationID, rightRead)
		if err != nil {
			return List[Parameter]{}, err
		}
		return list[Parameter](tx, p, parameterColumns,
			parameterFrom+`WHERE parameter.iteration_num = ?`, `parameter.key`, it.num)
	})
}

// Parameter returns one parameter. Needs read.
func (db *DB) Parameter(ctx context.Context, actor Actor, id string) (Parameter, error) {
	return read(ctx, db, func(tx *tx) (Parameter, error) {
		p, err := tx.parameter(id)
		if err != nil {
			return p, err
		}
		_, err = tx.allowIteration(actor, p.IterationID, rightRead)
		return p, err
	})
}

func (tx *tx) parameter(id string) (p Parameter, err error) {
	err = tx.Get(&p, `SELECT `+parameterColumns+` `+parameterFrom+`WHERE parameter.id = ?`, id)
	return p, orNotFound(err, "parameter")
}

// CreateParameter records a setting; CONFLICT when the key is there. Needs
// create; the iteration must not have ended.
func (db *DB) CreateParameter(ctx context.Context, actor Actor, iterationID, key string, value Text) (Created, error) {
	if err := firstError(checkKey(key), checkText("value", string(value))); err != nil {
		return Created{}, err
	}
	return write(ctx, db, actor, func(tx *tx) (Created, error) {
		it, err := tx.allowOpenIteration(actor, iterationID, rightCreate)
		if err != nil {
			return Created{}, err
		}
		id, err := newID()
		if err != nil {
			return Created{}, err
		}
		_, err = tx.Exec(`INSERT INTO parameter (iteration_num, key, id, value) VALUES (?, ?, ?, ?)`,
			it.num, key, id, string(value))
		if sqlite.IsDuplicate(err) {
			return Created{}, errParameterExists
		}
		tx.within()
		tx.touch(it.experimentID)
		tx.noteIteration(it.iterationRef)
		return Created{ID: id}, err
	})
}

// UpdateParameter changes a setting; CONFLICT when another one has the new
// key. Needs update; the iteration must not have ended.
func (db *DB) UpdateParameter(ctx context.Context, actor Actor, id string, p ParameterPatch) error {
	if p.Key != nil {
		if err := checkKey(*p.Key); err != nil {
			return err
		}
	}
	if p.Value != nil {
		if err := checkText("value", string(*p.Value)); err != nil {
			return err
		}
	}
	return change(ctx, db, actor, func(tx *tx) error {
		old, err := tx.parameter(id)
		if err != nil {
			return err
		}
		it, err := tx.allowOpenIteration(actor, old.IterationID, rightUpdate)
		if err != nil {
			return err
		}
		tx.noteIteration(it.iterationRef)
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
func (db *DB) DeleteParameter(ctx context.Context, actor Actor, id string) error {
	return remove(ctx, db, actor, func(tx *tx) error {
		p, err := tx.parameter(id)
		if err != nil {
			return err
		}
		it, err := tx.allowOpenIteration(actor, p.IterationID, rightDelete)
		if err != nil {
			return err
		}
		tx.noteIteration(it.iterationRef)
		_, err = tx.Exec(`DELETE FROM parameter WHERE id = ?`, id)
		return err
	})
}
