package store

import (
	"context"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/projects"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/sqlite"
	"tracker/store/trash"
	"tracker/store/users"
	"tracker/store/wandb"
)

// View answers the reads of one actor from one snapshot: they agree with each
// other, whatever is written meanwhile. It is valid until the function that got
// it returns, and for one goroutine.
//
// Its methods are those of DB that read, with the same rules and errors.
type View struct {
	Runs   *runs.View
	Files  *files.View
	Models *registry.View
	Wandb  *wandb.View

	Users    *users.View
	Projects *projects.View
	Trash    *trash.View

	tx     *domain.Tx
	cursor string
}

// View runs fn on a snapshot, which holds a connection. So long computations, and writes
// to a client, belong after it.
func (db *DB) View(ctx context.Context, actor domain.Actor, fn func(*View) error) error {
	// Before the snapshot, so that changes that it lacks come after the cursor.
	_, cursor, _ := db.base.Journal.Since("", nil)
	return db.base.Kernel.Read(ctx, func(snapshot *sqlite.Tx) error {
		tx := db.base.Reading(snapshot)
		tx.Actor = actor
		return fn(&View{
			Runs: runs.In(tx), Files: files.In(tx), Models: registry.In(tx), Wandb: wandb.In(tx),
			Users: users.In(tx), Projects: projects.In(tx), Trash: trash.In(tx),
			tx: tx, cursor: cursor,
		})
	})
}

// view is View for an fn with a result.
func view[T any](ctx context.Context, db *DB, actor domain.Actor, fn func(*View) (T, error)) (out T, err error) {
	err = db.View(ctx, actor, func(v *View) error {
		out, err = fn(v)
		return err
	})
	return out, err
}

// Cursor returns the cursor for ExperimentChanges and IterationChanges. Changes that the
// view does not show come after it.
func (v *View) Cursor() string { return v.cursor }
