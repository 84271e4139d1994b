// Package trash lists, restores and purges deleted records.
//
// Deleting a record sets a date in one row, however many records it contains. Restore clears the
// date. Purge permanently deletes the record and all records in it. It uses short transactions,
// so that other writers need not wait long. PurgeExpired purges records that have been in the
// trash longer than a limit.
package trash

import (
	"context"

	"tracker/store/domain"
	"tracker/store/files"
)

// DB lists, restores and purges records. Its methods run their own transactions.
type DB struct {
	base  *domain.DB
	files *files.DB
}

// New returns a DB for the trash in base.
func New(base *domain.DB, files *files.DB) *DB { return &DB{base, files} }

// View reads the trash in one transaction. It checks the rights of the actor tx.Actor.
type View struct{ tx *domain.Tx }

// In returns a View of the trash that is visible in tx.
func In(tx *domain.Tx) *View { return &View{tx} }

// view calls fn with a View of a new snapshot.
func view[T any](ctx context.Context, db *DB, actor domain.Actor, fn func(*View) (T, error)) (T, error) {
	return domain.ReadAs(ctx, db.base, actor, func(tx *domain.Tx) (T, error) { return fn(In(tx)) })
}
