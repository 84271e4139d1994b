// Package projects holds the records that contain runs: projects, their experiments, the
// reports of a project and the saved views of an experiment.
//
// It finds records by name, and it reads the objective by which the runs of an experiment
// are compared. A deleted record goes to the trash; package trash restores and purges it.
package projects

import (
	"context"

	"tracker/store/domain"
)

// DB has the methods that take transactions of their own.
type DB struct {
	base *domain.DB
}

// New returns the projects of a database.
func New(base *domain.DB) *DB { return &DB{base} }

// View has the methods that read one snapshot, for the actor of its transaction.
type View struct{ tx *domain.Tx }

// In returns the projects that a transaction sees.
func In(tx *domain.Tx) *View { return &View{tx} }

// view runs fn on a view of its own.
func view[T any](ctx context.Context, db *DB, actor domain.Actor, fn func(*View) (T, error)) (T, error) {
	return domain.ReadAs(ctx, db.base, actor, func(tx *domain.Tx) (T, error) { return fn(In(tx)) })
}
