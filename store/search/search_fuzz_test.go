package search_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/runs"
	"tracker/store/sqlite"
)

// FuzzSearch checks that SQLite runs every search that the parser accepts.
func FuzzSearch(f *testing.F) {
	db := openForTest(f)
	e := newExperiment(f, db)
	runWith(f, db, e, "a", map[string]string{"lr": "0.1"}, map[string][]float64{"loss": {1, math.NaN()}})
	f.Add("param.lr = 0.1 and metric.loss.min < 1", "-metric.loss, name", "param.lr, metric.loss.max")
	f.Add("not (tag in ('a', \"b\") or metric.`a``b` != NaN)", "tag,-ended", "metric.`x.min`")
	f.Add("created >= '2026-11-21' and duration < '1h' or status = 'failed'", "duration", "")
	f.Add(`name contains 'é\u00e9%_*[' or param.x in (1, -2.5e3, 'x')`, "param.`x`", "param.`x`")
	f.Fuzz(func(t *testing.T, where, sort, columns string) {
		before := pageReads(t, db)
		defer func() {
			// The data of one run is in few pages, and each comparison reads some of them.
			if n, most := pageReads(t, db)-before, int64(2000+100*(len(where)+len(sort)+len(columns))); n > most {
				t.Errorf("filter %q, sort %q, columns %q: %d pages are read, want at most %d", where, sort, columns, n, most)
			}
		}()
		_, err := db.Runs.Iterations(context.Background(), domain.System, e, runs.IterationQuery{Page: domain.FirstPage, Filter: where, Sort: sort, Columns: columns})
		var refused *domain.Error
		if err != nil && (!errors.As(err, &refused) || refused.Code != domain.CodeInvalidPayload || !strings.Contains(refused.Message, "at character ")) {
			t.Errorf("filter %q, sort %q, columns %q: %v", where, sort, columns, err)
		}
	})
}

// pageReads returns the number of pages that the connection for the next read has read.
func pageReads(t *testing.T, db *store.DB) (n int64) {
	t.Helper()
	if err := db.Base().Kernel.Read(context.Background(), func(tx *sqlite.Tx) (err error) {
		n, err = tx.PageReads()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return n
}
