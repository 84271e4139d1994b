package sqlite_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tracker/store/sqlite"
)

// TestShortReadsHaveConnectionsOfTheirOwn runs short reads while all connections that Read uses
// are busy.
func TestShortReadsHaveConnectionsOfTheirOwn(t *testing.T) {
	db := open(t, sqlite.Options{})
	held, release := make(chan struct{}), make(chan struct{})
	results := make(chan error)
	for range db.MaxReaders() {
		go func() {
			results <- db.Read(ctx, func(*sqlite.Tx) error {
				held <- struct{}{}
				<-release
				return nil
			})
		}()
		<-held
	}
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	// Run more reads than there are connections, because each connection must be returned to its
	// own pool.
	for range 10 {
		wantOK(t, db.ReadShort(limited, func(tx *sqlite.Tx) error {
			var n int
			return tx.Row(`SELECT count(*) FROM note`).Scan(&n)
		}))
	}
	wantOK(t, db.Ping(limited))
	cancel()
	if err := db.Read(limited, func(*sqlite.Tx) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("a read runs without a connection: %v", err)
	}
	close(release)
	for range db.MaxReaders() {
		wantOK(t, <-results)
	}
}

func TestTxWithContext(t *testing.T) {
	db := open(t, sqlite.Options{})
	wantOK(t, db.Write(ctx, sqlite.Change, add("a")))
	ended, cancel := context.WithCancel(ctx)
	cancel()
	wantOK(t, db.Read(ctx, func(tx *sqlite.Tx) error {
		var before, after int
		wantOK(t, tx.Row(`SELECT count(*) FROM note`).Scan(&before))
		if err := tx.WithContext(ended).Row(`SELECT count(*) FROM note`).Scan(&after); !errors.Is(err, context.Canceled) {
			t.Errorf("a statement of a context that has ended: %v", err)
		}
		wantOK(t, db.Write(ctx, sqlite.Change, add("b")))
		wantOK(t, tx.Row(`SELECT count(*) FROM note`).Scan(&after))
		if before != 1 || after != 1 {
			t.Errorf("the snapshot has %d notes, then %d", before, after)
		}
		return nil
	}))
}

func init() { sqlite.RegisterPredicate("test_has_prefix", strings.HasPrefix) }

func TestPredicate(t *testing.T) {
	db := open(t, sqlite.Options{})
	for sql, want := range map[string]string{
		`test_has_prefix('note', 'no')`:                                 "1",
		`test_has_prefix('note', 'x')`:                                  "0",
		`test_has_prefix('', '')`:                                       "1",
		`test_has_prefix('a' || char(0) || 'b', 'a' || char(0) || 'x')`: "0",
		`test_has_prefix('é', 'é')`:                                     "1",
		`test_has_prefix(NULL, 'a')`:                                    "none",
		`test_has_prefix('a', NULL)`:                                    "none",
		`test_has_prefix(1, 'a')`:                                       "none",
	} {
		wantOK(t, db.Read(ctx, func(tx *sqlite.Tx) error {
			var got string
			err := tx.Row(`SELECT coalesce(` + sql + `, 'none')`).Scan(&got)
			if err == nil && got != want {
				t.Errorf("%s is %s, want %s", sql, got, want)
			}
			return err
		}))
	}
}

func TestEachRow(t *testing.T) {
	db := open(t, sqlite.Options{})
	wantOK(t, db.Write(ctx, sqlite.Change, add("a")))
	wantOK(t, db.Write(ctx, sqlite.Change, add("b")))
	const query = `SELECT id, text, id / 2.0, NULL FROM note WHERE id >= ? ORDER BY id`
	wantOK(t, db.Read(ctx, func(tx *sqlite.Tx) error {
		for range 2 { // the second time the query is already prepared
			var got []string
			err := tx.EachRow(query, func(row []driver.Value) error {
				got = append(got, fmt.Sprintf("%T %T %T %v %v", row[0], row[1], row[2], row[3], row[:3]))
				return nil
			}, int64(1))
			if want := []string{"int64 string float64 <nil> [1 a 0.5]", "int64 string float64 <nil> [2 b 1]"}; err != nil || !slices.Equal(got, want) {
				t.Errorf("got %q (%v), want %q", got, err, want)
			}
		}
		rows := 0
		err := tx.EachRow(query, func([]driver.Value) error { rows++; return errTest }, int64(1))
		if !errors.Is(err, errTest) || rows != 1 {
			t.Errorf("%d rows and %v after an error with the first", rows, err)
		}
		limited, cancel := context.WithCancel(ctx)
		rows = 0
		err = tx.WithContext(limited).EachRow(query, func([]driver.Value) error { rows++; cancel(); return nil }, int64(1))
		if !errors.Is(err, context.Canceled) || rows != 1 {
			t.Errorf("%d rows and %v after the end of the context", rows, err)
		}
		if err := tx.EachRow(`SELECT nothing`, nil); err == nil {
			t.Error("a query that is wrong runs")
		}
		return nil
	}))
}
