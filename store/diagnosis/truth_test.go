package diagnosis_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"tracker/store/diagnosis"
)

// The tests in this file use runs for which the correct diagnosis is known.

// curve is a metric with a value for each step.
type curve struct {
	key   string
	every int64 // steps from one value to the next
	at    func(step int64) float64
}

// lab holds a run with its metrics, and finished runs.
type lab struct {
	curves   []curve
	steps    int64
	finished map[string][]diagnosis.Series
	whole    map[string]diagnosis.Series
	reads    int
}

// points is the maximum number of values of a series.
const points = 500

// read returns a part of a metric as the store returns it: whole, or reduced to buckets.
func (l *lab) read(key string, from, to int64) (diagnosis.Series, error) {
	l.reads++
	if l.whole == nil {
		l.whole = map[string]diagnosis.Series{}
		for _, c := range l.curves {
			s := diagnosis.Series{Key: c.key}
			for step := c.every - 1; step < l.steps; step += c.every {
				s.Step, s.Value = append(s.Step, step), append(s.Value, c.at(step))
			}
			l.whole[c.key] = s
		}
	}
	s := l.whole[key]
	first, _ := slices.BinarySearch(s.Step, from)
	end := sort.Search(len(s.Step), func(i int) bool { return s.Step[i] > to })
	s.Step, s.Value = s.Step[first:end], s.Value[first:end]
	return reduced(s), nil
}

func reduced(s diagnosis.Series) diagnosis.Series {
	n := len(s.Step)
	if n <= points {
		return s
	}
	r := diagnosis.Series{Key: s.Key}
	width := (n + points - 1) / points
	for from := 0; from < n; from += width {
		low, high := math.NaN(), math.NaN()
		end := min(n, from+width)
		for _, v := range s.Value[from:end] {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				low, high = fmin(low, v), -fmin(-high, -v)
			}
		}
		r.Step, r.Value = append(r.Step, s.Step[end-1]), append(r.Value, s.Value[end-1])
		r.Low, r.High = append(r.Low, low), append(r.High, high)
	}
	return r
}

func fmin(a, b float64) float64 {
	if math.IsNaN(a) || b < a {
		return b
	}
	return a
}

func (l *lab) input(f diagnosis.Failure) diagnosis.Input {
	in := diagnosis.Input{Failure: f, LastSeen: "2026-11-21 09:30:00 UTC", Read: l.read, Finished: 57,
		Siblings: func(key string) ([]diagnosis.Series, error) { return l.finished[key], nil }}
	for _, c := range l.curves {
		s, _ := l.read(c.key, math.MinInt64, math.MaxInt64)
		in.Series = append(in.Series, s)
	}
	return in
}

