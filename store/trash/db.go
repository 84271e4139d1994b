// Package trash lists deleted records, restores them, and purges them permanently.
//
// Deleting a record sets a date in one row, regardless of the contents of the record. Restore
// clears the date. Purge deletes the record and its contents, in transactions that are short
// enough for other writers. PurgeExpired purges the records that are older than a limit.
package trash

import (
	"context"

	"tracker/store/domain"
	"tracker/store/files"
)

// DB has the methods that start their own transactions.
type DB struct {
	base  *domain.DB
	files *files.DB
}

// New returns the methods for the trash of a database.
func New(base *domain.DB, files *files.DB) *DB { return &DB{base, files} }

// View has the methods that read one snapshot. They act for the actor of its transaction.
type View struct{ tx *domain.Tx }

// In returns a view of the trash in a transaction.
func In(tx *domain.Tx) *View { return &View{tx} }

// view calls fn with a view of a new snapshot.
func view[T any](ctx context.Context, db *DB, actor domain.Actor, fn func(*View) (T, error)) (T, error) {
	return domain.ReadAs(ctx, db.base, actor, func(tx *domain.Tx) (T, error) { return fn(In(tx)) })
}
