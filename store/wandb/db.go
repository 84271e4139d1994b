package wandb

import (
	"context"

	"tracker/store/domain"
)

// DB has the methods that start their own transactions.
type DB struct {
	base    *domain.DB
	commits commits
}

// New returns the methods for the W&B records of a database.
func New(base *domain.DB) *DB { return &DB{base, commits{of: map[string]chan struct{}{}}} }

// View has the methods that read one snapshot. They act for the actor of its transaction.
type View struct{ tx *domain.Tx }

// In returns a view of the W&B records in a transaction.
func In(tx *domain.Tx) *View { return &View{tx} }

// view calls fn with a view of a new snapshot.
func view[T any](ctx context.Context, db *DB, actor domain.Actor, fn func(*View) (T, error)) (T, error) {
	return domain.ReadAs(ctx, db.base, actor, func(tx *domain.Tx) (T, error) { return fn(In(tx)) })
}