// texts returns the kind and the sentence of each finding.
func (l *lab) texts(t testing.TB, in diagnosis.Input) (all []string) {
	t.Helper()
	d, err := diagnosis.Of(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range d.Findings {
		all = append(all, string(f.Kind)+": "+f.Text)
	}
	return all
}

func wants(t testing.TB, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// falling returns a loss with noise.
func falling(r *rand.Rand, from, to, half, noise float64) func(int64) float64 {
	values := map[int64]float64{}
	return func(step int64) float64 {
		if _, ok := values[step]; !ok {
			values[step] = (to + (from-to)/(1+float64(step)/half)) * math.Exp(noise*r.NormFloat64())
		}
		return values[step]
	}
}

var failed = diagnosis.Failure{Outcome: diagnosis.Failed, Message: "FloatingPointError: the loss is nan",
	Crash: diagnosis.Recognise([]string{"FloatingPointError: the loss is nan"})}

const failedText = "end: The run failed with FloatingPointError: the loss is nan."

// explosion returns a run whose gradient explodes at the step from, and whose loss is NaN ten
// steps later. The metric other does not change.
func explosion(steps, from int64, seed uint64) *lab {
	r := rand.New(rand.NewPCG(seed, 1))
	loss, norm, other := falling(r, 9, 2, 30, 0.03), falling(r, 3, 1, 30, 0.2), falling(r, 1, 1, 1, 0.1)
	return &lab{steps: steps, curves: []curve{
		{"train/loss", 1, func(step int64) float64 {
			if step >= from+10 {
				return math.NaN()
			}
			return loss(step)
		}},
		{"grad_norm", 1, func(step int64) float64 {
			if step >= from {
				return norm(step) * math.Exp(float64(min(step-from, 10))/2)
			}
			return norm(step)
		}},
		{"other", 1, other},
		{"epoch", 1, func(step int64) float64 { return float64(step) / 100 }},
		{"val/loss", 20, func(step int64) float64 {
			if step >= from+10 {
				return math.NaN()
			}
			return loss(step) + 1
		}},
	}}
}

func TestNaNAfterExplosion(t *testing.T) {
	for _, c := range []struct{ steps, from int64 }{{200, 160}, {5_000, 3_333}, {100_000, 99_983}, {30_000, 200}} {
		for seed := range uint64(6) {
			l := explosion(c.steps, c.from, seed)
			d, err := diagnosis.Of(l.input(failed))
			if err != nil {
				t.Fatal(err)
			}
			name := fmt.Sprintf("%d steps, from %d, seed %d", c.steps, c.from, seed)
			if len(d.Findings) < 2 || d.Findings[1].Kind != diagnosis.BadValue || *d.Findings[1].Step != c.from+10 || d.Findings[1].Key != "train/loss" {
				t.Errorf("%s: %+v", name, d.Findings)
				continue
			}
			moved := 0
			for _, f := range d.Findings[2:] {
				if f.Kind == diagnosis.Moved && f.Key == "grad_norm" && strings.Contains(f.Text, "rose") && *f.Step <= c.from+10 && *f.Step > c.from {
					moved++
				} else {
					t.Errorf("%s: %+v", name, f)
				}
			}
			if moved != 1 {
				t.Errorf("%s: the explosion of the gradient is missing: %+v", name, d.Findings)
			}
			if l.reads > 60 {
				t.Errorf("%s: %d reads", name, l.reads)
			}
		}
	}
	l := explosion(200, 160, 1)
	wants(t, l.texts(t, l.input(failed)), failedText,
		"bad_value: train/loss is NaN from step 170 on. The same applies to val/loss from step 179.",
		"moved: grad_norm rose 87-fold between steps 161 and 169, from 1.6 to 139.")
}

// TestHealthy explains runs without anything unusual.
func TestHealthy(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		spiky := falling(r, 2, 1, 30, 0.3)
		l := &lab{steps: []int64{30, 400, 20_000}[seed%3], curves: []curve{
			{"train/loss", 1, falling(r, 9, 0.01, 30, 0.1)},
			{"grad_norm", 1, func(step int64) float64 {
				if step%17 == 3 {
					return 50 * spiky(step)
				}
				return spiky(step)
			}},
			{"lr", 1, func(step int64) float64 { return math.Min(1e-3, 1e-5*float64(step+1)) }},
			{"tokens", 1, func(step int64) float64 { return 480_000 * float64(step) }},
			{"val/loss", 5, func(step int64) float64 { return 1 + math.Pow(float64(step)/400-1, 2) }}, // overfits
			{"val/auc", 5, func(int64) float64 { return 0 }},
			{"undefined", 5, func(int64) float64 { return 1 }},
			{"reward", 1, func(step int64) float64 { return float64(step) - 100 }},
		}}
		if got := l.texts(t, l.input(diagnosis.Failure{Outcome: diagnosis.Succeeded})); len(got) > 0 {
			t.Errorf("seed %d: %q", seed, got)
		}
	}
}

// TestStart explains a loss that is NaN from the first step, and a metric that is NaN in all runs.
func TestStart(t *testing.T) {
	nan := func(int64) float64 { return math.NaN() }
	l := &lab{steps: 30, curves: []curve{{"train/loss", 1, nan}, {"val/auc", 10, nan}}, finished: map[string][]diagnosis.Series{}}
	wants(t, l.texts(t, l.input(diagnosis.Failure{Outcome: diagnosis.Running})),
		"bad_value: train/loss is NaN from its first step on.")
	for _, key := range []string{"val/auc", "train/loss"} {
		for range 10 {
			l.finished[key] = append(l.finished[key], diagnosis.Series{Key: key, Step: []int64{9, 19}, Value: []float64{1, math.NaN()}})
		}
	}
	wants(t, l.texts(t, l.input(diagnosis.Failure{Outcome: diagnosis.Running})))
}

// TestExploded explains a loss that stays finite.
func TestExploded(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 3))
		loss := falling(r, 9, 2, 30, 0.05)
		from := 100 + r.Int64N(800)
		l := &lab{steps: 1000, curves: []curve{{"train/loss", 1, func(step int64) float64 {
			if step >= from {
				return 30 * loss(step)
			}
			return loss(step)
		}}}}
		d, err := diagnosis.Of(l.input(diagnosis.Failure{Outcome: diagnosis.Succeeded}))
		// The curve has a value for every second step.
		if err != nil || len(d.Findings) != 1 || d.Findings[0].Kind != diagnosis.BadValue || *d.Findings[0].Step < from || *d.Findings[0].Step > from+2 {
			t.Errorf("seed %d, from %d: %+v %v", seed, from, d.Findings, err)
		}
	}
}

