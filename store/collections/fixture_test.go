package collections_test

import (
	"context"
	"database/sql"
	"testing"

	"tracker/store"
	"tracker/store/projects"
	"tracker/store/storetest"
)

// Short names for functions of package storetest.
var (
	ctx       = context.Background()
	newModel  = storetest.NewModel
	raw       = storetest.Raw
	wantOK    = storetest.WantOK
	wantCode  = storetest.WantCode
	wantClean = storetest.WantClean
)

// bed is a storetest.Bed with methods for the tests of this package.
type bed struct{ *storetest.Bed }

func newBed(t testing.TB) *bed { return &bed{storetest.New(t)} }

func newBedWith(t testing.TB, o store.Options) *bed { return &bed{storetest.NewWith(t, o)} }

func must[T any](v T, err error) func(testing.TB) T { return storetest.Must(v, err) }

func ask[T any](t testing.TB, db *sql.DB, query string, args ...any) T {
	t.Helper()
	return storetest.Ask[T](t, db, query, args...)
}

type storeView = store.View

func newExperiment(name string) projects.NewExperiment { return projects.NewExperiment{Name: name} }
