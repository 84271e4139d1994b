package files_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"tracker/store/storetest"
)

// These are short names for functions of package storetest.
var (
	ctx        = context.Background()
	newBedWith = storetest.NewWith
	newClock   = storetest.NewClock
	open       = storetest.Open
	raw        = storetest.Raw
	execSQL    = storetest.Exec
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

var errTest = errors.New("a failure of the test's own")
