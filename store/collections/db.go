// Package collections stores versions of artifacts. A collection belongs to an experiment and has a
// name, such as "model". Each version of a collection has a number, a type, files, metadata, tags
// and aliases. The files of a version are artifacts of the run that logged the version, named
// NAME:vN/FILE, so their bytes are stored and deleted like the bytes of other artifacts.
//
// An alias belongs to at most one version of a collection. The alias "latest" belongs to the
// version that was committed last. A tag can belong to several versions.
//
// A version is pending until all its files have arrived. Pending versions can't be found by name.
// The content of a committed version does not change. Two versions of a collection with the same
// digest are not created; the second one becomes the first.
//
// Lineage returns the graph of runs, versions, datasets and models around a record.
package collections

import (
	"context"

	"tracker/store/domain"
)

// DB has the methods that run their own transactions.
type DB struct {
	base    *domain.DB
	commits commits
}

// New returns a DB for the versions in base.
func New(base *domain.DB) *DB { return &DB{base, commits{of: map[string]chan struct{}{}}} }

// View has the methods that read one snapshot. Each method uses the actor of tx.
type View struct{ tx *domain.Tx }

// In returns a View of the versions that are visible in tx.
func In(tx *domain.Tx) *View { return &View{tx} }

// view runs fn on a new snapshot.
func view[T any](ctx context.Context, db *DB, actor domain.Actor, fn func(*View) (T, error)) (T, error) {
	return domain.ReadAs(ctx, db.base, actor, func(tx *domain.Tx) (T, error) { return fn(In(tx)) })
}
