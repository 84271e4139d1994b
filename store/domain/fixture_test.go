package domain_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"testing"

	"tracker/store/storetest"
)

// Short names for package storetest.
var (
	ctx         = context.Background()
	newBed      = storetest.New
	newPlainBed = storetest.NewPlain
	newModel    = storetest.NewModel
	raw         = storetest.Raw
	execSQL     = storetest.Exec
	pointsOf    = storetest.PointsOf
	hold        = storetest.Hold
	queue       = storetest.Queue
	wantOK      = storetest.WantOK
	wantCode    = storetest.WantCode
	wantClean   = storetest.WantClean
)

func must[T any](v T, err error) func(testing.TB) T { return storetest.Must(v, err) }

func ask[T any](t testing.TB, db *sql.DB, query string, args ...any) T {
	t.Helper()
	return storetest.Ask[T](t, db, query, args...)
}

func hash(body string) []byte {
	h := sha256.Sum256([]byte(body))
	return h[:]
}
