package trash_test

import (
	"context"
	"database/sql"
	"testing"

	"tracker/store/storetest"
)

// Short names for package storetest.
var (
	ctx        = context.Background()
	newBedWith = storetest.NewWith
	newModel   = storetest.NewModel
	fill       = storetest.Fill
	open       = storetest.Open
	raw        = storetest.Raw
	execSQL    = storetest.Exec
	point      = storetest.Point
	content    = storetest.Content
	wantOK     = storetest.WantOK
	wantCode   = storetest.WantCode
	wantClean  = storetest.WantClean
	codeOf     = storetest.CodeOf
)

type bed = storetest.Bed

func must[T any](v T, err error) func(testing.TB) T { return storetest.Must(v, err) }

func ask[T any](t testing.TB, db *sql.DB, query string, args ...any) T {
	t.Helper()
	return storetest.Ask[T](t, db, query, args...)
}
