package store_test

import (
	"testing"

	"tracker/store"
)

// BenchmarkCurves reads 20 curves of 100,000 points each, thinned out to 300,
// and as a comparison with every point.
func BenchmarkCurves(b *testing.B) {
	bed := newBed(b)
	const n = 100_000
	var ids []string
	for range 20 {
		id := bed.newIteration(b)
		all := make([]store.NewMetric, n)
		for i := range all {
			all[i] = point("loss", int64(i), float64(i*7919%1000))
			all[i].RecordedAt = new(store.Time(1_700_000_000_000 + 97*i))
		}
		wantOK(b, bed.CreateMetrics(ctx, store.System, id, all))
		ids = append(ids, id)
	}
	for _, c := range []struct {
		name   string
		points int
		x      store.Axis
	}{{"step", 300, store.ByStep}, {"time", 300, store.ByTime}, {"all", n, store.ByStep}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				curves := must(bed.Curves(ctx, store.System, ids, store.CurveQuery{Points: c.points, X: c.x, Scale: store.Linear}))(b)
				if curves[19].Count != n {
					b.Fatalf("%d points", curves[19].Count)
				}
			}
		})
	}
}
