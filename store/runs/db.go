// Package runs stores the iterations of experiments and the data recorded in them: parameters,
// metrics, tags, properties, datasets, console lines, code and environment.
//
// It checks rights and states in the transaction that writes. It lists, searches and groups
// iterations, and reads their curves, summaries and changes. Package points stores the points
// and package search finds iterations; neither checks rights. The memory of an answer is
// bounded and counted before the answer is read (budget.go).
//
// The methods of DB run their own transactions. The methods of View read one snapshot.
package runs

import (
	"context"

	"tracker/store/domain"
)

// DB has the methods that run their own transactions.
type DB struct {
	base       *domain.DB
	estimating chan struct{} // holds one element while an importance is estimated
}

// New returns the runs of a database.
func New(base *domain.DB) *DB { return &DB{base, make(chan struct{}, 1)} }

// View has the methods that read one snapshot, for the actor of its transaction.
type View struct{ tx *domain.Tx }

// In returns the runs that a transaction sees.
func In(tx *domain.Tx) *View { return &View{tx} }

// view runs fn on a new view.
func view[T any](ctx context.Context, db *DB, actor domain.Actor, fn func(*View) (T, error)) (T, error) {
	return domain.ReadAs(ctx, db.base, actor, func(tx *domain.Tx) (T, error) { return fn(In(tx)) })
}
