package chart

import (
	"slices"
	"testing"

	"tracker/store/goal"
)

// Outliers do not flatten the curves of other runs. If many runs are as far away, or if the
// outliers are better, all values are shown.
func TestUsualRange(t *testing.T) {
	curve := func(low, high float64) ends { return ends{low, high} }
	for _, c := range []struct {
		name   string
		curves []ends
		better goal.Goal
		want   ends
	}{
		{"one run", []ends{curve(0, 1e9)}, "", ends{0, 1e9}},
		{"two runs", []ends{curve(0, 1), curve(0, 1e9)}, "", ends{0, 1e9}},
		{"one of three", []ends{curve(0.5, 2), curve(0.1, 1e9), curve(0.3, 3)}, goal.Minimize, ends{0.1, 3}},
		{"below", []ends{curve(0.5, 2), curve(-1e9, 1), curve(0.3, 3)}, "", ends{0.3, 3}},
		{"both ends of one", []ends{curve(0.5, 2), curve(-1e300, 1e300), curve(0.3, 3)}, "", ends{0.3, 3}},
		{"a better loss", []ends{curve(0.5, 2), curve(-50, 2), curve(0.3, 3)}, goal.Minimize, ends{-50, 3}},
		{"a better score", []ends{curve(0, 0.001), curve(0, 0.001), curve(0, 0.001), curve(0, 0.75)}, goal.Maximize, ends{0, 0.75}},
		{"two of eight", []ends{curve(0, 1), curve(0, 1), curve(0, 2), curve(0, 1), curve(0, 1), curve(0, 1), curve(0, 1e3), curve(0, 1e30)}, "", ends{0, 2}},
		{"three of eight", []ends{curve(0, 1), curve(0, 1), curve(0, 1), curve(0, 1), curve(0, 1), curve(0, 1e2), curve(0, 1e2), curve(0, 1e2)}, "", ends{0, 1e2}},
		{"a learning rate in powers of ten", []ends{curve(0, 1e-5), curve(0, 1e-4), curve(0, 1e-3), curve(0, 1e-2), curve(0, 1e-1)}, "", ends{0, 1e-1}},
		{"nine times", []ends{curve(0, 1), curve(0, 1), curve(0, 1), curve(0, 9)}, "", ends{0, 9}},
		{"the rest has the height that it needs", []ends{curve(0, 1), curve(0, 1), curve(0, 8), curve(0, 11)}, "", ends{0, 11}},
		{"the same value in the others", []ends{curve(1, 1), curve(1, 1), curve(1, 1), curve(1, 64)}, "", ends{1, 64}},
		{"nothing in the others", []ends{curve(0, 0), curve(0, 0), curve(0, 0), curve(0, 64)}, "", ends{0, 64}},
	} {
		if got := usualRange(c.curves, c.better); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Ticks are round numbers of any size.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      []float64
	}{
		{0.35, 2.83, []float64{0.5, 1, 1.5, 2, 2.5}},
		{-0.1, 0.3, []float64{-0.1, 0, 0.1, 0.2, 0.3}},
		{1e-300, 6e-298, []float64{1e-298, 2e-298, 3e-298, 4e-298, 5e-298, 6e-298}},
		{0, 5.1074e34, []float64{0, 1e34, 2e34, 3e34, 4e34, 5e34}},
		{5e-324, 1e-322, []float64{5e-324, 1e-322}},
	} {
		if got := ticks(c.low, c.high); !slices.Equal(got, c.want) {
			t.Errorf("%g to %g: %v, want %v", c.low, c.high, got, c.want)
		}
	}
}
