package store_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"tracker/store"
)

// run makes an iteration with parameters and metrics.
func (b *bed) run(t testing.TB, params map[string]string, metrics map[string]float64) string {
	t.Helper()
	id := b.newIteration(t)
	for key, value := range params {
		must(b.CreateParameter(ctx, store.System, id, key, store.Text(value)))(t)
	}
	for key, value := range metrics {
		must(b.CreateMetric(ctx, store.System, id, point(key, 0, value)))(t)
	}
	return id
}

func (b *bed) importance(q store.ImportanceQuery) (store.Importance, error) {
	q.ExperimentID = b.experiment
	return b.Importance(ctx, store.System, func(*store.View) (store.ImportanceQuery, error) { return q, nil })
}

func TestImportance(t *testing.T) {
	b := newBed(t)
	for i := range 60 {
		b.run(t, map[string]string{"lr": fmt.Sprint(0.001 * float64(i+1)), "same": "x", "seed": fmt.Sprint(i * 7919 % 60)},
			map[string]float64{"loss": float64(i) / 10, "lr": float64(i), "acc": -float64(i)})
	}
	for range 3 {
		b.run(t, map[string]string{"lr": "1"}, map[string]float64{"loss": math.NaN()})
	}
	got := must(b.importance(store.ImportanceQuery{Target: "metric.loss.min", Goal: store.Minimize}))(t)
	// The iteration of the fixture has no metric.
	if got.Total != 64 || got.Missing != 1 || got.NaN != 3 || got.Runs != 63 {
		t.Errorf("total %d, missing %d, NaN %d, runs %d", got.Total, got.Missing, got.NaN, got.Runs)
	}
	names := func(i store.Importance) (names []string) {
		for _, c := range i.Columns {
			names = append(names, c.Name)
		}
		return names
	}
	// A parameter that some runs lack is not the same in all of them. The metric lr is no parameter.
	if fmt.Sprint(names(got)) != "[lr seed same]" || !got.Columns[0].Known() || got.Columns[1].Known() {
		t.Errorf("%+v", got.Columns)
	}
	got = must(b.importance(store.ImportanceQuery{Target: "metric.loss", Filter: "param.same = 'x'"}))(t)
	if got.Total != 60 || got.Runs != 60 || fmt.Sprint(names(got)) != "[lr seed]" {
		t.Errorf("with a filter: %+v", got)
	}
	if got = must(b.importance(store.ImportanceQuery{Target: "metric.loss"}))(t); got.Runs != 60 || got.NaN != 3 {
		t.Errorf("without a goal: runs %d, NaN %d", got.Runs, got.NaN)
	}
	if got = must(b.importance(store.ImportanceQuery{Target: "metric.unknown"}))(t); got.Missing != 64 || len(got.Columns) > 0 {
		t.Errorf("of a metric that is not there: %+v", got)
	}
	if got = must(b.importance(store.ImportanceQuery{}))(t); got.Total != 0 {
		t.Errorf("without a target: %+v", got)
	}
	// Runs in the trash do not count.
	wantOK(t, b.DeleteIteration(ctx, store.System, b.iteration))
	if got = must(b.importance(store.ImportanceQuery{Target: "metric.loss"}))(t); got.Total != 63 || got.Missing != 0 {
		t.Errorf("after a deletion: %+v", got)
	}
	for _, q := range []store.ImportanceQuery{{Target: "param.lr"}, {Target: "metric.a, metric.b"}, {Target: "metric."},
		{Target: "metric.loss", Filter: "("}, {Target: "metric.loss", Goal: "best"}} {
		_, err := b.importance(q)
		wantCode(t, err, store.CodeInvalidPayload)
	}
}

func TestGuessObjective(t *testing.T) {
	for want, names := range map[string][]string{
		"minimize val/loss":        {"amp/scale", "grad/norm", "system/gpu", "train/acc", "train/loss", "val/accuracy", "val/loss"},
		"maximize eval_accuracy":   {"epoch", "eval_accuracy", "train_loss_scale", "lr"},
		"minimize loss":            {"acc", "loss", "steps"},
		"maximize episode_reward":  {"episode_reward", "episode_length"},
		"minimize validation_rmse": {"mse", "validation_rmse"},
		"maximize test/f1":         {"test/f1", "train/f1"},
		"maximize mAP50":           {"mAP50", "mapping_seconds"},
		"":                         {"epoch", "lr", "system/cpu", "gradient_error", "across", "mapping", "value"},
	} {
		var keys []store.Key
		for _, name := range names {
			keys = append(keys, store.Key{Kind: store.MetricKey, Key: name}, store.Key{Kind: store.ParamKey, Key: "val/loss"})
		}
		got := ""
		if o := store.GuessObjective(keys); o != nil {
			got = fmt.Sprint(o.Goal, " ", o.Metric)
		}
		if got != want {
			t.Errorf("of %q: %q, want %q", names, got, want)
		}
	}
}

func TestGoalOf(t *testing.T) {
	for want, names := range map[store.Goal][]string{
		store.Minimize: {"loss", "train_loss", "reconloss", "Loss/7", "x.RMSE", "err", "a-err-b", "logloss2 loss3"},
		store.Maximize: {"acc", "F1", "top1_acc", "r2", "mAP50", "b.map", "é.acc", "acc2"},
		"":             {"", "losses", "errs", "across", "xacc", "accx", "system/loss", "Timing/err", "LAYER0/loss", "loss_scale"},
	} {
		for _, name := range names {
			if got := store.GoalOf(name); got != want {
				t.Errorf("of %q: %q, want %q", name, got, want)
			}
		}
	}
}

func BenchmarkGoalOf(b *testing.B) {
	name := strings.Repeat("0", 200)
	for b.Loop() {
		store.GoalOf(name)
	}
}

func BenchmarkImportanceOfRuns(bench *testing.B) {
	b := newBed(bench)
	for i := range 1000 {
		params := map[string]string{}
		for p := range 20 {
			params[fmt.Sprint("p", p)] = fmt.Sprint(i * (p + 7919) % 997)
		}
		b.run(bench, params, map[string]float64{"loss": float64(i * 7919 % 997)})
	}
	for bench.Loop() {
		must(b.importance(store.ImportanceQuery{Target: "metric.loss.min"}))(bench)
	}
}
