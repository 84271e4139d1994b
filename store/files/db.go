// Package files adds, reads, replaces and deletes artifacts, which are files of
// experiments, runs and logged models. It holds their records and checks the rights. A file
// can be uploaded in one request or in several.
//
// Package artifact stores the bytes. Received bytes are put in place first. Then a
// transaction checks the right, uses the claim of the bytes and inserts the record. So every
// record has its bytes; if the transaction fails, the bytes are collected later. A Tree
// contains artifacts as files in folders, by their names.
//
// Each method of DB runs its own transactions. The methods of View read one snapshot.
package files

import (
	"context"

	"tracker/store/domain"
)

// DB has the methods that run their own transactions.
type DB struct{ base *domain.DB }

// New returns a DB for the artifacts of a database.
func New(base *domain.DB) *DB { return &DB{base} }

// View has the methods that read one snapshot, for the actor of its transaction.
type View struct{ tx *domain.Tx }

// In returns a View of the artifacts that are visible in a transaction.
func In(tx *domain.Tx) *View { return &View{tx} }

// view runs fn on a new snapshot.
func view[T any](ctx context.Context, db *DB, actor domain.Actor, fn func(*View) (T, error)) (T, error) {
	return domain.ReadAs(ctx, db.base, actor, func(tx *domain.Tx) (T, error) { return fn(In(tx)) })
}
