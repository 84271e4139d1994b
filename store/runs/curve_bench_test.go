package runs_test

import (
	"fmt"
	"testing"

	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/scalar"
)

// BenchmarkCurves reads 20 curves with 100,000 points each. It reads the curves reduced to 300
// points and, for comparison, with all points.
func BenchmarkCurves(b *testing.B) {
	bed := newBed(b)
	const n = 100_000
	var ids []string
	for range 20 {
		id := bed.NewIteration(b)
		all := make([]points.Sample, n)
		for i := range all {
			all[i] = point("loss", int64(i), float64(i*7919%1000))
			all[i].RecordedAt = new(scalar.Time(1_700_000_000_000 + 97*i))
		}
		wantOK(b, bed.Runs.CreateMetrics(ctx, domain.System, id, all))
		ids = append(ids, id)
	}
	for _, c := range []struct {
		name   string
		points int
		x      points.Axis
	}{{"step", 300, points.ByStep}, {"time", 300, points.ByTime}, {"all", n, points.ByStep}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				curves := must(bed.Runs.Curves(ctx, domain.System, ids, points.CurveQuery{Points: c.points, X: c.x, Scale: points.Linear}))(b)
				if curves[19].Count != n {
					b.Fatalf("%d points", curves[19].Count)
				}
			}
		})
	}
}

// BenchmarkManyCurves reads 100 curves with different numbers of points. It reduces the curves to
// the numbers of points that are requested by charts of 10 runs, by charts of 100 runs and by the
// bench command.
func BenchmarkManyCurves(b *testing.B) {
	bed := newBed(b)
	for _, n := range []int{1000, 10_000, 100_000} {
		var ids []string
		for range 100 {
			id := bed.NewIteration(b)
			all := make([]points.Sample, n)
			for i := range all {
				all[i] = point("loss", int64(i), float64(i*7919%1000))
			}
			wantOK(b, bed.Runs.CreateMetrics(ctx, domain.System, id, all))
			ids = append(ids, id)
		}
		for _, samples := range []int{120, 250, 300, 500} {
			b.Run(fmt.Sprintf("%d-in-%d", n, samples), func(b *testing.B) {
				for b.Loop() {
					curves := must(bed.Runs.Curves(ctx, domain.System, ids, points.CurveQuery{Points: samples, X: points.ByStep, Scale: points.Linear}))(b)
					if curves[99].Count != n {
						b.Fatalf("%d points", curves[99].Count)
					}
					b.ReportMetric(float64(curves[99].Shown), "shown")
				}
			})
		}
	}
}

// BenchmarkMeanCurves reads the mean curve of a group. It uses the number of buckets of a chart
// with ten groups.
func BenchmarkMeanCurves(b *testing.B) {
	bed := newBed(b)
	for _, c := range []struct{ runs, points int }{{1000, 1000}, {100, 100_000}} {
		var ids []string
		for range c.runs {
			id := bed.NewIteration(b)
			all := make([]points.Sample, c.points)
			for i := range all {
				all[i] = point("loss", int64(i), float64(i*7919%1000))
			}
			wantOK(b, bed.Runs.CreateMetrics(ctx, domain.System, id, all))
			ids = append(ids, id)
		}
		b.Run(fmt.Sprintf("%d-runs-of-%d", c.runs, c.points), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				all := must(bed.Runs.MeanCurves(ctx, domain.System, [][]string{ids}, pairQuery("loss", 250)))(b)
				if n := all[0][0].N[0]; n != c.runs {
					b.Fatalf("%d runs count", n)
				}
			}
		})
	}
}
