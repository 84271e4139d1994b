// Package runs holds the iterations of experiments and the data recorded in them: parameters,
// metrics, tags, properties, datasets, lines of a console, the code and the environment.
//
// It writes them, with rights and states checked in the same transaction; lists, searches
// and groups them; and reads their curves, summaries and changes. Points are kept by package
// points and found by package search, both of which know no rights. The memory of an
// answer is bounded, and counted before the answer is read (budget.go).
//
// Methods of DB take transactions of their own. Methods of View read one snapshot.
package runs

import (
	"context"

	"tracker/store/domain"
)

// DB has the methods that take transactions of their own.
type DB struct{ base *domain.DB }

// New returns the runs of a database.
func New(base *domain.DB) *DB { return &DB{base} }

// View has the methods that read one snapshot, for the actor of its transaction.
type View struct{ tx *domain.Tx }

// In returns the runs that a transaction sees.
func In(tx *domain.Tx) *View { return &View{tx} }

// view runs fn on a view of its own.
func view[T any](ctx context.Context, db *DB, actor domain.Actor, fn func(*View) (T, error)) (T, error) {
	return domain.ReadAs(ctx, db.base, actor, func(tx *domain.Tx) (T, error) { return fn(In(tx)) })
}
