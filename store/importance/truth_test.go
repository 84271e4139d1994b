package importance_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"tracker/store/goal"
	"tracker/store/importance"
)

// The tests in this file use functions whose true effects are known.

// tuned returns a sweep in which the best learning rate depends on the optimizer: 0.032 for sgd, 1e-3
// for adamw and 1e-4 for lion. Each optimizer is equally good at its best rate.
func tuned(runs int, seed uint64) *table {
	random := rand.New(rand.NewPCG(seed, 9))
	t := &table{target: make([]float64, runs), aim: goal.Minimize}
	names := []string{"sgd", "adamw", "lion"}
	best := map[string]float64{"sgd": -1.5, "adamw": -3, "lion": -4}
	rates, optimizers := make([]float64, runs), make([]string, runs)
	for i := range runs {
		rates[i], optimizers[i] = -5+4*random.Float64(), names[random.IntN(3)]
		off := rates[i] - best[optimizers[i]]
		t.target[i] = 1 + off*off + 0.05*random.NormFloat64()
	}
	t.add("lr", func(i int) any { return math.Pow(10, rates[i]) })
	t.add("optimizer", func(i int) any { return optimizers[i] })
	t.add("dropout", func(i int) any {
		v := random.Float64() / 2
		t.target[i] += 0.5 * v
		return v
	})
	for _, name := range []string{"seed", "width", "warmup"} {
		t.add(name, func(int) any { return random.IntN(1000) })
	}
	return t
}

func value(t *testing.T, text string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatalf("%q is not a number", text)
	}
	return f
}

// The best learning rate depends on the optimizer, and no optimizer is the best or the worst.
func TestInteraction(t *testing.T) {
	t.Parallel()
	for _, runs := range []int{300, 1000, 10_000} {
		t.Run(fmt.Sprint(runs), func(t *testing.T) {
			r := tuned(runs, 1).estimate(t)
			if len(r.Interactions) != 1 || r.Interactions[0].A != "lr" || r.Interactions[0].B != "optimizer" {
				t.Errorf("interactions %+v, want lr and optimizer", r.Interactions)
			}
			lr := find(t, r, "lr")
			if lr.Shape != importance.Unknown || lr.With != "optimizer" {
				t.Errorf("lr is %+v with %s, want no shape that holds for every optimizer", lr.Form, lr.With)
			}
			want := map[string]float64{"sgd": -1.5, "adamw": -3, "lion": -4}
			for _, l := range lr.Levels {
				at := math.Log10(value(t, l.Min.At))
				if math.Abs(at-want[l.From]) > 0.6 {
					t.Errorf("%s: best at 10^%.1f, want 10^%.1f", l.From, at, want[l.From])
				}
			}
			if len(lr.Levels) != 3 {
				t.Errorf("%d levels", len(lr.Levels))
			}
			if o := find(t, r, "optimizer"); o.Shape != importance.Unknown {
				t.Errorf("optimizer is %+v, want none that is best when tuned: %+v", o.Form, o.Tuned)
			}
			if d := find(t, r, "dropout"); d.Known && d.Shape != importance.Rising && d.Shape != importance.Unknown {
				t.Errorf("dropout is %+v", d.Form)
			}
		})
	}
}

// If one of two optimizers is better when well tuned, it is reported as the best, even if its
// mean is worse.
func TestTuned(t *testing.T) {
	t.Parallel()
	for _, aim := range []goal.Goal{goal.Minimize, goal.Maximize} {
		random := rand.New(rand.NewPCG(1, 8))
		all := &table{target: make([]float64, 400), aim: aim}
		rates, kinds := make([]float64, 400), make([]string, 400)
		for i := range rates {
			rates[i], kinds[i] = 4*random.Float64(), []string{"narrow", "wide"}[random.IntN(2)]
			off := rates[i] - 1
			all.target[i] = 1 + 0.1*off*off
			if kinds[i] == "narrow" {
				all.target[i] = 0.5 + off*off
			}
			all.target[i] += 0.05 * random.NormFloat64()
			if aim == goal.Maximize {
				all.target[i] *= -1
			}
		}
		all.add("rate", func(i int) any { return rates[i] })
		all.add("kind", func(i int) any { return kinds[i] })
		all.add("noise", func(int) any { return random.Float64() })
		e := find(t, all.estimate(t), "kind")
		best, worst := e.Min.At, e.Max.At
		if aim == goal.Maximize {
			best, worst = worst, best
		}
		if e.Shape != importance.Between || best != "narrow" || worst != "wide" {
			t.Errorf("%s: %+v, tuned %+v", aim, e.Form, e.Tuned)
		}
	}
}

