// Package registry is the register of models: models with their versions, stages and
// aliases, and the models that runs log as files.
//
// A model belongs to a project and its versions to the model. A version refers to the run
// and the artifact that it came from. It protects both: RefuseIfVersioned and the like
// refuse to delete a record while a version refers to it, and name these versions. At most
// one version of a model has an alias, and a move to a stage says what becomes of the
// version that was there.
//
// Methods of DB take transactions of their own. Methods of View read one snapshot.
package registry

import (
	"context"

	"tracker/store/domain"
)

// DB has the methods that take transactions of their own.
type DB struct{ base *domain.DB }

// New returns the models of a database.
func New(base *domain.DB) *DB { return &DB{base} }

// View has the methods that read one snapshot, for the actor of its transaction.
type View struct{ tx *domain.Tx }

// In returns the models that a transaction sees.
func In(tx *domain.Tx) *View { return &View{tx} }

// view runs fn on a view of its own.
func view[T any](ctx context.Context, db *DB, actor domain.Actor, fn func(*View) (T, error)) (T, error) {
	return domain.ReadAs(ctx, db.base, actor, func(tx *domain.Tx) (T, error) { return fn(In(tx)) })
}
