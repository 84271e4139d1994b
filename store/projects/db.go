// Package projects stores the records that contain runs: projects, experiments, reports and
// saved views. A report belongs to a project, and a saved view belongs to an experiment.
//
// The package also finds records by name, and returns the objective of an experiment. Deleted
// records go to the trash. Package trash restores and purges these records.
package projects

import (
	"context"

	"tracker/store/domain"
)

// DB reads and writes projects. Its methods run their own transactions.
type DB struct {
	base *domain.DB
}

// New returns a DB for the projects in base.
func New(base *domain.DB) *DB { return &DB{base} }

// View reads projects in one transaction. It checks the rights of the actor tx.Actor.
type View struct{ tx *domain.Tx }

// In returns a View of the projects that are visible in tx.
func In(tx *domain.Tx) *View { return &View{tx} }

// view calls fn with a View of a new snapshot.
func view[T any](ctx context.Context, db *DB, actor domain.Actor, fn func(*View) (T, error)) (T, error) {
	return domain.ReadAs(ctx, db.base, actor, func(tx *domain.Tx) (T, error) { return fn(In(tx)) })
}