// If three optimizers are equally good when well tuned, one of them is only rarely reported as
// the best or the worst.
func TestEquallyGood(t *testing.T) {
	t.Parallel()
	told := 0
	for seed := range uint64(20) {
		if o := find(t, tuned(100+15*int(seed), seed).estimate(t), "optimizer"); o.Shape != importance.Unknown {
			told++
		}
	}
	t.Logf("%d of 20 had a best or worst optimizer", told)
	if told > 2 {
		t.Errorf("%d of 20 had a best or worst optimizer", told)
	}
}

// A valley is never described as a slope, wherever its lowest point is. A slope is recognized with
// few and with many runs. A curve through noise alone has no form.
func TestForms(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		effect func(x float64) float64
		wrong  []importance.Shape // shapes that must not be reported
		want   importance.Shape   // shape from 300 runs on
		at     float64            // the lowest point inside a valley
	}{
		"valley":               {func(x float64) float64 { return 4 * (x - 0.5) * (x - 0.5) }, []importance.Shape{importance.Rising, importance.Falling, importance.Highest}, importance.Lowest, 0.5},
		"valley near the edge": {func(x float64) float64 { return 2 * (x - 0.8) * (x - 0.8) }, []importance.Shape{importance.Rising, importance.Highest}, "", 0.8},
		"peak":                 {func(x float64) float64 { return -4 * (x - 0.4) * (x - 0.4) }, []importance.Shape{importance.Rising, importance.Falling, importance.Lowest}, importance.Highest, 0.4},
		"slope":                {func(x float64) float64 { return x }, []importance.Shape{importance.Falling, importance.Lowest, importance.Highest}, importance.Rising, 0},
		"weak slope":           {func(x float64) float64 { return -0.5 * x }, []importance.Shape{importance.Rising, importance.Lowest, importance.Highest}, "", 0},
		"noise":                {func(float64) float64 { return 0 }, []importance.Shape{importance.Rising, importance.Falling, importance.Lowest, importance.Highest}, "", 0},
		"waves":                {func(x float64) float64 { return 0.5 * math.Sin(12*x) }, []importance.Shape{importance.Rising, importance.Falling}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			for _, runs := range []int{20, 50, 100, 300, 1000, 10_000} {
				wrong, right, far := 0, 0, 0
				seeds := uint64(5)
				if runs > 1000 {
					seeds = 1
				}
				for seed := range seeds {
					random := rand.New(rand.NewPCG(seed, uint64(runs)))
					all := &table{target: make([]float64, runs), aim: goal.Minimize}
					for i := range all.target {
						all.target[i] = 0.15 * random.NormFloat64()
					}
					all.add("x", func(i int) any {
						x := random.Float64()
						all.target[i] += c.effect(x)
						return x
					})
					all.add("y", func(i int) any {
						y := random.Float64()
						all.target[i] += 0.5 * y
						return y
					})
					all.add("z", func(int) any { return random.Float64() })
					e := find(t, all.estimate(t), "x")
					for _, shape := range c.wrong {
						if e.Shape == shape {
							wrong++
						}
					}
					if e.Shape == c.want {
						right++
						if c.want == importance.Lowest && math.Abs(value(t, e.Min.At)-c.at) > 0.15 {
							far++
						}
					}
				}
				t.Logf("%d runs: %d wrong, %d right, %d far of %d", runs, wrong, right, far, seeds)
				if wrong > 1 || wrong > 0 && runs >= 100 || far > 0 && runs > 100 || far > 1 {
					t.Errorf("%d runs: %d wrong of %d, %d of them far from the true optimum", runs, wrong, seeds, far)
				}
				if c.want != "" && runs >= 300 && right < int(seeds) {
					t.Errorf("%d runs: %d right of %d", runs, right, seeds)
				}
			}
		})
	}
}

