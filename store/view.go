package store

import (
	"context"

	"tracker/store/access"
	"tracker/store/files"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/sqlite"
	"tracker/store/wandbruns"
)

// View answers the reads of one actor from one snapshot: they agree with each
// other, whatever is written meanwhile. It is valid until the function that got
// it returns, and for one goroutine.
//
// Its methods are those of DB that read, with the same rules and errors.
type View struct {
	tx     *access.Tx
	cursor string

	*registryView
	*filesView
	*runsView
	*wandbView
}

// The views of the packages below, whose methods View has.
type (
	registryView = registry.View
	filesView    = files.View
	runsView     = runs.View
	wandbView    = wandbruns.View
)

// View runs fn on a snapshot, which holds a connection. So long computations, and writes
// to a client, belong after it.
func (db *DB) View(ctx context.Context, actor Actor, fn func(*View) error) error {
	// Before the snapshot, so that changes that it lacks come after the cursor.
	_, cursor, _ := db.base.Journal.Since("", nil)
	return db.base.Kernel.Read(ctx, func(snapshot *sqlite.Tx) error {
		tx := db.base.Reading(snapshot)
		tx.Actor = actor
		return fn(&View{tx, cursor, registry.In(tx), files.In(tx), runs.In(tx), wandbruns.In(tx)})
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
