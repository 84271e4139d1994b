package runs_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/scalar"
)

func pairQuery(key string, samples int) points.PairQuery {
	return points.PairQuery{CurveQuery: points.CurveQuery{Keys: []string{key}, Points: samples, X: points.ByStep, Scale: points.Linear}}
}

// walk logs a value at each step and returns the values. Every hundredth value is NaN.
func (b *bed) walk(t *testing.T, rng *rand.Rand, id, key string, steps int) []float64 {
	t.Helper()
	var samples []points.Sample
	var values []float64
	for i := range steps {
		v := rng.NormFloat64()
		if i%100 == 0 {
			v = math.NaN()
		}
		samples = append(samples, points.Sample{Key: key, Value: scalar.Value(v), Step: new(scalar.Step(i))})
		values = append(values, v)
	}
	wantOK(t, b.Runs.CreateMetrics(ctx, domain.System, id, samples))
	return values
}

func close2(a, b float64) bool { return math.Abs(a-b) <= 1e-9*(1+math.Abs(b)) }

// TestMeanCurves compares MeanCurves with means computed by simple code, for single steps and for
// buckets. In a bucket, each run contributes its last point.
func TestMeanCurves(t *testing.T) {
	for _, points := range []int{5000, 60} {
		b := newBed(t)
		rng := rand.New(rand.NewPCG(1, uint64(points)))
		ids := []string{b.Iteration, b.NewIteration(t), b.NewIteration(t), b.NewIteration(t)}
		var values [][]float64
		for i, steps := range []int{3000, 2000, 1000} {
			values = append(values, b.walk(t, rng, ids[i], "loss", steps))
		}
		all := must(b.Runs.MeanCurves(ctx, domain.System, [][]string{ids[:2], ids[2:], {ids[3]}}, pairQuery("loss", points)))(t)
		if len(all[2]) != 0 || len(all[1]) != 1 || all[1][0].Iterations != 1 {
			t.Fatalf("the groups are %+v", all[1:])
		}
		c := all[0][0]
		if c.Count != 5000 || c.Iterations != 2 || len(c.X) > points || len(c.X) < 30 {
			t.Errorf("%d points of %d runs in %d buckets", c.Count, c.Iterations, len(c.X))
		}
		for i, x := range c.X {
			var found []float64
			for _, run := range values[:2] {
				// x is the last step of a bucket.
				if int(x) < len(run) && !math.IsNaN(run[int(x)]) {
					found = append(found, run[int(x)])
				}
			}
			if points == 60 && (int(x) >= 1990 || len(found) < 2) {
				continue // the run ends within the bucket, and its last point is not at x
			}
			var mean, squares float64
			for _, v := range found {
				mean += v / float64(len(found))
			}
			for _, v := range found {
				squares += (v - mean) * (v - mean)
			}
			if c.N[i] != len(found) || !close2(float64(c.Mean[i]), mean) || (c.SD[i] != nil) != (len(found) == 2) ||
				len(found) == 2 && !close2(float64(*c.SD[i]), math.Sqrt(squares)) {
				t.Fatalf("at %v: n = %d, mean %v, want %d and %v", x, c.N[i], c.Mean[i], len(found), mean)
			}
		}
		if n := c.N[len(c.N)-1]; n != 1 {
			t.Errorf("at the end %d runs count", n)
		}
		part := pairQuery("loss", points)
		part.From, part.To = new(int64(10)), new(int64(19))
		c = must(b.Runs.MeanCurves(ctx, domain.System, [][]string{ids[:3]}, part))(t)[0][0]
		if c.Count != 30 || len(c.X) != 10 || c.X[0] != 10 || c.N[0] != 3 {
			t.Errorf("a part is %+v", c)
		}
	}
}

// If the X axis is the time since the start, points with the same age are averaged. The age of
// a point is its time since the start of its run.
func TestMeanCurveSinceStart(t *testing.T) {
	b := newBed(t)
	ids := []string{b.Iteration}
	start := b.Clock.Time()
	b.Clock.Add(time.Hour)
	ids = append(ids, b.NewIteration(t))
	for i, id := range ids {
		at := start + scalar.Time(i)*3_600_000
		for n := range 5 {
			must(b.Runs.CreateMetric(ctx, domain.System, id, points.Sample{Key: "loss", Value: scalar.Value(n + 10*i),
				RecordedAt: new(at + scalar.Time(n*1000))}))(t)
		}
	}
	q := pairQuery("loss", 100)
	q.X = points.SinceStart
	c := must(b.Runs.MeanCurves(ctx, domain.System, [][]string{ids}, q))(t)[0][0]
	if len(c.X) != 5 || c.X[4] != 4000 || c.Mean[4] != 9 || c.N[4] != 2 {
		t.Errorf("since the start it is %+v", c)
	}
	q.From, q.To = new(int64(1000)), new(int64(2000))
	c = must(b.Runs.MeanCurves(ctx, domain.System, [][]string{ids}, q))(t)[0][0]
	if len(c.X) != 2 || c.Count != 4 {
		t.Errorf("a part since the start is %+v", c)
	}
	q.X, q.From, q.To = points.ByTime, nil, nil
	c = must(b.Runs.MeanCurves(ctx, domain.System, [][]string{ids}, q))(t)[0][0]
	if len(c.X) != 2 || c.N[0] != 1 || c.X[0] != scalar.Value(start+4000) {
		t.Errorf("by the clock it is %+v", c)
	}
}

