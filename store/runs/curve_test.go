package runs_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tracker/store/domain"
	"tracker/store/json"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// curve returns the only curve of an iteration.
func (b *bed) curve(t *testing.T, q points.CurveQuery) runs.Curve {
	t.Helper()
	if q.X == "" {
		q.X = points.ByStep
	}
	if q.Scale == "" {
		q.Scale = points.Linear
	}
	curves := must(b.Runs.Curves(ctx, domain.System, []string{b.Iteration}, q))(t)
	if len(curves) != 1 {
		t.Fatalf("%d curves, want 1", len(curves))
	}
	return curves[0]
}

// TestCurveKeepsEveryPeak compares curves of random points with the points.
func TestCurveKeepsEveryPeak(t *testing.T) {
	b := newBed(t)
	rng := rand.New(rand.NewPCG(1, 2))
	var samples []points.Sample
	for i := range 5000 {
		v := rng.NormFloat64()
		switch rng.IntN(40) {
		case 0:
			v = math.NaN()
		case 1:
			v = math.Inf(1)
		}
		step := scalar.Step(rng.IntN(20_000) - 7000)
		at := scalar.Time(1_700_000_000_000 + int64(rng.IntN(1_000_000)))
		samples = append(samples, points.Sample{Key: "k", Value: scalar.Value(v), Step: &step, RecordedAt: &at})
		if i%7 == 0 {
			samples = append(samples, samples[rng.IntN(len(samples))]) // a repeated step
		}
	}
	wantOK(t, b.Runs.CreateMetrics(ctx, domain.System, b.Iteration, samples))
	for range 100 {
		q := points.CurveQuery{
			Points: 2 + rng.IntN(300),
			X:      []points.Axis{points.ByStep, points.ByTime}[rng.IntN(2)],
			Scale:  []points.Scale{points.Linear, points.Log}[rng.IntN(2)],
		}
		at := func(p points.Sample) int64 { return int64(*p.Step) }
		lo, span := int64(-7000), 20_000
		if q.X == points.ByTime {
			at = func(p points.Sample) int64 { return int64(*p.RecordedAt) }
			lo, span = 1_700_000_000_000, 1_000_000
		}
		from := lo + int64(rng.IntN(span))
		to := from + int64(rng.IntN(span))
		q.From, q.To = &from, &to
		name := fmt.Sprintf("%+v from %d to %d", q, from, to)
		var in []points.Sample
		for _, p := range samples {
			if at(p) >= from && at(p) <= to {
				in = append(in, p)
			}
		}
		slices.SortStableFunc(in, func(a, b points.Sample) int {
			if q.X == points.ByTime && at(a) == at(b) {
				return int(*a.Step - *b.Step)
			}
			return int(at(a) - at(b))
		})
		c := b.curve(t, q)
		checkCurve(t, name, c, len(samples), in, q, at)
		if again := b.curve(t, q); jsonOf(t, c) != jsonOf(t, again) {
			t.Fatalf("%s: another answer on the second call", name)
		}
	}
}

func checkCurve(t *testing.T, name string, c runs.Curve, all int, in []points.Sample, q points.CurveQuery, at func(points.Sample) int64) {
	t.Helper()
	if c.Total != all {
		t.Fatalf("%s: a total of %d points, want %d", name, c.Total, all)
	}
	if c.Count != len(in) || c.Shown != len(c.Step) || c.Shown > q.Points || len(c.Value) != c.Shown || len(c.RecordedAt) != c.Shown {
		t.Fatalf("%s: count %d of %d, shown %d of %d", name, c.Count, len(in), c.Shown, q.Points)
	}
	if len(in) == 0 {
		return
	}
	if *in[0].Step != c.Step[0] || *in[len(in)-1].Step != c.Step[c.Shown-1] {
		t.Fatalf("%s: the ends are not shown", name)
	}
	if len(in) <= q.Points {
		if c.Min != nil || c.Behind != nil || c.Shown != len(in) {
			t.Fatalf("%s: not every point is there", name)
		}
		return
	}
	if len(c.Min) != c.Shown || len(c.Max) != c.Shown {
		t.Fatalf("%s: %d minima for %d buckets", name, len(c.Min), c.Shown)
	}
	behind := 0
	for _, n := range c.Behind {
		behind += n
	}
	if len(c.Behind) != c.Shown || behind != c.Count {
		t.Fatalf("%s: %d entries stand for %d of %d points", name, len(c.Behind), behind, c.Count)
	}
	// An entry represents the points after the position of the previous entry, up to its own
	// position. The second entry represents the first bucket. If this bucket has several points,
	// the second entry also includes the first point.
	place := func(i int) int64 {
		return at(points.Sample{Step: &c.Step[i], RecordedAt: &c.RecordedAt[i]})
	}
	for i := 1; i < c.Shown; i++ {
		var group []points.Sample
		for _, p := range in {
			if at(p) > place(i-1) && at(p) <= place(i) {
				group = append(group, p)
			}
		}
		if i > 1 && c.Behind[i] != len(group) {
			t.Fatalf("%s: entry %d stands for %d points, not for %d", name, i, c.Behind[i], len(group))
		}
		with := group
		if i == 1 {
			with = nil
			for _, p := range in {
				if at(p) <= place(1) {
					with = append(with, p)
				}
			}
		}
		if !hasRange(c, i, group) && !hasRange(c, i, with) {
			t.Fatalf("%s: entry %d of %d has a wrong minimum or maximum", name, i, c.Shown)
		}
	}
}