func TestEnds(t *testing.T) {
	l := &lab{}
	for _, c := range []struct {
		outcome diagnosis.Outcome
		text    string
		want    string
	}{
		{diagnosis.Failed, traceback, "The run failed with ValueError: the batch 17 at 0x7f3a81 has 31 rows. In train.py line 41, function step."},
		{diagnosis.Failed, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
			"The run failed with a lack of GPU memory: CUDA out of memory. Tried to allocate 2.00 GiB."},
		{diagnosis.Failed, "exit code 137", "The run was ended by the signal SIGKILL: exit code 137."},
		{diagnosis.Failed, "exit code 1", "The run failed: exit code 1."},
		{diagnosis.Failed, "", "The run failed without an error message."},
		{diagnosis.Killed, "Ended by SIGTERM.", "The run was ended by the signal SIGTERM."},
		{diagnosis.Killed, "Stopped by hand: the labels were not mixed.", "The run was killed: Stopped by hand: the labels were not mixed."},
		{diagnosis.Lost, "", "The run was lost: it was last seen at 2026-11-21 09:30:00 UTC and did not report its end."},
		{diagnosis.Lost, "epoch 3\nKilled", "The run was lost: it was last seen at 2026-11-21 09:30:00 UTC and did not report its end. " +
			"Its last lines show the signal SIGKILL: Killed."},
	} {
		f := diagnosis.Failure{Outcome: c.outcome, Message: c.text, Crash: diagnosis.Recognise(strings.Split(c.text, "\n"))}
		wants(t, l.texts(t, l.input(f)), "end: "+c.want)
	}
}

func TestMachine(t *testing.T) {
	l := &lab{}
	series := func(key string, values ...float64) diagnosis.Series {
		s := diagnosis.Series{Key: key, Value: values}
		for i := range values {
			s.Step, s.At = append(s.Step, int64(i)), append(s.At, int64(i)*15_000)
		}
		return s
	}
	at := func(outcome diagnosis.Outcome, end int64, system ...diagnosis.Series) (texts []string) {
		in := l.input(diagnosis.Failure{Outcome: outcome})
		in.System, in.End = system, end
		for _, text := range l.texts(t, in) {
			if of, ok := strings.CutPrefix(text, "system: "); ok {
				texts = append(texts, of)
			}
		}
		return texts
	}
	memory := series("system/memory_percent", 20, 40, 60, 80, 97.26)
	wants(t, at(diagnosis.Lost, 70_000, memory, series("system/gpu.1.memoryAllocated", 90, 99.5), series("system/disk_percent", 50, 50)),
		"Memory was 97.3% full in the last minute with measurements.", "The memory of GPU 1 was 99.5% full in the last minute with measurements.")
	wants(t, at(diagnosis.Lost, 700_000, memory)) // measured long before the end
	wants(t, at(diagnosis.Succeeded, 70_000, memory))
	wants(t, at(diagnosis.Failed, 70_000, series("system/memory_percent", 99, 50, 50, 50, 50, 50))) // not in the last minute
	wants(t, at(diagnosis.Failed, 70_000, series("system/gpu.0.memory_percent", 99, 99)))
	wants(t, at(diagnosis.Failed, 70_000, series("system/memory", 4e9, 4e9)))
	wants(t, at(diagnosis.Lost, 70_000, series("system/gpu.0.utilization_percent", 80, 0, 0, 0, 0, 0)), "GPU 0 was idle in the last minute with measurements.")
	for key, want := range map[string]bool{"system/memory_percent": true, "system/gpu.12.memory_percent": true, "system/cpu": true,
		"system/network.sent_bytes_per_second": false, "memory": false, "system/gpu.0.powerWatts": false} {
		if diagnosis.IsGauge(key) != want {
			t.Errorf("%s: %v", key, !want)
		}
	}
}

