package ui

import (
	"math"
	"strconv"
	"strings"

	"tracker/store"
)

// The places of a drawn chart, in units of its view box.
const (
	plotWidth, plotHeight                  = 640.0, 240.0
	plotLeft, plotRight, plotTop, plotFoot = 56.0, 12.0, 10.0, 24.0
)

// plot is a chart that is drawn on the server, for pages that are printed or kept.
type plot struct {
	Title string
	X, Y  []plotTick
	Lines []plotLine
}

// plotTick is a line of the grid, at a place of the view box.
type plotTick struct {
	Label string
	At    string
}

// plotLine is a curve.
type plotLine struct {
	Class string // of its colour
	Name  string
	Path  string // as SVG has it
}

// newPlot draws curves over their steps. Values that are not finite are gaps. It returns nil
// when there is nothing to draw.
func newPlot(title string, curves []store.Curve, runs map[string]run) *plot {
	low, high := math.Inf(1), math.Inf(-1)
	first, last := math.Inf(1), math.Inf(-1)
	for _, c := range curves {
		for i, v := range c.Value {
			if finite(float64(v)) {
				low, high = math.Min(low, float64(v)), math.Max(high, float64(v))
				first, last = math.Min(first, float64(c.Step[i])), math.Max(last, float64(c.Step[i]))
			}
		}
	}
	if low > high {
		return nil
	}
	if low == high {
		low, high = low-max(1, math.Abs(low))/2, high+max(1, math.Abs(high))/2
	}
	if first == last {
		first, last = first-1, last+1
	}
	x := func(v float64) float64 {
		return plotLeft + (v-first)/(last-first)*(plotWidth-plotLeft-plotRight)
	}
	y := func(v float64) float64 {
		return plotHeight - plotFoot - (v-low)/(high-low)*(plotHeight-plotFoot-plotTop)
	}
	p := &plot{Title: title}
	for _, v := range ticks(first, last) {
		p.X = append(p.X, plotTick{number(store.Value(v)), place1(x(v))})
	}
	for _, v := range ticks(low, high) {
		p.Y = append(p.Y, plotTick{number(store.Value(v)), place1(y(v))})
	}
	for _, c := range curves {
		var path strings.Builder
		pen := "M"
		for i, v := range c.Value {
			if !finite(float64(v)) {
				pen = "M"
				continue
			}
			path.WriteString(pen + place1(x(float64(c.Step[i]))) + " " + place1(y(float64(v))))
			pen = "L"
		}
		r := runs[c.IterationID]
		p.Lines = append(p.Lines, plotLine{Class: colorClass(r), Name: r.Name, Path: path.String()})
	}
	return p
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// place1 writes a place with one decimal.
func place1(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// ticks returns about five round numbers from low to high.
func ticks(low, high float64) []float64 {
	size := math.Pow(10, math.Floor(math.Log10((high-low)/5)))
	for _, times := range []float64{1, 2, 5, 10} {
		if (high-low)/(size*times) <= 6 {
			size *= times
			break
		}
	}
	var all []float64
	for i := math.Ceil(low / size); i*size <= high && len(all) < 10; i++ {
		all = append(all, math.Round(i*size*1e12)/1e12)
	}
	if size < 1e-10 || size > 1e15 { // too fine or coarse to be rounded
		return []float64{low, high}
	}
	return all
}
