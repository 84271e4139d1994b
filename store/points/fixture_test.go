package points

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tracker/store/sqlite"
)

var (
	ctx     = context.Background()
	errTest = errors.New("a failure of the test's own")
)

// A migration calls this function of store/wandb, which these tests can't import. They have no W&B runs.
func init() { sqlite.RegisterText("wandb_summary_texts", func(string) string { return "{}" }) }

// bed is an open engine with the iterations 1 and 2.
type bed struct {
	*Engine
	path    string
	changes []change // calls of OnChange
}

type change struct {
	iteration int64
	key       string
	last      *Step
}

// newBed opens a new file. exclusive opens it as a server does, with the lock.
func newBed(t testing.TB, exclusive bool) *bed {
	t.Helper()
	b := openBed(t, filepath.Join(t.TempDir(), "points.db"), exclusive)
	wantOK(t, b.db.Write(ctx, sqlite.Change, func(tx *sqlite.Tx) error {
		for _, query := range []string{
			`INSERT INTO project (id, name, created_date) VALUES ('p', 'p', 1)`,
			`INSERT INTO experiment (id, project_id, name, status, created_date) VALUES ('e', 'p', 'e', 'IN_PROGRESS', 1)`,
			`INSERT INTO iteration (num, id, experiment_id, name, status, created_date, last_seen)
				VALUES (1, 'a', 'e', 'a', 'RUNNING', 1, 1), (2, 'b', 'e', 'b', 'RUNNING', 1, 1)`,
		} {
			if _, err := tx.Exec(query); err != nil {
				return err
			}
		}
		return nil
	}))
	return b
}

func openBed(t testing.TB, path string, exclusive bool) *bed {
	t.Helper()
	b := &bed{path: path}
	b.Engine = New(Options{Logger: slog.New(slog.DiscardHandler), OnChange: func(_ *sqlite.Tx, iteration int64, key string, last *Step) error {
		b.changes = append(b.changes, change{iteration, key, last})
		return nil
	}})
	db, err := sqlite.Open(ctx, sqlite.Options{
		Path:         path,
		Schema:       sqlite.Schema{Application: "test", ID: 77, Migrations: os.DirFS("../migrations")},
		Exclusive:    exclusive,
		Now:          func() time.Time { return time.UnixMilli(1_790_000_000_000) },
		Participants: []sqlite.Participant{b.Participant()},
	})
	wantOK(t, err)
	t.Cleanup(func() { wantOK(t, db.Close()) })
	wantOK(t, b.Open(ctx, db))
	return b
}

// write runs fn in the writer.
func (b *bed) write(kind sqlite.Kind, fn func(*Tx) error) error {
	return b.db.Write(ctx, kind, func(tx *sqlite.Tx) error { return fn(b.In(tx)) })
}

// read runs fn on a snapshot.
func (b *bed) read(t testing.TB, fn func(*Tx) error) {
	t.Helper()
	wantOK(t, b.db.Read(ctx, func(tx *sqlite.Tx) error { return fn(b.In(tx)) }))
}

// append adds samples to iteration 1 and returns their ids.
func (b *bed) append(t testing.TB, samples ...Sample) (ids []string) {
	t.Helper()
	wantOK(t, b.write(sqlite.Append, func(tx *Tx) (err error) {
		ids, err = tx.Append(1, samples, 0)
		return err
	}))
	return ids
}

// list returns all points of iteration 1.
func (b *bed) list(t testing.TB) (all []Point) {
	t.Helper()
	b.read(t, func(tx *Tx) error {
		for {
			page, total, err := tx.List(1, nil, 100, len(all))
			if all = append(all, page...); err != nil || len(page) == 0 {
				if err == nil && len(all) != total {
					t.Errorf("%d points are listed of %d", len(all), total)
				}
				return err
			}
		}
	})
	return all
}

func (b *bed) wantClean(t testing.TB) {
	t.Helper()
	b.read(t, func(tx *Tx) error {
		var c Check
		problems, err := c.Series(tx, math.MaxInt64)
		if err == nil {
			var rest []Problem
			rest, err = c.Rest(tx)
			problems = append(problems, rest...)
		}
		for _, p := range problems {
			t.Error(p.Text)
		}
		return err
	})
}

func sample(key string, step int64, value float64) Sample {
	return Sample{Key: key, Step: new(Step(step)), Value: Value(value), RecordedAt: new(Time(step))}
}

func wantOK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func sameFloat(a, b Value) bool {
	return a == b || math.IsNaN(float64(a)) && math.IsNaN(float64(b))
}

// rows returns the number of rows in a table.
func (b *bed) rows(t testing.TB, table string) (n int) {
	t.Helper()
	b.read(t, func(tx *Tx) error { return tx.Row(`SELECT count(*) FROM ` + table).Scan(&n) })
	return n
}