func TestBand(t *testing.T) {
	for _, n := range []int{5, 12, 57, 100} {
		for seed := range uint64(20) {
			r := rand.New(rand.NewPCG(seed, uint64(n)))
			l := &lab{steps: 300, finished: map[string][]diagnosis.Series{}}
			for range n {
				one := lab{steps: 300, curves: []curve{{"val/loss", 3, falling(r, 9, 2, 30, 0.05)}}}
				s, _ := one.read("val/loss", 0, 300)
				l.finished["val/loss"] = append(l.finished["val/loss"], s)
			}
			loss := falling(r, 9, 2, 30, 0)
			l.curves = []curve{{"val/loss", 1, func(step int64) float64 {
				if step >= 140 {
					return loss(step) * 1.6
				}
				return loss(step)
			}}}
			d, err := diagnosis.Of(l.input(diagnosis.Failure{Outcome: diagnosis.Failed}))
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(d.Findings, func(f diagnosis.Finding) bool { return f.Kind == diagnosis.Band })
			if n < 10 {
				if i >= 0 {
					t.Errorf("%d runs: %+v", n, d.Findings[i])
				}
				continue
			}
			if i < 0 || *d.Findings[i].Step != 140 || !strings.Contains(d.Findings[i].Text, "is above") {
				t.Errorf("%d runs, seed %d: %+v", n, seed, d.Findings)
			}
			// A better loss is not a finding.
			l.whole = nil
			l.curves[0].at = func(step int64) float64 { return loss(step) / 3 }
			if got := l.texts(t, l.input(diagnosis.Failure{Outcome: diagnosis.Failed})); len(got) != 1 {
				t.Errorf("a better run: %q", got)
			}
		}
	}
}

// column returns a parameter of runs.
func column(name string, n int, at func(i int) any) diagnosis.Column {
	c := diagnosis.Column{Name: name, Values: make([]*string, n)}
	for i := range n {
		if v := at(i); v != nil {
			text := fmt.Sprint(v)
			c.Values[i] = &text
		}
	}
	return c
}

func names(all []diagnosis.Trait) (names []string) {
	for _, t := range all {
		names = append(names, t.Name)
	}
	return names
}

func upTo(from, to int) (all []int) {
	for i := from; i < to; i++ {
		all = append(all, i)
	}
	return all
}

func TestTraits(t *testing.T) {
	for _, c := range []struct{ failed, finished int }{{34, 57}, {4, 20}, {4, 996}, {300, 700}, {1, 57}} {
		r := rand.New(rand.NewPCG(uint64(c.failed), uint64(c.finished)))
		n := c.failed + c.finished
		columns := []diagnosis.Column{
			column("lr", n, func(i int) any {
				if i < c.failed {
					return 0.3
				}
				return math.Pow(10, -4+1*r.Float64())
			}),
			column("optimizer", n, func(i int) any {
				if i < c.failed {
					return "sgd"
				}
				return []string{"adam", "lion"}[r.IntN(2)]
			}),
			column("dropout", n, func(int) any { return float64(r.IntN(5)) / 10 }),
			column("seed", n, func(int) any { return r.IntN(1_000_000) }),
			column("name", n, func(i int) any { return fmt.Sprint("run-", i) }),
			column("model", n, func(int) any { return "resnet" }),
			column("late", n, func(i int) any { return nil }),
		}
		got := diagnosis.Traits(columns, upTo(0, c.failed), upTo(c.failed, n), 0)
		want := []string{"lr", "optimizer"}
		if c.failed == 1 {
			want = want[:1] // a single choice among 58 runs could be chance
		}
		found := names(got)
		slices.Sort(found)
		if !slices.Equal(found, want) {
			t.Errorf("%+v: %+v", c, got)
		}
	}
	n := 57 + 3
	lr := column("lr", n, func(i int) any {
		if i < 3 {
			return 0.03
		}
		return 0.001 * float64(1+i%3) / 2
	})
	optimizer := column("optimizer", n, func(i int) any {
		if i < 3 {
			return "sgd"
		}
		return "adam"
	})
	got := diagnosis.Traits([]diagnosis.Column{lr, optimizer}, upTo(0, 3), upTo(3, n), 1)
	if len(got) != 2 || got[0].Text != "optimizer is sgd, as in 3 of the 3 runs that failed in the same way, and in none of the 57 runs that finished." ||
		got[1].Text != "lr is 0.03, 30 times the median of the 57 runs that finished; none of them had more than 0.0015. "+
			"In the 3 runs that failed in the same way, it is 0.03." {
		t.Errorf("%+v", got)
	}
	got = diagnosis.Traits([]diagnosis.Column{lr, optimizer}, upTo(0, 3), upTo(3, n), -1)
	if len(got) != 2 || got[0].Text != "optimizer is sgd in 3 of these 3 runs, and in none of the 57 runs that finished." ||
		got[1].Text != "lr is 0.03 in these runs, and 0.0005 to 0.0015 in the 57 runs that finished, with medians of 0.03 and 0.001." {
		t.Errorf("%+v", got)
	}
	if got := diagnosis.Traits([]diagnosis.Column{lr}, upTo(0, 3), upTo(3, 7), -1); got != nil {
		t.Errorf("with four finished runs: %+v", got)
	}
}

