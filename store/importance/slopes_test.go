package importance

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"tracker/store/goal"
)

// shapes holds functions from the distance to the best learning rate, in powers of ten, to the
// result.
var shapes = map[string]func(d float64) float64{
	"parabola": func(d float64) float64 { return 0.4 * d * d },
	"valley":   func(d float64) float64 { return math.Abs(d) },
	"cliff": func(d float64) float64 { // diverges soon above the best learning rate
		if d > 0.7 {
			return 5
		}
		return 0.3 * max(0, -d)
	},
	"plateau": func(d float64) float64 { return 1 - math.Exp(-d*d/2) },
}

// search returns the columns of a random search over a learning rate and two kinds, a and b. The
// best learning rate of kind b is 10^apart times as large as the best learning rate of kind a.
func search(runs int, apart, offset, noise float64, shape func(float64) float64, seed uint64) (*table, *Result, []float64) {
	random := rand.New(rand.NewPCG(seed, 77))
	rates, kinds, others := make([]*string, runs), make([]*string, runs), make([]*string, runs)
	target := make([]float64, runs)
	for i := range runs {
		z, kind, best := -5+4*random.Float64(), "a", -3-apart/2
		if random.IntN(2) == 1 {
			kind, best = "b", -3+apart/2
			target[i] = offset
		}
		rates[i], kinds[i] = new(strconv.FormatFloat(math.Pow(10, z), 'g', 4, 64)), &kind
		others[i] = new(strconv.Itoa(32 << random.IntN(4)))
		target[i] += shape(z-best) + noise*random.NormFloat64()
	}
	t := &table{y: ranks(target), aim: goal.Minimize}
	r := &Result{Runs: runs}
	for name, values := range map[string][]*string{"lr": rates, "kind": kinds, "batch": others} {
		c := encode(values)
		t.columns, t.groups = append(t.columns, c), append(t.groups, group(c))
		r.Columns = append(r.Columns, Estimate{Name: name})
	}
	return t, r, slices.Sorted(slices.Values(target))
}

// A few runs are enough to find best learning rates that differ by a factor of 100. The reported
// lower end of the ratio is seldom too large. Equal best learning rates are not reported as
// different, whatever the shape, the noise and the difference between the kinds.
func TestShifts(t *testing.T) {
	t.Parallel()
	const seeds = 200
	for name, shape := range shapes {
		for _, runs := range []int{30, 60, 200, 500} {
			for _, apart := range []float64{0, 2} {
				for _, noise := range []float64{0.1, 0.5} {
					found, tooLarge := 0, 0
					for seed := range uint64(seeds) {
						table, r, sorted := search(runs, apart, []float64{0, 0.3, 1}[seed%3], noise, shape, seed)
						table.shifts(r, sorted)
						for _, e := range r.Columns {
							if e.Contrast == nil {
								continue
							}
							found++
							if e.Name != "lr" || e.Contrast.RatioLow > math.Pow(10, apart) || e.Levels[e.Contrast.More].From != "b" {
								tooLarge++
							}
						}
					}
					if tooLarge > seeds*6/100 || apart == 0 && found > 0 {
						t.Errorf("%s, %d runs, %g apart, noise %g: %d of %d contrasts are wrong", name, runs, apart, noise, tooLarge, found)
					}
					if name == "parabola" && apart > 0 && noise == 0.1 && runs >= 60 && found < seeds/3 {
						t.Errorf("%d runs: %d of %d contrasts found", runs, found, seeds)
					}
				}
			}
		}
	}
}
