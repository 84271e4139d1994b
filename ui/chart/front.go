package chart

import (
	"math"
	"strings"
)

// Front draws runs as dots, and the Pareto front as a step line. The slice front holds the indexes
// of the runs on the front, sorted by x. A run with a coordinate that is NaN is not drawn. Front
// returns nil if there is nothing to draw.
func Front(xLabel, yLabel string, xs, ys []float64, front []int) *Plot {
	p := &Plot{Title: yLabel + " over " + xLabel, About: "X: " + xLabel, Listed: true}
	var a axes
	for i := range xs {
		if !math.IsNaN(xs[i]) && !math.IsNaN(ys[i]) {
			a.add(xs[i], ys[i])
		}
	}
	if !a.fit(p) {
		return nil
	}
	var dots, best, steps strings.Builder
	point := func(i int) string { return place1(a.x.at(xs[i])) + " " + place1(a.y.at(ys[i])) }
	for i := range xs {
		if !math.IsNaN(xs[i]) && !math.IsNaN(ys[i]) {
			dots.WriteString("M" + point(i) + "h0")
		}
	}
	for n, i := range front {
		best.WriteString("M" + point(i) + "h0")
		if n == 0 {
			steps.WriteString("M" + point(i))
		} else {
			steps.WriteString("H" + place1(a.x.at(xs[i])) + "V" + place1(a.y.at(ys[i])))
		}
	}
	p.Lines = []Line{{Class: "dots faint c5", Path: dots.String()}, {Class: "line c0", Name: "Pareto front", Path: steps.String()}, {Class: "dots c0", Path: best.String()}}
	return p
}
