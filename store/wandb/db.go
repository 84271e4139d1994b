package wandb

import (
	"context"

	"tracker/store/domain"
)

// DB reads and writes W&B records. Each method runs its own transactions.
type DB struct{ base *domain.DB }

// New returns a DB for the W&B records in base.
func New(base *domain.DB) *DB { return &DB{base} }

// View reads W&B records in one transaction. It checks the rights of the actor tx.Actor.
type View struct{ tx *domain.Tx }

// In returns a view of the W&B records in the transaction tx.
func In(tx *domain.Tx) *View { return &View{tx} }

// view runs fn with a view in a new read transaction.
func view[T any](ctx context.Context, db *DB, actor domain.Actor, fn func(*View) (T, error)) (T, error) {
	return domain.ReadAs(ctx, db.base, actor, func(tx *domain.Tx) (T, error) { return fn(In(tx)) })
}
