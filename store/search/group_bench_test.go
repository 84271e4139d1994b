package search_test

import (
	"context"
	"testing"
	"time"

	"tracker/store/domain"
	"tracker/store/runs"
	"tracker/store/search"
	"tracker/store/storetest"
)

// BenchmarkGroups reads 50 groups of 10,000 iterations with the spread of three metrics. It
// measures one group for each iteration and a single group, both also sorted by a mean.
func BenchmarkGroups(b *testing.B) {
	db := openForTest(b)
	experimentID := fill(b, db, 10_000, 20, 100)
	const columns = "metric.train/metric_0010, metric.train/metric_0011.min, metric.train/metric_0012.max"
	for _, key := range []string{"train/metric_0010", "train/metric_0011", "train/metric_0012"} {
		if err := db.Base().Copies.Copy(search.Metric{ExperimentID: experimentID, Key: key}); err != nil {
			b.Fatal(err)
		}
	}
	for name, q := range map[string]runs.GroupQuery{
		"many":   {By: "param.param_00", Columns: columns},
		"one":    {By: "param.none", Columns: columns},
		"sorted": {By: "param.param_00", Columns: columns, Sort: "-metric.train/metric_0012.max"},
		"plain":  {By: "tag"},
	} {
		q.Page = domain.FirstPage
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				start := time.Now()
				l, err := storetest.Groups(context.Background(), db, domain.System, experimentID, q)
				if err != nil || len(l.Data) == 0 {
					b.Fatal(len(l.Data), err)
				}
				took = append(took, time.Since(start))
			}
			reportMedian(b, took)
		})
	}
}
