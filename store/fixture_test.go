package store_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"tracker/store"
	"tracker/store/files"
	"tracker/store/storetest"
)

// Short names for package storetest.
var (
	ctx        = context.Background()
	newClock   = storetest.NewClock
	open       = storetest.Open
	raw        = storetest.Raw
	execSQL    = storetest.Exec
	point      = storetest.Point
	pointsOf   = storetest.PointsOf
	sameFloat  = storetest.SameFloat
	wantOK     = storetest.WantOK
	wantCode   = storetest.WantCode
	wantClean  = storetest.WantClean
	codeOf     = storetest.CodeOf
	hold       = storetest.Hold
	queue      = storetest.Queue
	copyFiles  = storetest.CopyFiles
	hasProblem = storetest.HasProblem
	tables     = storetest.Tables
	countRows  = storetest.CountRows
)

func must[T any](v T, err error) func(testing.TB) T { return storetest.Must(v, err) }

func ask[T any](t testing.TB, db *sql.DB, query string, args ...any) T {
	t.Helper()
	return storetest.Ask[T](t, db, query, args...)
}

// bed is a storetest.Bed with short names for its fields.
type bed struct {
	*storetest.Bed
	clock                          *clock
	project, experiment, iteration string
}

func newBed(t testing.TB) *bed      { return newBedWith(t, store.Options{Exclusive: true}) }
func newPlainBed(t testing.TB) *bed { return newBedWith(t, store.Options{}) }

func newBedWith(t testing.TB, o store.Options) *bed {
	t.Helper()
	b := storetest.NewWith(t, o)
	return &bed{b, b.Clock, b.Project, b.Experiment, b.Iteration}
}

func (b *bed) newIteration(t testing.TB) string { return b.NewIteration(t) }

func (b *bed) log(t testing.TB, key string, step int64, value float64) string {
	return b.Log(t, key, step, value)
}

func (b *bed) keep(t testing.TB, experiment string, n files.NewArtifact, content string) string {
	return b.Keep(t, experiment, n, content)
}

type (
	clock   = storetest.Clock
	commits = storetest.Commits
)

var errTest = errors.New("a failure of the test's own")
