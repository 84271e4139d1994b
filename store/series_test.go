package store_test

import (
	"database/sql"
	"fmt"
	"math"
	"testing"
	"time"

	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/scalar"
)

func TestStatistics(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	type at = struct {
		step  int64
		value float64
	}
	// nil if the statistic does not exist
	type want = struct {
		count, finite int64
		last          any
		lastStep      int64
		min, minStep  any
		max, maxStep  any
		sum           float64
	}
	for _, c := range []struct {
		name   string
		points []at
		want   want
	}{
		{"one point", []at{{3, 1.5}}, want{1, 1, 1.5, 3, 1.5, int64(3), 1.5, int64(3), 1.5}},
		{"in order", []at{{0, 3}, {1, 1}, {2, 2}}, want{3, 3, 2.0, 2, 1.0, int64(1), 3.0, int64(0), 6}},
		{"last is at the largest step, not the last one written",
			[]at{{10, 1}, {5, 9}}, want{2, 2, 1.0, 10, 1.0, int64(10), 9.0, int64(5), 10}},
		{"of equal steps, last is the last one written",
			[]at{{5, 1}, {5, 2}, {5, 3}}, want{3, 3, 3.0, 5, 1.0, int64(5), 3.0, int64(5), 6}},
		{"of equal values, the smallest step counts, written first",
			[]at{{1, 7}, {2, 7}, {3, 7}}, want{3, 3, 7.0, 3, 7.0, int64(1), 7.0, int64(1), 21}},
		{"of equal values, the smallest step counts, written last",
			[]at{{3, 7}, {2, 7}, {-1, 7}}, want{3, 3, 7.0, 3, 7.0, int64(-1), 7.0, int64(-1), 21}},
		{"NaN is counted and can be last, no more",
			[]at{{0, 1}, {1, nan}}, want{2, 1, nil, 1, 1.0, int64(0), 1.0, int64(0), 1}},
		{"infinities are counted and can be last, no more",
			[]at{{0, 1}, {1, -inf}, {2, inf}}, want{3, 1, inf, 2, 1.0, int64(0), 1.0, int64(0), 1}},
		{"nothing finite", []at{{0, nan}, {1, inf}, {2, -inf}}, want{3, 0, -inf, 2, nil, nil, nil, nil, 0}},
		{"only NaN", []at{{7, nan}}, want{1, 0, nil, 7, nil, nil, nil, nil, 0}},
		{"a number after NaN", []at{{0, nan}, {0, 2}}, want{2, 1, 2.0, 0, 2.0, int64(0), 2.0, int64(0), 2}},
		{"the zeros are equal",
			[]at{{2, 0}, {1, math.Copysign(0, -1)}, {3, 0}}, want{3, 3, 0.0, 3, 0.0, int64(1), 0.0, int64(1), 0}},
		{"a sum beyond the largest double",
			[]at{{0, math.MaxFloat64}, {1, math.MaxFloat64}},
			want{2, 2, math.MaxFloat64, 1, math.MaxFloat64, int64(0), math.MaxFloat64, int64(0), inf}},
		{"a sum beyond the smallest double",
			[]at{{0, -math.MaxFloat64}, {1, -math.MaxFloat64}},
			want{2, 2, -math.MaxFloat64, 1, -math.MaxFloat64, int64(0), -math.MaxFloat64, int64(0), -inf}},
		{"the limits of a step", []at{{math.MinInt64, 1}, {math.MaxInt64, 2}},
			want{2, 2, 2.0, math.MaxInt64, 1.0, int64(math.MinInt64), 2.0, int64(math.MaxInt64), 3}},
		{"the smallest and the largest doubles",
			[]at{{0, math.SmallestNonzeroFloat64}, {1, -math.SmallestNonzeroFloat64}, {2, math.MaxFloat64}, {3, -math.MaxFloat64}},
			want{4, 4, -math.MaxFloat64, 3, -math.MaxFloat64, int64(3), math.MaxFloat64, int64(2), 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newPlainBed(t)
			for _, p := range c.points {
				b.log(t, "one by one", p.step, p.value)
			}
			var batch []points.Sample
			for _, p := range c.points {
				batch = append(batch, point("batch", p.step, p.value))
			}
			must(b.Runs.CreateMetricBatch(ctx, domain.System, b.iteration, batch))(t)
			for _, m := range batch {
				m.Key = "bulk"
				wantOK(t, b.Runs.CreateMetrics(ctx, domain.System, b.iteration, []points.Sample{m}))
			}
			// Compare with the statistics that are computed from all points after one point was
			// deleted.
			for _, p := range c.points {
				b.log(t, "computed", p.step, p.value)
			}
			wantOK(t, b.Runs.DeleteMetric(ctx, domain.System, b.log(t, "computed", c.points[0].step, c.points[0].value)))

			want := statistics{Count: c.want.count, Finite: c.want.finite, Last: float(c.want.last), LastStep: c.want.lastStep,
				LastAt: int64(b.clock.Time()), Min: float(c.want.min), MinStep: integer(c.want.minStep),
				Max: float(c.want.max), MaxStep: integer(c.want.maxStep), Sum: c.want.sum}
			got := storedStatistics(t, raw(t, b.Path()), b.iteration)
			for _, key := range []string{"one by one", "batch", "bulk", "computed"} {
				want.Key = key
				if got[key] != want {
					t.Errorf("%+v, want %+v", got[key], want)
				}
			}
			wantClean(t, b.DB)
		})
	}
}

