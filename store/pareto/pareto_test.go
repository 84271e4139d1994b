package pareto_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tracker/store/goal"
	"tracker/store/pareto"
)

func TestFront(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for name, c := range map[string]struct {
		x, y []float64
		want []int
	}{
		"none":           {nil, nil, nil},
		"one":            {[]float64{1}, []float64{1}, []int{0}},
		"stairs":         {[]float64{1, 2, 3, 3}, []float64{3, 2, 1, 4}, []int{0, 1, 2}},
		"equal points":   {[]float64{2, 1, 1, 2}, []float64{2, 1, 1, 1}, []int{1, 2}},
		"the same x":     {[]float64{1, 1, 1}, []float64{3, 1, 2}, []int{1}},
		"NaN":            {[]float64{nan, 1, 2}, []float64{0, nan, 2}, []int{2}},
		"infinite value": {[]float64{math.Inf(1), 1}, []float64{0, 1}, []int{1, 0}},
	} {
		if got := pareto.Front(c.x, c.y, goal.Minimize, goal.Minimize); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// The front has exactly the points that no other point dominates, for each pair of goals.
func TestFrontByDefinition(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{2, 20, 400} {
		x, y := make([]float64, n), make([]float64, n)
		for i := range n {
			x[i], y[i] = float64(random.IntN(30)), float64(random.IntN(30))
		}
		for _, goals := range [][2]goal.Goal{{goal.Minimize, goal.Minimize}, {goal.Maximize, goal.Minimize}, {goal.Minimize, goal.Maximize}, {goal.Maximize, goal.Maximize}} {
			worse := func(a, b float64, aim goal.Goal) bool {
				return aim == goal.Maximize && a < b || aim == goal.Minimize && a > b
			}
			got := pareto.Front(x, y, goals[0], goals[1])
			for i := range n {
				dominated := false
				for k := range n {
					dominated = dominated || !worse(x[k], x[i], goals[0]) && !worse(y[k], y[i], goals[1]) &&
						(worse(x[i], x[k], goals[0]) || worse(y[i], y[k], goals[1]))
				}
				if slices.Contains(got, i) == dominated {
					t.Errorf("%d points, %v: point %d (%g, %g): dominated %v, front %v", n, goals, i, x[i], y[i], dominated, got)
				}
			}
		}
	}
}
