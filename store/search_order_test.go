package store

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
)

// names returns the names of the runs on a page of a search, and how many it has in all.
func names(t *testing.T, db *DB, actor Actor, experiment string, q IterationQuery) (names []string, total int) {
	t.Helper()
	l, err := db.Iterations(context.Background(), actor, experiment, q)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range l.Data {
		names = append(names, r.Name)
	}
	return names, l.Total
}

// An order that is remembered is the one that a search finds, on each page, until
// anything is written by any process.
func TestOrderIsRememberedUntilAWrite(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "t.db")
	db, err := Open(ctx, Options{Path: path, BcryptCost: 4, Exclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	e := newExperiment(t, db)
	var all []string
	for i := range 30 {
		name := fmt.Sprintf("r%02d", i)
		runWith(t, db, e, name, nil, map[string][]float64{"loss": {float64(i * 7 % 30)}})
		all = append(all, name)
	}
	slices.SortFunc(all, func(a, b string) int {
		loss := func(name string) (n int) { fmt.Sscanf(name, "r%d", &n); return n * 7 % 30 }
		return loss(b) - loss(a)
	})
	search := IterationQuery{Filter: "metric.loss >= 0", Sort: "-metric.loss"}
	check := func(want []string) {
		t.Helper()
		for _, limit := range []int{1, 7, 30, 50} {
			for offset := 0; offset < 40; offset += limit {
				search.Page = Page{Limit: limit, Offset: offset}
				got, total := names(t, db, System, e, search)
				if !slices.Equal(got, want[min(offset, len(want)):min(offset+limit, len(want))]) || total != len(want) {
					t.Fatalf("%d from %d are %v of %d, want those of %v", limit, offset, got, total, want)
				}
			}
		}
	}
	check(all)
	if db.orders.Len() == 0 {
		t.Error("nothing is remembered")
	}
	check(all)
	runWith(t, db, e, "best", nil, map[string][]float64{"loss": {1000}})
	check(slices.Concat([]string{"best"}, all))

	other, err := Open(ctx, Options{Path: path, BcryptCost: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	runWith(t, other, e, "better", nil, map[string][]float64{"loss": {2000}})
	check(slices.Concat([]string{"better", "best"}, all))
}

// What is remembered is shown to nobody who may not read it.
func TestRememberedOrderNeedsRead(t *testing.T) {
	ctx := context.Background()
	db, err := Open(ctx, Options{Path: filepath.Join(t.TempDir(), "t.db"), BcryptCost: 4, Exclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	e := newExperiment(t, db)
	runWith(t, db, e, "a", nil, map[string][]float64{"loss": {1}})
	search := IterationQuery{Sort: "metric.loss", Page: FirstPage}
	names(t, db, System, e, search)
	if _, err := db.Iterations(ctx, Actor{UserID: "nobody"}, e, search); err == nil {
		t.Error("a stranger gets the remembered order")
	}
}