func float(v any) sql.NullFloat64 {
	f, ok := v.(float64)
	return sql.NullFloat64{Float64: f, Valid: ok}
}

func integer(v any) sql.NullInt64 {
	n, ok := v.(int64)
	return sql.NullInt64{Int64: n, Valid: ok}
}

// The time of the last point changes with its value.
func TestLastAt(t *testing.T) {
	b := newPlainBed(t)
	file := raw(t, b.Path())
	lastAt := func() int64 { return ask[int64](t, file, `SELECT last_at FROM series WHERE key = 'loss'`) }
	first := b.clock.Time()
	b.log(t, "loss", 5, 1)
	b.clock.Add(time.Second)
	b.log(t, "loss", 4, 1)
	if at := lastAt(); at != int64(first) {
		t.Errorf("last_at %d, want %d: an earlier step changed it", at, first)
	}
	b.log(t, "loss", 5, 1)
	if at := lastAt(); at != int64(b.clock.Time()) {
		t.Errorf("last_at %d, want %d", at, b.clock.Time())
	}
	b.clock.Add(time.Second)
	given := scalar.Time(1000)
	m := point("loss", 6, 1)
	m.RecordedAt = &given
	must(b.Runs.CreateMetric(ctx, domain.System, b.iteration, m))(t)
	if at := lastAt(); at != int64(given) {
		t.Errorf("last_at %d, want the given %d", at, given)
	}
}

// Moving points does not change the order of writing.
func TestMovedPointKeepsItsTimeOfWriting(t *testing.T) {
	b := newPlainBed(t)
	first := b.log(t, "loss", 9, 1)
	second := b.log(t, "loss", 5, 2)
	wantOK(t, b.Runs.UpdateMetric(ctx, domain.System, first, points.Patch{Step: new(scalar.Step(5))}))
	var ids []string
	for _, m := range pointsOf(t, b.DB, b.iteration, nil) {
		ids = append(ids, m.ID)
	}
	if got, want := fmt.Sprint(ids), fmt.Sprint([]string{first, second}); got != want {
		t.Errorf("order %s, want %s", got, want)
	}
	if last := ask[float64](t, raw(t, b.Path()), `SELECT last FROM series`); last != 2 {
		t.Errorf("last is %v, want 2, which was written last at the largest step", last)
	}
	next := must(b.Runs.CreateMetric(ctx, domain.System, b.iteration, points.Sample{Key: "loss"}))(t).ID
	if m := must(b.Runs.Metric(ctx, domain.System, next))(t); m.Step != 6 {
		t.Errorf("the next step is %d, want 6", m.Step)
	}
	wantClean(t, b.DB)
}

// A series is deleted together with its last point. A new series with the same key begins at step
// 0.
func TestEmptiedSeries(t *testing.T) {
	b := newPlainBed(t)
	file := raw(t, b.Path())
	old := b.log(t, "loss", 41, 1)
	wantOK(t, b.Runs.UpdateMetric(ctx, domain.System, old, points.Patch{Key: new("acc")}))
	if keys := ask[string](t, file, `SELECT group_concat(key) FROM series`); keys != "acc" {
		t.Errorf("series %s, want acc alone", keys)
	}
	fresh := must(b.Runs.CreateMetric(ctx, domain.System, b.iteration, points.Sample{Key: "loss"}))(t).ID
	if m := must(b.Runs.Metric(ctx, domain.System, fresh))(t); m.Step != 0 {
		t.Errorf("step %d in a new series", m.Step)
	}
	wantOK(t, b.Runs.UpdateMetric(ctx, domain.System, old, points.Patch{Key: new("loss")}))
	if m := must(b.Runs.Metric(ctx, domain.System, old))(t); m.Key != "loss" || m.Step != 41 {
		t.Errorf("moved back it is %+v", m)
	}
	for _, id := range []string{old, fresh} {
		wantOK(t, b.Runs.DeleteMetric(ctx, domain.System, id))
	}
	for _, table := range []string{"series", "metric", "metric_moved"} {
		if n := ask[int](t, file, `SELECT count(*) FROM `+table); n != 0 {
			t.Errorf("%d rows left in %s", n, table)
		}
	}
	wantClean(t, b.DB)
}

// A moved point has no second id from its earlier or its new place.
func TestIDsOfMovedPoints(t *testing.T) {
	b := newPlainBed(t)
	id := b.log(t, "loss", 1, 1)
	other := b.log(t, "loss", 2, 1)
	wantOK(t, b.Runs.UpdateMetric(ctx, domain.System, id, points.Patch{Step: new(scalar.Step(3))}))
	for _, wrong := range []string{"1.3.1", "1.2.1", "1.1.2", "1.1.01", "+1.1.1", "1.1.1.", "1.1", "", "1.1.1 ", "A.1.1",
		"1.1.9223372036854775808", "01.1.1", "1.-0.1", "1.1.1\n"} {
		if wrong == id || wrong == other {
			t.Fatalf("%q is the id of a point", wrong)
		}
		_, err := b.Runs.Metric(ctx, domain.System, wrong)
		wantCode(t, err, domain.CodeNotFound)
		wantCode(t, b.Runs.DeleteMetric(ctx, domain.System, wrong), domain.CodeNotFound)
		wantCode(t, b.Runs.UpdateMetric(ctx, domain.System, wrong, points.Patch{}), domain.CodeNotFound)
	}
	if m := must(b.Runs.Metric(ctx, domain.System, id))(t); m.Step != 3 || m.ID != id {
		t.Errorf("%+v", m)
	}
}
