package domain

import (
	"database/sql"
	"errors"
)

// Has reports whether a query returns a row.
func (tx *Tx) Has(query string, args ...any) (bool, error) {
	var one int
	err := tx.Row(query, args...).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Exists returns NOT_FOUND if query returns no row for id. The error names the given kind of
// record.
func (tx *Tx) Exists(query, id string, what Entity) error {
	var one int
	return OrNotFound(tx.Row(query, id).Scan(&one), what)
}

// FirstOr runs query with id and args and returns the id in the first row. If query returns no
// row, FirstOr calls insert and returns the id of the new record. The new record gets the given
// id, or a random id if table already has a record with the given id.
func (tx *Tx) FirstOr(table, id string, insert func(id string) error, query string, args ...any) (string, error) {
	var found string
	err := tx.Row(query, append([]any{id}, args...)...).Scan(&found)
	if !errors.Is(err, sql.ErrNoRows) {
		return found, err
	}
	taken, err := tx.Has(`SELECT 1 FROM `+table+` WHERE id = ?`, id)
	if err != nil {
		return "", err
	}
	if taken {
		id = NewID()
	}
	return id, insert(id)
}
