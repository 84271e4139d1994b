// Package files holds the records of artifacts: who may add, read, replace and delete files
// of experiments, runs and logged models, in one request or in several.
//
// Package artifact keeps the bytes. Received bytes are put in place first; the record is
// inserted by a transaction that checks the right and uses their claim. So no record is
// without bytes, and a refusal leaves bytes that are collected later. Tree reads artifacts
// by their names, as files in folders.
//
// Methods of DB take transactions of their own. Methods of View read one snapshot.
package files

import (
	"context"

	"tracker/store/domain"
)

// DB has the methods that take transactions of their own.
type DB struct{ base *domain.DB }

// New returns the artifacts of a database.
func New(base *domain.DB) *DB { return &DB{base} }

// View has the methods that read one snapshot, for the actor of its transaction.
type View struct{ tx *domain.Tx }

// In returns the artifacts that a transaction sees.
func In(tx *domain.Tx) *View { return &View{tx} }

// view runs fn on a view of its own.
func view[T any](ctx context.Context, db *DB, actor domain.Actor, fn func(*View) (T, error)) (T, error) {
	return domain.ReadAs(ctx, db.base, actor, func(tx *domain.Tx) (T, error) { return fn(In(tx)) })
}
