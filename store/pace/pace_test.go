package pace

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tracker/store/scalar"
)

var start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// clock writes points with known distances.
type clock struct {
	at   time.Time
	step int64
	all  []Sample
}

// run adds n steps that take d each.
func (c *clock) run(n int, d time.Duration) *clock {
	for range n {
		c.step, c.at = c.step+1, c.at.Add(d)
		c.all = append(c.all, Sample{scalar.Step(c.step), scalar.Value(c.step) / 100, scalar.TimeOf(c.at)})
	}
	return c
}

func (c *clock) metric() Metric {
	if len(c.all) == 0 {
		return Metric{}
	}
	return Metric{"loss", c.all[0], c.all[max(0, len(c.all)-TailPoints):]}
}

func begin() *clock { return &clock{at: start} }

// TestPace checks the estimates for runs with a known speed.
func TestPace(t *testing.T) {
	const second = time.Second
	for _, c := range []struct {
		name     string
		points   *clock
		silent   time.Duration // time between the last point and now
		params   map[string]string
		epochs   bool // whether a metric epoch counts hundreds of steps
		alike    bool
		siblings []float64
		want     string
	}{
		{name: "no points", points: begin(), want: ""},
		{name: "one point", points: begin().run(1, second), want: ""},
		{name: "two a second", points: begin().run(100, second/2), want: "2.0 steps/s"},
		{name: "one in four seconds", points: begin().run(100, 4*second), want: "4.0 s a step"},
		{name: "max_steps", points: begin().run(100, second), params: map[string]string{"trainer.max_steps": "400"},
			want: "1.0 steps/s; 100 of 400 steps (trainer.max_steps), 5m0s left"},
		{name: "unset max_steps", points: begin().run(100, second), params: map[string]string{"max_steps": "-1", "total_steps": "nan"}, want: "1.0 steps/s"},
		{name: "total below the step", points: begin().run(100, second), params: map[string]string{"max_steps": "50"}, want: "1.0 steps/s"},
		{name: "epochs without a metric", points: begin().run(100, second), params: map[string]string{"epochs": "400"}, want: "1.0 steps/s"},
		{name: "steps that are epochs", points: begin().run(100, second), params: map[string]string{"epochs": "400"}, alike: true,
			want: "1.0 steps/s; 100 of 400 epochs (epochs), 5m0s left"},
		{name: "epochs", points: begin().run(200, second), params: map[string]string{"num_train_epochs": "3"}, epochs: true,
			want: "1.0 steps/s; 2 of 3 epochs (num_train_epochs), 1m40s left"},
		{name: "max_steps before epochs", points: begin().run(200, second), params: map[string]string{"num_train_epochs": "3", "max_steps": "300"},
			want: "1.0 steps/s; 200 of 300 steps (max_steps), 1m40s left"},

		// The rate is computed from the latest steps. At first, the run was four times as fast.
		{name: "slower", points: begin().run(1000, second/4).run(300, second), params: map[string]string{"max_steps": "1600"},
			want: "1.0 steps/s; 1300 of 1600 steps (max_steps), 5m0s left; Slower than before: 1.0 steps/s in the last 3 minutes, after"},
		{name: "much slower", points: begin().run(1000, second/4).run(190, 4*second), // at first 1115 steps in 710 s
			want: "4.0 s a step; Slower than before: 4.0 s a step in the last 5 minutes, after 0.64 s a step."},
		{name: "faster", points: begin().run(300, second).run(1500, second/4), want: "4.0 steps/s"},
		{name: "a little slower", points: begin().run(1000, second/4).run(1000, second*2/5), want: "2.5 steps/s"},
		{name: "young", points: begin().run(10, second/4).run(20, second), want: "1.3 steps/s"}, // 29 steps in 22.25 s
		{name: "silent", points: begin().run(300, second), silent: 10 * time.Minute,
			want: "4.0 s a step; No step for 10 minutes. Before, the mean speed was 1.0 steps/s."},
		{name: "silent for a moment", points: begin().run(300, second), silent: 100 * second, want: "1.0 steps/s"},
		{name: "a point each hour", points: begin().run(20, time.Hour), silent: 2 * time.Hour, want: "1.0 h a step"},
		{name: "validation", points: begin().run(100, second).run(1, 3*time.Minute).run(150, second), silent: 4 * time.Minute, want: "1.0 steps/s"},

		{name: "siblings", points: begin().run(100, second), siblings: []float64{4, 2.2, 3, 1}, want: "1.0 steps/s; Slower than other runs: 1.0 steps/s, and the median of 4 other runs of the experiment is 2.6 steps/s."},
		{name: "siblings a little faster", points: begin().run(100, second), siblings: []float64{2, 2, 2}, want: "1.0 steps/s"},
		{name: "two siblings", points: begin().run(100, second), siblings: []float64{4, 4}, want: "1.0 steps/s"},
	} {
		now := scalar.TimeOf(c.points.at.Add(c.silent))
		in := Input{Now: now, Params: c.params, Main: c.points.metric(), Total: TotalOf(c.params), StepsAreEpochs: c.alike, Siblings: c.siblings}
		if c.epochs {
			in.Counter = new(in.Main)
		}
		p := Of(in)
		got := []string{}
		if p.Rate > 0 {
			got = append(got, PerSecond(p.Rate))
		}
		if g := p.Progress; g != nil {
			got = append(got, fmt.Sprintf("%g of %g %s (%s), %v left", g.Done, g.Of, g.Unit, g.Param, g.Left))
		}
		if p.Slow != "" {
			got = append(got, p.Slow)
		}
		text := strings.Join(got, "; ")
		if text != c.want && (!strings.HasSuffix(c.want, "after") || !strings.HasPrefix(text, c.want)) {
			t.Errorf("%s: %s, want %s", c.name, text, c.want)
		}
	}
}

func TestTotalOf(t *testing.T) {
	for _, c := range []struct {
		params map[string]string
		want   string
	}{
		{map[string]string{"lr": "3"}, ""},
		{map[string]string{"epochs": " 30 "}, "epochs 30 epochs"},
		{map[string]string{"a/epochs": "30", "train/cfg.epochs": "20"}, "a/epochs 30 epochs"},
		{map[string]string{"EPOCHS": "30"}, "EPOCHS 30 epochs"},
		{map[string]string{"warmup_epochs": "3"}, ""},
		{map[string]string{"epochs": "Infinity"}, ""},
		{map[string]string{"epochs": "many"}, ""},
		{map[string]string{"max_steps": "0", "max_epochs": "7"}, "max_epochs 7 epochs"},
	} {
		got := ""
		if total := TotalOf(c.params); total != nil {
			got = fmt.Sprintf("%s %g %s", total.Param, total.Of, total.Unit)
		}
		if got != c.want {
			t.Errorf("%v: %s, want %s", c.params, got, c.want)
		}
	}
	if got := CounterOf(Epochs, []string{"val/epoch", "loss", "epoch_time", "epoch"}); got != "epoch" {
		t.Errorf("the counter of epochs is %q", got)
	}
	if got := CounterOf(Steps, []string{"step", "train/global_step", "epoch"}); got != "train/global_step" {
		t.Errorf("the counter of steps is %q", got)
	}
}
