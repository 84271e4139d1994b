// Package runs stores the iterations of experiments and the data recorded in them. The data are
// parameters, metrics, tags, properties, datasets, console lines, code and environment.
//
// The package checks the rights of the actor in the transaction that reads or writes. It lists,
// searches and groups iterations. It also reads their curves, summaries and changes. Package
// points stores the points, and package search finds iterations. Neither of the two packages
// checks rights. The memory of a response is limited, and it is reserved before the data are
// read (budget.go).
//
// The methods of DB run their own transactions. The methods of View use the transaction of the
// view.
package runs

import (
	"context"

	"tracker/store/domain"
)

// DB reads and writes iterations. Each method runs its own transaction.
type DB struct {
	base       *domain.DB
	estimating chan struct{} // holds one element while an importance estimate runs
}

// New returns a DB for the iterations in base.
func New(base *domain.DB) *DB { return &DB{base, make(chan struct{}, 1)} }

// View reads iterations in one transaction. It checks the rights of the actor tx.Actor.
type View struct{ tx *domain.Tx }

// In returns a view of the iterations in the transaction tx.
func In(tx *domain.Tx) *View { return &View{tx} }

// view runs fn with a view in a new read transaction.
func view[T any](ctx context.Context, db *DB, actor domain.Actor, fn func(*View) (T, error)) (T, error) {
	return domain.ReadAs(ctx, db.base, actor, func(tx *domain.Tx) (T, error) { return fn(In(tx)) })
}
