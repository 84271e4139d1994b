package points

import (
	"errors"
	"slices"
	"testing"

	"tracker/store/sqlite"
)

// recentKeys returns the keys whose rows may lack points and the keys whose rows lack
// points.
func (b *bed) recentKeys(t testing.TB, keys ...string) (recent, late []string) {
	t.Helper()
	b.read(t, func(tx *Tx) error {
		all, err := tx.Recent(keys)
		if err != nil {
			return err
		}
		for _, s := range all {
			recent = append(recent, s.Key)
		}
		found, err := tx.Late(all)
		for _, s := range found {
			late = append(late, s.Key)
		}
		return err
	})
	slices.Sort(recent)
	slices.Sort(late)
	return recent, late
}

// A series whose row was written together with all of its points is not late, so a search does
// not read the series itself, however many such series exist.
func TestRowsOfNewSeriesAreNotLate(t *testing.T) {
	b := newBed(t, true)
	b.append(t, sample("a", 0, 1), sample("a", 1, 2), sample("b", 0, 1))
	want := func(when string, keys ...string) {
		t.Helper()
		recent, late := b.recentKeys(t, "a", "b", "c")
		if !slices.Equal(recent, keys) || !slices.Equal(late, keys) {
			t.Errorf("%s: the rows of %q are read, and those of %q are late; want %q", when, recent, late, keys)
		}
	}
	want("new")
	b.append(t, sample("a", 2, 3), sample("c", 0, 1))
	want("one more point", "a")
	head := b.Engine.head
	b.read(t, func(tx *Tx) (err error) {
		b.Engine.head, err = loadHead(tx.Tx)
		return err
	})
	want("loaded again", "a")
	b.Engine.head = head
	wantOK(t, b.Compact(ctx))
	want("compacted")
	b.append(t, sample("b", 1, 2))
	want("a point after the compaction", "b")
}

// The id of a series whose transaction failed is reused by the next series. That series has none of
// the failed points.
func TestSeriesAfterAFailedTransaction(t *testing.T) {
	b := newBed(t, true)
	err := b.write(sqlite.Append, func(tx *Tx) error {
		return errors.Join(tx.AppendAll(1, []Sample{sample("lost", 0, 1), sample("lost", 1, 1)}, 0), tx.engine.open.Flush(tx.Tx, sqlite.BeforeCommit), errTest)
	})
	if !errors.Is(err, errTest) {
		t.Fatal(err)
	}
	b.append(t, sample("kept", 0, 1))
	b.append(t, sample("kept", 1, 2))
	if _, late := b.recentKeys(t, "kept"); !slices.Equal(late, []string{"kept"}) {
		t.Errorf("the rows of %q are late", late)
	}
	b.wantClean(t)
}
