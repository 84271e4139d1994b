package store_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tracker/store"
	"tracker/store/json"
)

// curve returns the one curve of an iteration.
func (b *bed) curve(t *testing.T, q store.CurveQuery) store.Curve {
	t.Helper()
	if q.X == "" {
		q.X = store.ByStep
	}
	if q.Scale == "" {
		q.Scale = store.Linear
	}
	curves := must(b.Curves(ctx, store.System, []string{b.iteration}, q))(t)
	if len(curves) != 1 {
		t.Fatalf("%d curves, want 1", len(curves))
	}
	return curves[0]
}

// TestCurveKeepsEveryPeak compares curves of random points with the points.
func TestCurveKeepsEveryPeak(t *testing.T) {
	b := newBed(t)
	rng := rand.New(rand.NewPCG(1, 2))
	var points []store.NewMetric
	for i := range 5000 {
		v := rng.NormFloat64()
		switch rng.IntN(40) {
		case 0:
			v = math.NaN()
		case 1:
			v = math.Inf(1)
		}
		step := store.Step(rng.IntN(20_000) - 7000)
		at := store.Time(1_700_000_000_000 + int64(rng.IntN(1_000_000)))
		points = append(points, store.NewMetric{Key: "k", Value: store.Value(v), Step: &step, RecordedAt: &at})
		if i%7 == 0 {
			points = append(points, points[rng.IntN(len(points))]) // a step that repeats
		}
	}
	wantOK(t, b.CreateMetrics(ctx, store.System, b.iteration, points))
	for range 100 {
		q := store.CurveQuery{
			Points: 2 + rng.IntN(300),
			X:      []store.Axis{store.ByStep, store.ByTime}[rng.IntN(2)],
			Scale:  []store.Scale{store.Linear, store.Log}[rng.IntN(2)],
		}
		at := func(p store.NewMetric) int64 { return int64(*p.Step) }
		lo, span := int64(-7000), 20_000
		if q.X == store.ByTime {
			at = func(p store.NewMetric) int64 { return int64(*p.RecordedAt) }
			lo, span = 1_700_000_000_000, 1_000_000
		}
		from := lo + int64(rng.IntN(span))
		to := from + int64(rng.IntN(span))
		q.From, q.To = &from, &to
		name := fmt.Sprintf("%+v from %d to %d", q, from, to)
		var in []store.NewMetric
		for _, p := range points {
			if at(p) >= from && at(p) <= to {
				in = append(in, p)
			}
		}
		slices.SortStableFunc(in, func(a, b store.NewMetric) int {
			if q.X == store.ByTime && at(a) == at(b) {
				return int(*a.Step - *b.Step)
			}
			return int(at(a) - at(b))
		})
		c := b.curve(t, q)
		checkCurve(t, name, c, len(points), in, q, at)
		if again := b.curve(t, q); jsonOf(t, c) != jsonOf(t, again) {
			t.Fatalf("%s: another answer on the second call", name)
		}
	}
}

