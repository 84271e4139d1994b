package projects_test

import (
	"context"
	"database/sql"
	"testing"

	"tracker/store/storetest"
)

// Short names for package storetest.
var (
	ctx        = context.Background()
	newBed     = storetest.New
	newBedWith = storetest.NewWith
	raw        = storetest.Raw
	wantOK     = storetest.WantOK
	wantCode   = storetest.WantCode
)

func must[T any](v T, err error) func(testing.TB) T { return storetest.Must(v, err) }

func ask[T any](t testing.TB, db *sql.DB, query string, args ...any) T {
	t.Helper()
	return storetest.Ask[T](t, db, query, args...)
}