// TestTraitsByChance compares runs whose parameters do not affect whether they fail.
func TestTraitsByChance(t *testing.T) {
	const experiments = 1000
	for _, failed := range []int{1, 3, 20} {
		wrong := 0
		for seed := range uint64(experiments) {
			r := rand.New(rand.NewPCG(seed, uint64(failed)))
			n := failed + 40
			var columns []diagnosis.Column
			for i := range 6 {
				columns = append(columns,
					column(fmt.Sprint("number", i), n, func(int) any { return math.Pow(10, -5+4*r.Float64()) }),
					column(fmt.Sprint("grid", i), n, func(int) any { return 32 << r.IntN(4) }),
					column(fmt.Sprint("choice", i), n, func(int) any { return string(rune('a' + r.IntN(2+i))) }))
			}
			if len(diagnosis.Traits(columns, upTo(0, failed), upTo(failed, n), 0)) > 0 {
				wrong++
			}
		}
		if wrong > experiments*7/100 {
			t.Errorf("%d failed: %d of %d experiments name a parameter", failed, wrong, experiments)
		}
	}
}

func TestGroups(t *testing.T) {
	crash := func(text string) diagnosis.Failure {
		return diagnosis.Failure{Outcome: diagnosis.Failed, Message: text, Crash: diagnosis.Recognise(strings.Split(text, "\n"))}
	}
	failures := []diagnosis.Failure{
		crash("ValueError: row 3 is bad"), crash(traceback), crash("CUDA out of memory. Tried to allocate 1 GiB"), {Outcome: diagnosis.Lost},
		{Outcome: diagnosis.Succeeded, Diverged: []string{"train/loss"}}, crash("ValueError: row 41 is bad"), {Outcome: diagnosis.Lost},
		crash("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"), {Outcome: diagnosis.Failed}, {Outcome: diagnosis.Lost},
	}
	groups := diagnosis.Groups(failures)
	if got := fmt.Sprint(groups); !strings.Contains(got, "[3 6 9]") || !strings.Contains(got, "[0 5]") || !strings.Contains(got, "[2 7]") || len(groups) != 6 {
		t.Error(got)
	}
	for i, want := range []string{"ValueError: row 3 is bad.", "ValueError: the batch 17 at 0x7f3a81 has 31 rows.",
		"GPU out of memory: CUDA out of memory. Tried to allocate 1 GiB.", "The run was lost: it did not report its end.",
		"train/loss is NaN or infinite at the end."} {
		if got := failures[i].Cause(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for want, list := range map[bool][]diagnosis.Failure{
		true:  append(failures, diagnosis.Failure{Outcome: diagnosis.Killed, Diverged: []string{"loss"}}),
		false: {{Outcome: diagnosis.Succeeded}, {Outcome: diagnosis.Running}, {Outcome: diagnosis.Killed, Message: "Stopped by hand"}, {Outcome: diagnosis.Killed, Crash: diagnosis.Recognise([]string{"Ended by SIGTERM."})}},
	} {
		for _, f := range list {
			if f.Failed() != want {
				t.Errorf("%+v", f)
			}
		}
	}
}
