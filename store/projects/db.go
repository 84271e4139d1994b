// Package projects holds the records that contain runs: projects, their experiments, the reports
// of a project and the saved views of an experiment.
//
// It also finds records by name, and returns the objective that the runs of an experiment are
// compared by. Deleted records go to the trash; package trash restores and purges them.
package projects

import (
	"context"

	"tracker/store/domain"
)

// DB has the methods that start their own transactions.
type DB struct {
	base *domain.DB
}

// New returns the methods for the projects of a database.
func New(base *domain.DB) *DB { return &DB{base} }

// View has the methods that read one snapshot. They act for the actor of its transaction.
type View struct{ tx *domain.Tx }

// In returns a view of the projects in a transaction.
func In(tx *domain.Tx) *View { return &View{tx} }

// view calls fn with a view of a new snapshot.
func view[T any](ctx context.Context, db *DB, actor domain.Actor, fn func(*View) (T, error)) (T, error) {
	return domain.ReadAs(ctx, db.base, actor, func(tx *domain.Tx) (T, error) { return fn(In(tx)) })
}
