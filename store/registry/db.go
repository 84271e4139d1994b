// Package registry stores registered models with their versions, stages and aliases. It also
// stores the logged models of runs.
//
// A model belongs to a project, and a version belongs to a model. A version refers to the run and
// the artifact from which it was made. A run or artifact can't be deleted while a version refers to
// it. RefuseIfVersioned and similar functions return an error that lists these versions. An alias
// names one version of a model. When a version moves to a stage, the other versions in that stage
// are archived or stay there.
//
// The methods of DB run their own transactions. The methods of View use the transaction of the
// view.
package registry

import (
	"context"

	"tracker/store/domain"
)

// DB reads and writes models. Each method runs its own transaction.
type DB struct{ base *domain.DB }

// New returns a DB for the models in base.
func New(base *domain.DB) *DB { return &DB{base} }

// View reads models in one transaction. It checks the rights of the actor tx.Actor.
type View struct{ tx *domain.Tx }

// In returns a view of the models in the transaction tx.
func In(tx *domain.Tx) *View { return &View{tx} }

// view runs fn with a view in a new read transaction.
func view[T any](ctx context.Context, db *DB, actor domain.Actor, fn func(*View) (T, error)) (T, error) {
	return domain.ReadAs(ctx, db.base, actor, func(tx *domain.Tx) (T, error) { return fn(In(tx)) })
}
