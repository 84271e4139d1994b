// Package registry stores registered models with their versions, stages and aliases, and
// the logged models of runs.
//
// A model belongs to a project and its versions to the model. A version refers to the run
// and the artifact that it came from, and protects both: RefuseIfVersioned and similar
// functions refuse to delete a record while a version refers to it, and name the versions.
// An alias names at most one version of a model. A move to a stage also decides what
// happens to the other versions in that stage.
//
// The methods of DB run their own transactions. The methods of View read one snapshot.
package registry

import (
	"context"

	"tracker/store/domain"
)

// DB has the methods that run their own transactions.
type DB struct{ base *domain.DB }

// New returns the models of a database.
func New(base *domain.DB) *DB { return &DB{base} }

// View has the methods that read one snapshot, for the actor of its transaction.
type View struct{ tx *domain.Tx }

// In returns the models that a transaction sees.
func In(tx *domain.Tx) *View { return &View{tx} }

// view runs fn on a new view.
func view[T any](ctx context.Context, db *DB, actor domain.Actor, fn func(*View) (T, error)) (T, error) {
	return domain.ReadAs(ctx, db.base, actor, func(tx *domain.Tx) (T, error) { return fn(In(tx)) })
}
