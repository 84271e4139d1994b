package store

import (
	"context"

	"tracker/store/sqlite"
)

// View answers the reads of one actor from one snapshot: they agree with each
// other, whatever is written meanwhile. It is valid until the function that got
// it returns, and for one goroutine.
//
// Its methods are those of DB that read, with the same rules and errors.
type View struct {
	tx     *tx
	actor  Actor
	cursor string
}

// View runs fn on a snapshot, which holds a connection. So long computations, and writes
// to a client, belong after it.
func (db *DB) View(ctx context.Context, actor Actor, fn func(*View) error) error {
	// Before the snapshot, so that changes that it lacks come after the cursor.
	_, cursor, _ := db.journal.Since("", nil)
	return db.kernel.Read(ctx, func(snapshot *sqlite.Tx) error {
		return fn(&View{tx: db.reading(snapshot), actor: actor, cursor: cursor})
	})
}

// view is View for an fn with a result.
func view[T any](ctx context.Context, db *DB, actor Actor, fn func(*View) (T, error)) (out T, err error) {
	err = db.View(ctx, actor, func(v *View) error {
		out, err = fn(v)
		return err
	})
	return out, err
}

// Cursor returns the cursor for ExperimentChanges and IterationChanges. Changes that the
// view does not show come after it.
func (v *View) Cursor() string { return v.cursor }