func checkCurve(t *testing.T, name string, c store.Curve, all int, in []store.NewMetric, q store.CurveQuery, at func(store.NewMetric) int64) {
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
	// An entry stands for the points behind the place of the entry before it, up
	// to its own. The second one has the first bucket, with the first point in
	// it unless that was alone there.
	place := func(i int) int64 {
		return at(store.NewMetric{Step: &c.Step[i], RecordedAt: &c.RecordedAt[i]})
	}
	for i := 1; i < c.Shown; i++ {
		var group []store.NewMetric
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

// hasRange reports whether the minimum and maximum of an entry are those of the
// finite values of points.
func hasRange(c store.Curve, i int, points []store.NewMetric) bool {
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

// TestCurveAtTheLimits asks for the whole range of steps there is.
func TestCurveAtTheLimits(t *testing.T) {
	b := newBed(t)
	var points []store.NewMetric
	for _, step := range []store.Step{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64} {
		points = append(points, store.NewMetric{Key: "k", Value: store.Value(step), Step: &step})
	}
	wantOK(t, b.CreateMetrics(ctx, store.System, b.iteration, points))
	for points := 2; points < 9; points++ {
		for _, scale := range []store.Scale{store.Linear, store.Log} {
			c := b.curve(t, store.CurveQuery{Points: points, Scale: scale})
			if c.Count != 7 || c.Shown > points || c.Step[0] != math.MinInt64 || c.Step[c.Shown-1] != math.MaxInt64 {
				t.Errorf("%d %s: %d of %d, from %d to %d", points, scale, c.Shown, c.Count, c.Step[0], c.Step[c.Shown-1])
			}
		}
	}
}

// TestSummary compares the statistics of an iteration with its points.
func TestSummary(t *testing.T) {
	b := newBed(t)
	must(b.CreateParameter(ctx, store.System, b.iteration, "lr", "0.10"))(t)
	must(b.CreateTag(ctx, store.System, store.IterationTag, b.iteration, "best"))(t)
	steps := []store.Step{5, 1, 3}
	wantOK(t, b.CreateMetrics(ctx, store.System, b.iteration, []store.NewMetric{
		{Key: "loss", Value: 2, Step: &steps[0]},
		{Key: "loss", Value: -1, Step: &steps[1]},
		{Key: "loss", Value: store.Value(math.NaN()), Step: &steps[2]},
		{Key: "dead", Value: store.Value(math.Inf(-1))},
	}))
	got := jsonOf(t, must(b.Summary(ctx, store.System, b.iteration))(t))
	want := `{"iteration_id":"` + b.iteration + `","metrics":{` +
		`"dead":{"count":1,"last":"-Infinity","last_step":0,"min":null,"min_step":null,"max":null,"max_step":null,"mean":null},` +
		`"loss":{"count":3,"last":2,"last_step":5,"min":-1,"min_step":1,"max":2,"max_step":5,"mean":0.5}},` +
		`"params":{"lr":"0.10"},"tags":["best"]}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestBulkIsAllOrNothing refuses a list whose last point can't have a step.
func TestBulkIsAllOrNothing(t *testing.T) {
	b := newBed(t)
	largest := store.Step(math.MaxInt64)
	err := b.CreateMetrics(ctx, store.System, b.iteration, []store.NewMetric{
		{Key: "a", Value: 1}, {Key: "b", Value: 1, Step: &largest}, {Key: "a", Value: 2}, {Key: "b", Value: 2},
	})
	if err == nil || store.AsError(err).Field != "step" {
		t.Fatalf("got %v, want a refused step", err)
	}
	if all := points(t, b.DB, b.iteration, nil); len(all) != 0 {
		t.Errorf("%d points were written", len(all))
	}
	wantOK(t, b.CreateMetrics(ctx, store.System, b.iteration, []store.NewMetric{
		{Key: "a", Value: 1}, {Key: "b", Value: 3}, {Key: "a", Value: 2},
	}))
	all := points(t, b.DB, b.iteration, nil)
	if len(all) != 3 || all[0].Step != 0 || all[2].Step != 1 || all[2].Value != 2 {
		t.Errorf("got %+v", all)
	}
}

// The cores share the work of many iterations; their curves still come in the
// order that was asked for, and one iteration that is not there spoils all.
func TestCurvesOfManyIterations(t *testing.T) {
	b := newBed(t)
	var ids, want []string
	for i := range 60 {
		id := b.newIteration(t)
		ids = append(ids, id)
		for _, key := range []string{"b", "a"} {
			if i%7 != 3 {
				wantOK(t, b.CreateMetrics(ctx, store.System, id, []store.NewMetric{point(key, int64(i), 1)}))
				want = append(want, id+key)
			}
		}
	}
	slices.Reverse(ids)
	slices.Reverse(want)
	q := store.CurveQuery{Points: 10, X: store.ByStep, Scale: store.Linear, Keys: []string{"a", "b"}}
	var got []string
	for _, c := range must(b.Curves(ctx, store.System, ids, q))(t) {
		got = append(got, c.IterationID+c.Key)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	ids[59] = "01900000-0000-7000-8000-000000000000"
	_, err := b.Curves(ctx, store.System, ids, q)
	wantCode(t, err, store.CodeNotFound)
}
