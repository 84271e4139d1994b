// Package storetest opens test databases with a few records and a settable clock. The tests of
// package store and its subpackages use it.
package storetest

import (
	"context"
	"database/sql"
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

// Clock is a clock that moves only when the test calls Add.
type Clock struct{ ms atomic.Int64 }

// NewClock returns a clock set to 09:30 UTC on 21 November 2026.
func NewClock() *Clock {
	c := &Clock{}
	c.ms.Store(time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC).UnixMilli())
	return c
}

// Now and Time return the current time of the clock. Add moves the clock forward.
func (c *Clock) Now() time.Time      { return time.UnixMilli(c.ms.Load()) }
func (c *Clock) Add(d time.Duration) { c.ms.Add(d.Milliseconds()) }
func (c *Clock) Time() scalar.Time   { return scalar.Time(c.ms.Load()) }

// Bed is an open test database with a project, an experiment and an iteration.
type Bed struct {
	*store.DB
	Clock      *Clock
	Project    string // Project, Experiment and Iteration are record ids
	Experiment string
	Iteration  string
}

// New opens a new database in a temporary folder, with the lock of a server.
func New(t testing.TB) *Bed {
	t.Helper()
	return NewWith(t, store.Options{Exclusive: true})
}

// NewPlain is New without the lock, as for a command. Points are written directly to the metric
// table, and the statistics of the series are updated.
func NewPlain(t testing.TB) *Bed {
	t.Helper()
	return NewWith(t, store.Options{})
}

// NewWith is New with the given options. It replaces unset options with values for tests.
func NewWith(t testing.TB, o store.Options) *Bed {
	t.Helper()
	b := &Bed{Clock: NewClock()}
	if o.Now == nil {
		o.Now = b.Clock.Now
	}
	b.DB = Open(t, o)
	b.Project = Must(b.Projects.CreateProject(ctx, domain.System, domain.NewProject{Name: "project"}))(t).ID
	b.Experiment = Must(b.Projects.CreateExperiment(ctx, domain.System, b.Project, projects.NewExperiment{Name: "experiment"}))(t).ID
	b.Iteration = b.NewIteration(t)
	return b
}

// NewIteration creates an iteration in b.Experiment and returns its id.
func (b *Bed) NewIteration(t testing.TB) string {
	t.Helper()
	return Must(b.Runs.CreateIteration(ctx, domain.System, b.Experiment, runs.NewIteration{}))(t).ID
}

// Log writes a point to b.Iteration and returns the point's id.
func (b *Bed) Log(t testing.TB, key string, step int64, value float64) string {
	t.Helper()
	return Must(b.Runs.CreateMetric(ctx, domain.System, b.Iteration, Point(key, step, value)))(t).ID
}

// Point returns a point of a metric.
func Point(key string, step int64, value float64) points.Sample {
	return points.Sample{Key: key, Step: new(scalar.Step(step)), Value: scalar.Value(value)}
}

// PointsOf returns all points of an iteration, in the order of View.Runs.Metrics.
func PointsOf(t testing.TB, db *store.DB, iteration string, key *string) []runs.Metric {
	t.Helper()
	var all []runs.Metric
	for {
		l := Must(db.Runs.Metrics(ctx, domain.System, iteration, runs.MetricQuery{
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

// Open opens a database and closes it at the end of the test. If o.Path is "", Open creates a
// database in a temporary folder.
func Open(t testing.TB, o store.Options) *store.DB {
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

// Raw opens a database file as another program would, without foreign key checks.
func Raw(t testing.TB, path string) *sql.DB {
	t.Helper()
	db := Must(sql.Open("sqlite", sqlite.DSN(path)))(t)
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`PRAGMA foreign_keys = 0`); err != nil {
		db.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// Exec runs an SQL statement.
func Exec(t testing.TB, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// Ask returns the single value that an SQL query selects.
func Ask[T any](t testing.TB, db *sql.DB, query string, args ...any) (v T) {
	t.Helper()
	if err := db.QueryRow(query, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

// Must returns a function that returns v, or ends the test if err is not nil. Usage:
// Must(f())(t).
func Must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// WantOK ends the test if err is not nil.
func WantOK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// WantCode ends the test if the code of err is not the given code.
func WantCode(t testing.TB, err error, code domain.Code) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s", code)
	}
	if e := domain.AsError(err); e.Code != code {
		t.Fatalf("%s (%v), want %s", e.Code, err, code)
	}
}

// WantClean reports a test error for each problem that Check finds.
func WantClean(t testing.TB, db *store.DB) {
	t.Helper()
	for _, p := range Must(db.Check(ctx, false))(t) {
		t.Errorf("check: %s", p.Text)
	}
}

// CodeOf returns the code of err, or "" if err is nil.
func CodeOf(err error) domain.Code {
	if err == nil {
		return ""
	}
	return domain.AsError(err).Code
}

// SameFloat reports whether two numbers are equal. NaN equals NaN, and -0 equals 0.
func SameFloat(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
