package points

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"tracker/store/sqlite"
)

// A check in parts finds the same problems as a check in one transaction, each of them once. Each
// part reads at most its limit plus the points of one series.
func TestCheckSeriesInParts(t *testing.T) {
	b := newBed(t, true)
	var all []Sample
	for i := range 40 {
		for step := range int64(i%7 + 1) {
			all = append(all, sample(fmt.Sprint("key ", i), step, 1))
		}
	}
	b.append(t, all...)
	wantOK(t, b.write(sqlite.Change, func(tx *Tx) error {
		_, err := tx.Exec(`UPDATE series SET sum = sum + 1 WHERE id % 3 = 0`)
		return err
	}))
	for _, limit := range []int64{1, 10, 1 << 40} {
		var texts []string
		parts := 0
		for c := new(Check); !c.Done; parts++ {
			b.read(t, func(tx *Tx) error {
				before := c.last
				found, err := c.Series(tx, limit)
				for _, p := range found {
					texts = append(texts, p.Text)
				}
				if !c.Done && c.last <= before {
					t.Fatalf("it goes from series %d to %d", before, c.last)
				}
				return err
			})
		}
		wrong := len(texts)
		slices.Sort(texts)
		if unique := len(slices.Compact(texts)); unique != wrong || wrong != 13 {
			t.Errorf("limit %d: %d problems, %d of them different, want 13", limit, wrong, unique)
		}
		if want := map[int64]int{1: 41, 1 << 40: 1}[limit]; want > 0 && parts != want {
			t.Errorf("limit %d: %d parts, want %d", limit, parts, want)
		}
	}
}

// checkPages returns how many pages of the file each part of a check reads.
func (b *bed) checkPages(t testing.TB, limit int64) (series []int64, rest int64) {
	t.Helper()
	// part runs fn on a snapshot and returns the number of pages that it read.
	part := func(fn func(*Tx) ([]Problem, error)) (pages int64) {
		b.read(t, func(tx *Tx) error {
			before, err := tx.PageReads()
			if err != nil {
				return err
			}
			found, err := fn(tx)
			for _, p := range found {
				t.Error(p.Text)
			}
			if err != nil {
				return err
			}
			after, err := tx.PageReads()
			pages = after - before
			return err
		})
		return pages
	}
	var c Check
	for !c.Done {
		series = append(series, part(func(tx *Tx) ([]Problem, error) { return c.Series(tx, limit) }))
	}
	return series, part(c.Rest)
}

// The work of a check is linear in the size of the file, even while the points are in the recent
// table, and even in a process without a head.
func TestCheckWorkIsLinear(t *testing.T) {
	for _, exclusive := range []bool{true, false} {
		var before int64
		for _, series := range []int{200, 400, 800} {
			b := newBed(t, true)
			for step := range int64(5) {
				var all []Sample
				for i := range series {
					all = append(all, sample(fmt.Sprint("key ", i), step, 1))
				}
				b.append(t, all...)
			}
			if n := b.rows(t, "recent"); n != 5*series {
				t.Fatalf("%d points are in table recent, want %d", n, 5*series)
			}
			if !exclusive {
				b = openBed(t, b.path, false)
			}
			parts, rest := b.checkPages(t, 1<<40)
			pages := rest
			for _, n := range parts {
				pages += n
			}
			if before > 0 && pages > 3*before {
				t.Errorf("exclusive %t: %d pages are read for %d series, %d for half of them", exclusive, pages, series, before)
			}
			before = pages
		}
	}
}

// One transaction of a check reads few pages of a file with many points, so that the
// write-ahead log can be reset after it.
func TestCheckTransactionsAreShort(t *testing.T) {
	const series, steps, limit = 50, 2000, 3000
	b := newBed(t, true)
	for i := range series {
		var all []Sample
		for step := range int64(steps) {
			all = append(all, sample(fmt.Sprint("key ", i), step, float64(step%7)))
		}
		b.append(t, all...)
	}
	parts, rest := b.checkPages(t, limit)
	if len(parts) < series*steps/(limit+steps) {
		t.Errorf("%d parts check %d points", len(parts), series*steps)
	}
	const most = limit + steps // less than one page per point, even though points are read several times
	for i, pages := range append(parts, rest) {
		if pages > most {
			t.Errorf("part %d of %d reads %d pages, more than %d", i, len(parts), pages, most)
		}
	}
}

// The write-ahead log stays small when a file is written to during a check.
func TestCheckLetsTheLogBeReset(t *testing.T) {
	b := newBed(t, true)
	const series, steps = 60, 1000
	bulk := func(key string, value float64) {
		var all []Sample
		for step := range int64(steps) {
			all = append(all, sample(key, step, value))
		}
		b.append(t, all...)
	}
	for i := range series {
		bulk(fmt.Sprint("key ", i), 1)
	}
	written, largest := int64(0), int64(0)
	write := func(i int) { // while the snapshot of the check is open
		bulk(fmt.Sprint("other ", i), float64(i))
		info, err := os.Stat(b.path + "-wal")
		wantOK(t, err)
		largest = max(largest, info.Size())
		written += steps * 30
	}
	var c Check
	for i := range 2 * series {
		b.read(t, func(tx *Tx) error {
			_, err := c.Series(tx, steps/2)
			for n := range 5 {
				write(5*i + n)
			}
			return err
		})
		wantOK(t, b.db.Checkpoint(ctx))
	}
	if largest > written/4 {
		t.Errorf("the log grew to %d bytes while %d bytes of points were written", largest, written)
	}
}
