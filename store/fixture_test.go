package store_test

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

var ctx = context.Background()

// clock is a clock that the test sets.
type clock struct{ ms atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.ms.Store(time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC).UnixMilli())
	return c
}

func (c *clock) Now() time.Time      { return time.UnixMilli(c.ms.Load()) }
func (c *clock) Add(d time.Duration) { c.ms.Add(d.Milliseconds()) }
func (c *clock) Time() scalar.Time   { return scalar.Time(c.ms.Load()) }

// bed is an open database with a project, an experiment and an iteration.
type bed struct {
	*store.DB
	clock      *clock
	project    string
	experiment string
	iteration  string
}

func newBed(t testing.TB) *bed {
	t.Helper()
	return newBedWith(t, store.Options{Exclusive: true})
}

// newPlainBed is newBed without the lock, like a command: points are written to table metric at
// once, with the statistics of their series.
func newPlainBed(t testing.TB) *bed {
	t.Helper()
	return newBedWith(t, store.Options{})
}

// newBedWith is newBed with options. Zero options get values that suit a test.
func newBedWith(t testing.TB, o store.Options) *bed {
	t.Helper()
	b := &bed{clock: newClock()}
	if o.Now == nil {
		o.Now = b.clock.Now
	}
	b.DB = open(t, o)
	b.project = must(b.Projects.CreateProject(ctx, domain.System, domain.NewProject{Name: "project"}))(t).ID
	b.experiment = must(b.Projects.CreateExperiment(ctx, domain.System, b.project, projects.NewExperiment{Name: "experiment"}))(t).ID
	b.iteration = b.newIteration(t)
	return b
}

func (b *bed) newIteration(t testing.TB) string {
	t.Helper()
	return must(b.Runs.CreateIteration(ctx, domain.System, b.experiment, runs.NewIteration{}))(t).ID
}

// log writes a point and returns its id.
func (b *bed) log(t testing.TB, key string, step int64, value float64) string {
	t.Helper()
	return must(b.Runs.CreateMetric(ctx, domain.System, b.iteration, point(key, step, value)))(t).ID
}

func point(key string, step int64, value float64) points.Sample {
	return points.Sample{Key: key, Step: new(scalar.Step(step)), Value: scalar.Value(value)}
}

// pointsOf returns all points of an iteration in the order of its listing.
func pointsOf(t testing.TB, db *store.DB, iteration string, key *string) []runs.Metric {
	t.Helper()
	var all []runs.Metric
	for {
		l := must(db.Runs.Metrics(ctx, domain.System, iteration, runs.MetricQuery{
			Page: domain.Page{Limit: domain.MaxLimit, Offset: len(all)}, Key: key}))(t)
		all = append(all, l.Data...)
		if len(l.Data) == 0 || len(all) >= l.Total {
			if len(all) != l.Total {
				t.Errorf("the listing has %d points and says %d", len(all), l.Total)
			}
			return all
		}
	}
}

// open opens a database, a new one if o has no path, and closes it at the end of the test.
func open(t testing.TB, o store.Options) *store.DB {
	t.Helper()
	if o.Path == "" {
		o.Path = filepath.Join(t.TempDir(), "tracker.db")
	}
	if o.BcryptCost == 0 {
		o.BcryptCost = 4
	}
	db, err := store.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("closing the database: %v", err)
		}
	})
	return db
}

// raw opens a file like another program, without foreign keys.
func raw(t testing.TB, path string) *sql.DB {
	t.Helper()
	db := must(sql.Open("sqlite", sqlite.DSN(path)))(t)
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`PRAGMA foreign_keys = 0`); err != nil {
		db.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func execSQL(t testing.TB, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// ask returns the single value of a query.
func ask[T any](t testing.TB, db *sql.DB, query string, args ...any) (v T) {
	t.Helper()
	if err := db.QueryRow(query, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

// must returns v, or ends the test if err is not nil: must(f())(t).
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func wantOK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t testing.TB, err error, code domain.Code) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s", code)
	}
	if e := domain.AsError(err); e.Code != code {
		t.Fatalf("%s (%v), want %s", e.Code, err, code)
	}
}

// wantClean checks that Check finds no problems.
func wantClean(t testing.TB, db *store.DB) {
	t.Helper()
	for _, p := range must(db.Check(ctx, false))(t) {
		t.Errorf("check: %s", p.Text)
	}
}

func codeOf(err error) domain.Code {
	if err == nil {
		return ""
	}
	return domain.AsError(err).Code
}

// sameFloat compares two numbers. NaN equals NaN, and both zeros are equal.
func sameFloat(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

var errTest = errors.New("a failure of the test's own")
