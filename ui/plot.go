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
	About string // what its axes are, "" where the title says it
	X, Y  []plotTick
	Lines []plotLine
	Texts []plotText
}

// plotText is a text at a place of the view box.
type plotText struct{ X, Y, Text string }

// plotTick is a line of the grid, at a place of the view box.
type plotTick struct {
	Label string
	At    string
}

// plotLine is a curve, a set of dots or a bar.
type plotLine struct {
	Class string // of its kind and its colour
	Name  string
	Path  string // as SVG has it
}

// plotScales are the scales of the axes of a plot: whether they are logarithmic.
type plotScales struct{ LogX, LogY bool }

// newPlot draws curves over their steps. Values that are not finite, or not positive where the
// scale is logarithmic, are gaps. It returns nil when there is nothing to draw.
func newPlot(title string, curves []store.Curve, runs map[string]run, scales plotScales) *plot {
	a := axes{plotScales: scales}
	for _, c := range curves {
		for i, v := range c.Value {
			if step := float64(c.Step[i]); a.has(step, float64(v)) {
				a.add(step, float64(v))
			}
		}
	}
	if !a.fit() {
		return nil
	}
	p := &plot{Title: title}
	a.grid(p)
	for _, c := range curves {
		var path strings.Builder
		pen := "M"
		for i, v := range c.Value {
			step := float64(c.Step[i])
			if !a.has(step, float64(v)) {
				pen = "M"
				continue
			}
			path.WriteString(pen + place1(a.x(step)) + " " + place1(a.y(float64(v))))
			pen = "L"
		}
		r := runs[c.IterationID]
		p.Lines = append(p.Lines, plotLine{Class: "line " + colorClass(r), Name: r.Name, Path: path.String()})
	}
	return p
}

// axes are the scales and the bounds of a chart.
type axes struct {
	plotScales
	first, last float64 // of x
	low, high   float64 // of y
	any         bool
}

// has reports whether a point has a place on the chart.
func (a *axes) has(x, y float64) bool {
	return finite(y) && (!a.LogX || x > 0) && (!a.LogY || y > 0)
}

// add makes the bounds wide enough for a point.
func (a *axes) add(x, y float64) {
	if !a.any {
		*a = axes{a.plotScales, x, x, y, y, true}
		return
	}
	a.first, a.last = math.Min(a.first, x), math.Max(a.last, x)
	a.low, a.high = math.Min(a.low, y), math.Max(a.high, y)
}

// fit makes bounds that are equal different. It reports whether there are any.
func (a *axes) fit() bool {
	a.first, a.last = apart(a.LogX, a.first, a.last, 2)
	a.low, a.high = apart(a.LogY, a.low, a.high, 1)
	return a.any
}

// apart returns bounds that are different: equal ones are at least so far apart.
func apart(log bool, low, high, least float64) (float64, float64) {
	switch {
	case low != high:
	case log:
		return low / 10, high * 10
	default:
		half := max(least, math.Abs(low)) / 2
		return low - half, high + half
	}
	return low, high
}

// x returns the place of a value on the X axis.
func (a *axes) x(v float64) float64 {
	return plotLeft + share(a.LogX, v, a.first, a.last)*(plotWidth-plotLeft-plotRight)
}

// y returns the place of a value on the Y axis.
func (a *axes) y(v float64) float64 {
	return plotHeight - plotFoot - share(a.LogY, v, a.low, a.high)*(plotHeight-plotFoot-plotTop)
}

// share returns where v is from low, 0, to high, 1. Halves do not overflow.
func share(log bool, v, low, high float64) float64 {
	if log {
		v, low, high = math.Log10(v), math.Log10(low), math.Log10(high)
	}
	return (v/2 - low/2) / (high/2 - low/2)
}

// grid adds the lines of the grid to a chart.
func (a *axes) grid(p *plot) {
	for _, v := range scaleTicks(a.LogX, a.first, a.last) {
		p.X = append(p.X, plotTick{number(store.Value(v)), place1(a.x(v))})
	}
	for _, v := range scaleTicks(a.LogY, a.low, a.high) {
		p.Y = append(p.Y, plotTick{number(store.Value(v)), place1(a.y(v))})
	}
}

// scaleTicks returns the values that an axis names.
func scaleTicks(log bool, low, high float64) []float64 {
	if log {
		return logTicks(math.Log10(low), math.Log10(high))
	}
	return ticks(low, high)
}

// path returns a curve through points.
func (a *axes) path(points []dot) string {
	var path strings.Builder
	pen := "M"
	for _, d := range points {
		path.WriteString(pen + place1(a.x(d.x)) + " " + place1(a.y(d.y)))
		pen = "L"
	}
	return path.String()
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

// logTicks returns up to ten powers of ten between two logarithms, or round numbers where
// there are fewer than two.
func logTicks(low, high float64) []float64 {
	first, last := math.Ceil(low-1e-9), math.Floor(high+1e-9)
	if last-first < 1 {
		return ticks(math.Pow(10, low), math.Pow(10, high))
	}
	every := math.Ceil((last - first + 1) / 7)
	var all []float64
	for i := first; i <= last; i += every {
		all = append(all, math.Pow(10, i))
	}
	return all
}