// If the X axis is another metric, points with the same step are paired. With buckets, the last
// points of each bucket are paired.
func TestPairedCurves(t *testing.T) {
	b := newBed(t)
	other := b.NewIteration(t)
	for step := range int64(2000) {
		must(b.Runs.CreateMetricBatch(ctx, domain.System, b.Iteration, []points.Sample{point("x", step, float64(step)/10)}))(t)
		if step%3 == 0 {
			b.Log(t, "y", step, float64(-step))
		}
	}
	b.Log(t, "y", 5000, 1) // x has no point at this step
	b.Log(t, "x", 2001, math.Inf(1))
	b.Log(t, "y", 2001, 2)
	must(b.Runs.CreateMetric(ctx, domain.System, other, point("y", 1, 1)))(t)
	q := pairQuery("y", 1000)
	q.Against = "x"
	all := must(b.Runs.PairedCurves(ctx, domain.System, []string{b.Iteration, other}, q))(t)
	if len(all) != 1 || all[0].IterationID != b.Iteration || len(all[0].X) != 667 || all[0].Count != 669 {
		t.Fatalf("there are %d curves: %+v", len(all), all)
	}
	for i, x := range all[0].X {
		if step := float64(all[0].Step[i]); float64(x) != step/10 || float64(all[0].Value[i]) != -step {
			t.Fatalf("%v over %v at step %v", all[0].Value[i], x, step)
		}
	}
	q.Points = 50
	few := must(b.Runs.PairedCurves(ctx, domain.System, []string{b.Iteration}, q))(t)[0]
	if len(few.X) < 10 || len(few.X) > 50 || few.Count != 669 {
		t.Errorf("in buckets there are %d of %d", len(few.X), few.Count)
	}
	means := must(b.Runs.MeanCurves(ctx, domain.System, [][]string{{b.Iteration, other}}, q))(t)[0][0]
	if means.Iterations != 1 || len(means.X) != len(few.X) || means.X[3] != few.X[3] || means.Mean[3] != few.Value[3] {
		t.Errorf("the mean over one is %+v", means)
	}
	_, err := b.Runs.PairedCurves(ctx, domain.System, []string{"none"}, q)
	wantCode(t, err, domain.CodeNotFound)
	q.Points = 1
	_, err = b.Runs.PairedCurves(ctx, domain.System, nil, q)
	wantCode(t, err, domain.CodeInvalidPayload)
	_, err = b.Runs.MeanCurves(ctx, domain.System, nil, q)
	wantCode(t, err, domain.CodeInvalidPayload)
}

// The mean of many runs is computed in parts, while the runs continue to log.
func TestMeanCurveOfMany(t *testing.T) {
	const runs, steps = 101, 300
	b := newBed(t)
	rng := rand.New(rand.NewPCG(3, 3))
	var ids []string
	var values [][]float64
	for range runs {
		ids = append(ids, b.NewIteration(t))
		values = append(values, b.walk(t, rng, ids[len(ids)-1], "loss", steps))
	}
	// A bucket has eight steps. All runs have a point in the last bucket.
	c := must(b.Runs.MeanCurves(ctx, domain.System, [][]string{ids}, pairQuery("loss", 40)))(t)[0][0]
	if c.Iterations != runs || c.Count != runs*steps || len(c.X) != 38 {
		t.Fatalf("%d points of %d runs in %d buckets", c.Count, c.Iterations, len(c.X))
	}
	for i, x := range c.X {
		var n, mean, squares float64
		for _, run := range values {
			if v := run[int(x)]; !math.IsNaN(v) {
				n++
				mean += v
			}
		}
		mean /= n
		for _, run := range values {
			if v := run[int(x)]; !math.IsNaN(v) {
				squares += (v - mean) * (v - mean)
			}
		}
		if c.N[i] != int(n) || !close2(float64(c.Mean[i]), mean) || !close2(float64(*c.SD[i]), math.Sqrt(squares/(n-1))) {
			t.Fatalf("at %v: n = %d, mean %v ± %v, want %v, %v ± %v", x, c.N[i], c.Mean[i], *c.SD[i], n, mean, math.Sqrt(squares/(n-1)))
		}
	}
	done := make(chan error)
	go func() {
		var err error
		for step := range int64(20) {
			for _, id := range ids[:3] {
				if err == nil {
					_, err = b.Runs.CreateMetric(ctx, domain.System, id, point("loss", steps+10*step, 1))
				}
			}
		}
		done <- err
	}()
	for writing := true; writing; {
		select {
		case err := <-done:
			wantOK(t, err)
			writing = false
		default:
		}
		c := must(b.Runs.MeanCurves(ctx, domain.System, [][]string{ids[50:], ids[:50]}, pairQuery("loss", 40)))(t)
		if c[0][0].Iterations != runs-50 || c[1][0].Iterations != 50 || c[1][0].Count < 50*steps {
			t.Fatalf("while runs log there are %d and %d, with %d points", c[0][0].Iterations, c[1][0].Iterations, c[1][0].Count)
		}
	}
}
