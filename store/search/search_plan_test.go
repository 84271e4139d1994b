package search_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/filter"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/search"
)

// The late table is joined by an index. Scanning it for each iteration would take a second for
// some thousand runs.
func TestLateIsJoinedByAnIndex(t *testing.T) {
	ctx := context.Background()
	db, err := store.Open(ctx, store.Options{Path: filepath.Join(t.TempDir(), "t.db"), BcryptCost: 4, Exclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	e := newExperiment(t, db)
	runWith(t, db, e, "a", nil, map[string][]float64{"loss": {1}})
	found, err := db.Runs.Iterations(ctx, domain.System, e, runs.IterationQuery{Page: domain.FirstPage})
	if err != nil {
		t.Fatal(err)
	}
	// The row of the new series has the first point, but not the second.
	if _, err := db.Runs.CreateMetric(ctx, domain.System, found.Data[0].ID, points.Sample{Key: "loss"}); err != nil {
		t.Fatal(err)
	}
	plan, err := domain.Read(ctx, db.Base(), func(tx *domain.Tx) (plan []string, err error) {
		q := search.Query{Sort: []filter.SortKey{{Ref: filter.Ref{Key: filter.Key{Field: filter.Metric, Name: "loss"}, Stat: "last"}}},
			Metrics: []string{"loss"}, Where: domain.NotTrashed("iteration")}
		statement, err := runs.SearchSnapshot(tx).Statement([]string{e}, q)
		if err != nil {
			return nil, err
		}
		rows, err := tx.RowsOnce(`EXPLAIN QUERY PLAN `+statement.String()+` LIMIT 50`, statement.Args...)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		for rows.Next() {
			var id, parent, unused int
			var step string
			if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
				return nil, err
			}
			plan = append(plan, step)
		}
		return plan, rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(plan, "\n"); !strings.Contains(all, "SEARCH late USING AUTOMATIC COVERING INDEX (num=?)") {
		t.Errorf("the plan is\n%s", all)
	}
}
