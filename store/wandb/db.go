package wandb

import (
	"context"

	"tracker/store/domain"
)

// DB has the methods that take transactions of their own.
type DB struct {
	base    *domain.DB
	commits commits
}

// New returns the records of W&B's clients of a database.
func New(base *domain.DB) *DB { return &DB{base, commits{of: map[string]chan struct{}{}}} }

// View has the methods that read one snapshot, for the actor of its transaction.
type View struct{ tx *domain.Tx }

// In returns the records of W&B's clients that a transaction sees.
func In(tx *domain.Tx) *View { return &View{tx} }

// view runs fn on a view of its own.
func view[T any](ctx context.Context, db *DB, actor domain.Actor, fn func(*View) (T, error)) (T, error) {
	return domain.ReadAs(ctx, db.base, actor, func(tx *domain.Tx) (T, error) { return fn(In(tx)) })
}
