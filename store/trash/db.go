// Package trash lists what was deleted, restores it, and purges it for good.
//
// A deletion sets a date on one row, whatever that record holds. Restore clears the date.
// Purge deletes the record with all that it holds, in transactions that are short enough for
// other writers. PurgeExpired does so for the records that are older than a limit.
package trash

import (
	"context"

	"tracker/store/domain"
	"tracker/store/files"
)

// DB has the methods that take transactions of their own.
type DB struct {
	base  *domain.DB
	files *files.DB
}

// New returns the trash of a database.
func New(base *domain.DB, files *files.DB) *DB { return &DB{base, files} }

// View has the methods that read one snapshot, for the actor of its transaction.
type View struct{ tx *domain.Tx }

// In returns the trash that a transaction sees.
func In(tx *domain.Tx) *View { return &View{tx} }

// view runs fn on a view of its own.
func view[T any](ctx context.Context, db *DB, actor domain.Actor, fn func(*View) (T, error)) (T, error) {
	return domain.ReadAs(ctx, db.base, actor, func(tx *domain.Tx) (T, error) { return fn(In(tx)) })
}