// hasRange reports whether entry i has the minimum and the maximum of the finite values in
// points.
func hasRange(c runs.Curve, i int, points []points.Sample) bool {
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range points {
		if p.Value.Finite() {
			low, high = min(low, float64(p.Value)), max(high, float64(p.Value))
		}
	}
	if low > high {
		return c.Min[i] == nil && c.Max[i] == nil
	}
	return c.Min[i] != nil && float64(*c.Min[i]) == low && float64(*c.Max[i]) == high
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	return string(must(json.Marshal(v, json.Deterministic(true)))(t))
}

// TestCurveAtTheLimits reads curves with the smallest and the largest steps.
func TestCurveAtTheLimits(t *testing.T) {
	b := newBed(t)
	var samples []points.Sample
	for _, step := range []scalar.Step{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64} {
		samples = append(samples, points.Sample{Key: "k", Value: scalar.Value(step), Step: &step})
	}
	wantOK(t, b.Runs.CreateMetrics(ctx, domain.System, b.Iteration, samples))
	for samples := 2; samples < 9; samples++ {
		for _, scale := range []points.Scale{points.Linear, points.Log} {
			c := b.curve(t, points.CurveQuery{Points: samples, Scale: scale})
			if c.Count != 7 || c.Shown > samples || c.Step[0] != math.MinInt64 || c.Step[c.Shown-1] != math.MaxInt64 {
				t.Errorf("%d %s: %d of %d, from %d to %d", samples, scale, c.Shown, c.Count, c.Step[0], c.Step[c.Shown-1])
			}
		}
	}
}

// TestSummary compares the statistics of an iteration with its points.
func TestSummary(t *testing.T) {
	b := newBed(t)
	must(b.Runs.CreateParameter(ctx, domain.System, b.Iteration, "lr", "0.10"))(t)
	must(b.Runs.CreateTag(ctx, domain.System, runs.IterationTag, b.Iteration, "best"))(t)
	steps := []scalar.Step{5, 1, 3}
	wantOK(t, b.Runs.CreateMetrics(ctx, domain.System, b.Iteration, []points.Sample{
		{Key: "loss", Value: 2, Step: &steps[0]},
		{Key: "loss", Value: -1, Step: &steps[1]},
		{Key: "loss", Value: scalar.Value(math.NaN()), Step: &steps[2]},
		{Key: "dead", Value: scalar.Value(math.Inf(-1))},
	}))
	got := jsonOf(t, must(b.Runs.Summary(ctx, domain.System, b.Iteration))(t))
	want := `{"iteration_id":"` + b.Iteration + `","metrics":{` +
		`"dead":{"count":1,"last":"-Infinity","last_step":0,"min":null,"min_step":null,"max":null,"max_step":null,"mean":null},` +
		`"loss":{"count":3,"last":2,"last_step":5,"min":-1,"min_step":1,"max":2,"max_step":5,"mean":0.5}},` +
		`"params":{"lr":"0.10"},"tags":["best"]}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestBulkIsAllOrNothing writes a list with an invalid last point. Nothing must be written.
func TestBulkIsAllOrNothing(t *testing.T) {
	b := newBed(t)
	largest := scalar.Step(math.MaxInt64)
	err := b.Runs.CreateMetrics(ctx, domain.System, b.Iteration, []points.Sample{
		{Key: "a", Value: 1}, {Key: "b", Value: 1, Step: &largest}, {Key: "a", Value: 2}, {Key: "b", Value: 2},
	})
	if err == nil || domain.AsError(err).Field != "step" {
		t.Fatalf("got %v, want a refused step", err)
	}
	if all := pointsOf(t, b.DB, b.Iteration, nil); len(all) != 0 {
		t.Errorf("%d points were written", len(all))
	}
	wantOK(t, b.Runs.CreateMetrics(ctx, domain.System, b.Iteration, []points.Sample{
		{Key: "a", Value: 1}, {Key: "b", Value: 3}, {Key: "a", Value: 2},
	}))
	all := pointsOf(t, b.DB, b.Iteration, nil)
	if len(all) != 3 || all[0].Step != 0 || all[2].Step != 1 || all[2].Value != 2 {
		t.Errorf("got %+v", all)
	}
}

// Curves of many iterations are computed on several cores. The result must have the requested
// order. An iteration that does not exist results in an error.
func TestCurvesOfManyIterations(t *testing.T) {
	b := newBed(t)
	var ids, want []string
	for i := range 60 {
		id := b.NewIteration(t)
		ids = append(ids, id)
		for _, key := range []string{"b", "a"} {
			if i%7 != 3 {
				wantOK(t, b.Runs.CreateMetrics(ctx, domain.System, id, []points.Sample{point(key, int64(i), 1)}))
				want = append(want, id+key)
			}
		}
	}
	slices.Reverse(ids)
	slices.Reverse(want)
	q := points.CurveQuery{Points: 10, X: points.ByStep, Scale: points.Linear, Keys: []string{"a", "b"}}
	var got []string
	for _, c := range must(b.Runs.Curves(ctx, domain.System, ids, q))(t) {
		got = append(got, c.IterationID+c.Key)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	ids[59] = "01900000-0000-7000-8000-000000000000"
	_, err := b.Runs.Curves(ctx, domain.System, ids, q)
	wantCode(t, err, domain.CodeNotFound)
}
