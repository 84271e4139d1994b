package runs_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/goal"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// run creates an iteration with parameters and metrics.
func (b *bed) run(t testing.TB, params map[string]string, metrics map[string]float64) string {
	t.Helper()
	id := b.NewIteration(t)
	for key, value := range params {
		must(b.Runs.CreateParameter(ctx, domain.System, id, key, scalar.Text(value)))(t)
	}
	for key, value := range metrics {
		must(b.Runs.CreateMetric(ctx, domain.System, id, point(key, 0, value)))(t)
	}
	return id
}

func (b *bed) importance(q runs.ImportanceQuery) (runs.Importance, error) {
	q.ExperimentID = b.Experiment
	return b.Runs.Importance(ctx, func() (in runs.ImportanceInput, err error) {
		err = b.View(ctx, domain.System, func(v *store.View) error {
			in, err = v.Runs.ImportanceInput(q)
			return err
		})
		return in, err
	})
}

func TestImportance(t *testing.T) {
	b := newBed(t)
	for i := range 60 {
		b.run(t, map[string]string{"lr": fmt.Sprint(0.001 * float64(i+1)), "same": "x", "seed": fmt.Sprint(i * i * 7919 % 61)},
			map[string]float64{"loss": float64(i) / 10, "lr": float64(i), "acc": -float64(i)})
	}
	for range 3 {
		b.run(t, map[string]string{"lr": "1"}, map[string]float64{"loss": math.NaN()})
	}
	got := must(b.importance(runs.ImportanceQuery{Target: "metric.loss.min", Goal: goal.Minimize}))(t)
	// The iteration of the fixture has no metric.
	if got.Total != 64 || got.Missing != 1 || got.NaN != 3 || got.Runs != 63 {
		t.Errorf("total %d, missing %d, NaN %d, runs %d", got.Total, got.Missing, got.NaN, got.Runs)
	}
	names := func(i runs.Importance) (names []string) {
		for _, c := range i.Columns {
			names = append(names, c.Name)
		}
		return names
	}
	// A parameter that some runs lack counts as varying. The metric lr is not a parameter.
	if fmt.Sprint(names(got)) != "[lr seed same]" || !got.Columns[0].Known || got.Columns[1].Known {
		t.Errorf("%+v", got.Columns)
	}
	got = must(b.importance(runs.ImportanceQuery{Target: "metric.loss", Filter: "param.same = 'x'"}))(t)
	if got.Total != 60 || got.Runs != 60 || fmt.Sprint(names(got)) != "[lr seed]" {
		t.Errorf("with a filter: %+v", got)
	}
	if got = must(b.importance(runs.ImportanceQuery{Target: "metric.loss"}))(t); got.Runs != 60 || got.NaN != 3 {
		t.Errorf("without a goal: runs %d, NaN %d", got.Runs, got.NaN)
	}
	if got = must(b.importance(runs.ImportanceQuery{Target: "metric.unknown"}))(t); got.Missing != 64 || len(got.Columns) > 0 {
		t.Errorf("of a metric that is not there: %+v", got)
	}
	if got = must(b.importance(runs.ImportanceQuery{}))(t); got.Total != 0 {
		t.Errorf("without a target: %+v", got)
	}
	// Runs in the trash are ignored.
	wantOK(t, b.Runs.DeleteIteration(ctx, domain.System, b.Iteration))
	if got = must(b.importance(runs.ImportanceQuery{Target: "metric.loss"}))(t); got.Total != 63 || got.Missing != 0 {
		t.Errorf("after a deletion: %+v", got)
	}
	for _, q := range []runs.ImportanceQuery{{Target: "param.lr"}, {Target: "metric.a, metric.b"}, {Target: "metric."},
		{Target: "metric.loss", Filter: "("}, {Target: "metric.loss", Goal: "best"}} {
		_, err := b.importance(q)
		wantCode(t, err, domain.CodeInvalidPayload)
	}
}

// BenchmarkAnalysis estimates the importance of 20 parameters in 1,000 and 10,000 runs and
// suggests the next runs, as the Analyse tab does. The loss depends on two numbers, one of them
// differently for each optimizer.
func BenchmarkAnalysis(bench *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b := newBed(bench)
		random := rand.New(rand.NewPCG(1, 2))
		for range n {
			lr, dropout, optimizer := math.Pow(10, -5+5*random.Float64()), random.Float64(), random.IntN(3)
			l := runs.IterationLog{Params: []domain.Property{{Key: "lr", Value: fmt.Sprint(lr)}, {Key: "dropout", Value: fmt.Sprint(dropout)},
				{Key: "optimizer", Value: []string{"adam", "sgd", "lion"}[optimizer]}}}
			for i := range 17 {
				l.Params = append(l.Params, domain.Property{Key: fmt.Sprint("other", i), Value: fmt.Sprint(random.Float64())})
			}
			loss := math.Pow(math.Log10(lr)+3+float64(optimizer)-1, 2) + dropout + random.NormFloat64()/4
			l.Metrics = []points.Sample{point("loss", 0, loss)}
			wantOK(bench, b.Runs.LogIteration(ctx, domain.System, b.NewIteration(bench), l))
		}
		bench.Run(fmt.Sprint(n, " runs"), func(bench *testing.B) {
			for bench.Loop() {
				got := must(b.importance(runs.ImportanceQuery{Target: "metric.loss.min", Goal: goal.Minimize, Next: true}))(bench)
				if got.Runs != n || len(got.Next) == 0 {
					bench.Fatal(got.Runs, got.Refusal)
				}
			}
		})
	}
}
