// Package pareto finds the runs that offer the best trade-offs between two objectives.
package pareto

import (
	"cmp"
	"math"
	"slices"

	"tracker/store/goal"
	"tracker/store/scalar"
)

// Front returns the indexes of the points on the Pareto front, sorted by x, best first. A point is
// on the front if no other point is at least as good in both coordinates and better in one. Points
// with the same coordinates are either all on the front, in the order of their indexes, or all off
// it. A point with a NaN coordinate is not on the front. x and y must have the same length. A goal
// other than goal.Maximize means that smaller values are better.
//
// Front sorts the points and scans them once (Kung, Luccio and Preparata, "On finding the maxima
// of a set of vectors", 1975).
func Front(x, y []float64, goalX, goalY goal.Goal) []int {
	sign := func(aim goal.Goal) float64 {
		if aim == goal.Maximize {
			return -1
		}
		return 1
	}
	sx, sy := sign(goalX), sign(goalY)
	var order []int
	for i := range x {
		if !math.IsNaN(x[i]) && !math.IsNaN(y[i]) {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(sx*x[a], sx*x[b]), cmp.Compare(sy*y[a], sy*y[b]), cmp.Compare(a, b))
	})
	var front []int
	for _, i := range order {
		if n := len(front); n > 0 {
			last := front[n-1]
			if sy*y[i] >= sy*y[last] && (x[i] != x[last] || y[i] != y[last]) {
				continue
			}
		}
		front = append(front, i)
	}
	return front
}

// Coordinates returns values as coordinates of points. A missing or infinite value is NaN.
func Coordinates(values []*scalar.Value) []float64 {
	all := make([]float64, len(values))
	for i, v := range values {
		all[i] = math.NaN()
		if v != nil && v.Finite() {
			all[i] = float64(*v)
		}
	}
	return all
}

// Count returns the number of points with two coordinates.
func Count(x, y []float64) (n int) {
	for i := range x {
		if !math.IsNaN(x[i]) && !math.IsNaN(y[i]) {
			n++
		}
	}
	return n
}
