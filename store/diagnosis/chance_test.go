package diagnosis

import (
	"fmt"
	"math"
	"testing"
)

func TestFisher(t *testing.T) {
	for _, c := range []struct {
		k, n, K, N int
		want       float64
	}{
		{3, 4, 4, 8, 17.0 / 70}, // the lady tasting tea: 16/70 for three cups and 1/70 for all four
		{4, 4, 4, 8, 1.0 / 70},
		{0, 4, 4, 8, 1},
		{1, 1, 1, 20, 1.0 / 20},
		{2, 2, 5, 5, 1},
	} {
		if got := fisher(c.k, c.n, c.K, c.N); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: got %g", c, got)
		}
	}
}

func TestRankSum(t *testing.T) {
	// Three values above five others: 2 of the 56 subsets are as extreme.
	if got := rankSum([]float64{6, 7, 8}, []float64{1, 2, 3, 4, 5}); math.Abs(got-2.0/56) > 1e-12 {
		t.Errorf("separate: got %g", got)
	}
	if got := rankSum([]float64{1, 1}, []float64{1, 1, 1}); got != 1 {
		t.Errorf("all equal: got %g", got)
	}
	many := make([]float64, 40)
	if got := rankSum(many, many); got != 1 {
		t.Errorf("many equal: got %g", got)
	}
	// The exact p-value and the approximation agree: 12 ranks of 1 to 24, without ties.
	ranks := make([]int, 24)
	for i := range ranks {
		ranks[i] = 2 * (i + 1)
	}
	for sum := 200; sum <= 300; sum += 20 {
		exact, near := exactRankSum(ranks, 12, sum, 300), normalRankSum(12, 12, 0, float64(300-sum))
		if math.Abs(exact-near) > 0.01 {
			t.Errorf("sum %d: exact %g, approximate %g", sum, exact, near)
		}
	}
}

func TestHolm(t *testing.T) {
	if got := fmt.Sprint(holm([]float64{0.01, 0.04, 0.03, 0.5})); got != "[0.04 0.09 0.09 0.5]" {
		t.Error(got)
	}
}

func TestSpread(t *testing.T) {
	if middle, sd := spread([]float64{1, 2, 3, 4, 1000}); middle != 3 || sd != 1.4826 {
		t.Errorf("%g and %g", middle, sd)
	}
}
