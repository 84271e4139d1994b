// Package files adds, reads, replaces and deletes artifacts. Artifacts are files that belong to
// experiments, runs and logged models. The package stores artifact records and checks rights. A
// client can upload a file in one or more requests.
//
// Package artifact stores the bytes. CreateArtifact first commits the received bytes to the
// backend, which creates a claim. A transaction then checks the right, uses the claim and inserts
// the record. Every record therefore has its bytes. If the transaction fails, the bytes are
// collected later. A Tree presents artifacts as files and folders, by their names.
//
// Each method of DB runs its own transactions. The methods of View read one snapshot.
package files

import (
	"context"

	"tracker/store/domain"
)

// DB has the methods that open their own transactions.
type DB struct{ base *domain.DB }

// New returns a DB for the artifacts in base.
func New(base *domain.DB) *DB { return &DB{base} }

// View has the methods that read one snapshot. Each method uses the actor of tx.
type View struct{ tx *domain.Tx }

// In returns a View of the artifacts that are visible in tx.
func In(tx *domain.Tx) *View { return &View{tx} }

// view runs fn on a new snapshot.
func view[T any](ctx context.Context, db *DB, actor domain.Actor, fn func(*View) (T, error)) (T, error) {
	return domain.ReadAs(ctx, db.base, actor, func(tx *domain.Tx) (T, error) { return fn(In(tx)) })
}