// If no parameter has an effect, none is reported in nearly all tables. The probability that any
// of them is reported is at most 5 %.
func TestNoiseOnly(t *testing.T) {
	t.Parallel()
	named, interactions := 0, 0
	const tables = 50
	for seed := range uint64(tables) {
		random := rand.New(rand.NewPCG(seed, 7))
		all := &table{target: make([]float64, 20+int(seed)*10), aim: goal.Minimize}
		for i := range all.target {
			all.target[i] = random.NormFloat64()
		}
		for c := range 10 {
			all.add(fmt.Sprint("p", c), func(int) any {
				if c%3 == 0 {
					return []string{"a", "b", "c"}[random.IntN(3)]
				}
				return random.Float64()
			})
		}
		r := all.estimate(t)
		for _, e := range r.Columns {
			if e.Known {
				named++
				break
			}
		}
		interactions += len(r.Interactions)
	}
	t.Logf("a parameter was named in %d of %d tables", named, tables)
	if named > 4 || interactions > 1 {
		t.Errorf("a parameter was named in %d of %d tables, %d interactions", named, tables, interactions)
	}
}

// Two numbers interact: the sign of one number determines the direction of the other number's
// effect.
func TestNumbersInteract(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 3))
	all := &table{target: make([]float64, 500), aim: goal.Maximize}
	x, y := make([]float64, 500), make([]float64, 500)
	for i := range x {
		x[i], y[i] = 2*random.Float64()-1, 2*random.Float64()-1
		all.target[i] = x[i]*y[i] + 0.05*random.NormFloat64()
	}
	all.add("x", func(i int) any { return x[i] })
	all.add("y", func(i int) any { return y[i] })
	all.add("noise", func(int) any { return random.Float64() })
	r := all.estimate(t)
	if len(r.Interactions) != 1 || r.Interactions[0].Share < 0.4 {
		t.Errorf("%+v, want x and y with most of the variance", r.Interactions)
	}
	e := find(t, r, "x")
	if e.Shape != importance.Unknown || len(e.Levels) != 3 || e.Levels[0].Shape != importance.Falling || e.Levels[2].Shape != importance.Rising {
		t.Errorf("x is %+v with levels %+v", e.Form, e.Levels)
	}
}

// The true ratio of the best learning rates of two optimizers is inside the confidence interval
// or above it: with few runs, curves are flat and the estimated ratio is too small.
func TestContrast(t *testing.T) {
	t.Parallel()
	best := map[string]float64{"sgd": -1.5, "adamw": -3, "lion": -4}
	for runs, seeds := range map[int]uint64{40: 6, 300: 6, 1000: 6, 10_000: 1} {
		found, wrong := 0, 0
		for seed := range seeds {
			lr := find(t, tuned(runs, seed).estimate(t), "lr")
			if lr.Contrast == nil {
				continue
			}
			found++
			more, less := lr.Levels[lr.Contrast.More].From, lr.Levels[lr.Contrast.Less].From
			if truth := math.Pow(10, best[more]-best[less]); truth < lr.Contrast.RatioLow || runs >= 1000 && truth > lr.Contrast.RatioHigh {
				t.Logf("%d runs, seed %d: %s wants %.0f times (%.0f to %.0f) more than %s, not %.0f times", runs, seed, more,
					lr.Contrast.Ratio, lr.Contrast.RatioLow, lr.Contrast.RatioHigh, less, truth)
				wrong++
			}
		}
		if wrong > 1 || runs >= 1000 && found < int(seeds)-1 {
			t.Errorf("%d runs: %d of %d contrasts found, %d wrong", runs, found, seeds, wrong)
		}
	}
}
