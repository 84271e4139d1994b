// Package wandbruns carries out what W&B's clients ask for: it saves their runs as iterations,
// with history, console and state; it keeps their artifacts with collections, versions and
// aliases; and it gives the agents of a sweep their next runs.
//
// Package wandb has the records that only these clients have, and package sweep chooses
// settings. Here are the rights, and what becomes of a request in terms of projects,
// iterations and artifacts. A run of W&B is an iteration whose id follows from its project
// and name.
//
// Methods of DB take transactions of their own; those of View read one snapshot. Package
// store has them all, and describes the rules that hold for each.
package wandbruns

import (
	"context"

	"tracker/store/access"
)

// DB has the methods that take transactions of their own.
type DB struct {
	base    *access.DB
	commits commits
}

// New returns the records of W&B's clients of a database.
func New(base *access.DB) *DB { return &DB{base, commits{of: map[string]chan struct{}{}}} }

// View has the methods that read one snapshot, for the actor of its transaction.
type View struct{ tx *access.Tx }

// In returns the records of W&B's clients that a transaction sees.
func In(tx *access.Tx) *View { return &View{tx} }

// view runs fn on a view of its own.
func view[T any](ctx context.Context, db *DB, actor access.Actor, fn func(*View) (T, error)) (T, error) {
	return access.ReadAs(ctx, db.base, actor, func(tx *access.Tx) (T, error) { return fn(In(tx)) })
}
