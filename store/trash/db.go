// Package trash lists, restores and purges deleted records.
//
// The deletion of a record sets a date in one row, regardless of the record's contents. Restore
// clears the date. Purge deletes the record and its contents permanently. Purge uses short
// transactions, so that other writers need not wait. PurgeExpired purges records that are older
// than a limit.
package trash

import (
	"context"

	"tracker/store/domain"
	"tracker/store/files"
)

// DB has the methods that open their own transactions.
type DB struct {
	base  *domain.DB
	files *files.DB
}

// New returns a DB for the trash in base.
func New(base *domain.DB, files *files.DB) *DB { return &DB{base, files} }

// View has the methods that read one snapshot. Each method uses the actor of tx.
type View struct{ tx *domain.Tx }

// In returns a View of the trash that is visible in tx.
func In(tx *domain.Tx) *View { return &View{tx} }

// view calls fn with a View of a new snapshot.
func view[T any](ctx context.Context, db *DB, actor domain.Actor, fn func(*View) (T, error)) (T, error) {
	return domain.ReadAs(ctx, db.base, actor, func(tx *domain.Tx) (T, error) { return fn(In(tx)) })
}
