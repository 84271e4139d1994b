// Package chart computes charts. The package sorts metrics, computes axis ranges and draws
// charts that need no script. The package also computes the curves and histograms that scripts
// draw. The package does not depend on the database or on HTTP requests.
package chart

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"tracker/store/scalar"
	"tracker/ui/plain"
)

// These are the dimensions of a drawn chart, in units of its view box.
const (
	width, height          = 640.0, 240.0
	left, right, top, foot = 56.0, 12.0, 10.0, 24.0

	wideLeft  = 208.0 // left edge of a chart with long labels at the left
	rightEdge = 580.0 // right edge of a chart with a second axis
	rowHeight = 24.0  // height of a horizontal bar and the space around it
)

// Plot is a chart drawn on the server, for pages that are printed or saved.
type Plot struct {
	Title string
	About string // description of the axes, "" if the title describes them
	Texts []Text
	X, Y  []Tick
	Right []Tick // labels of a second Y axis
	Lines []Line
	// Legend holds the names of the shapes. If Legend is nil, the lines are the legend.
	Legend []Line
	Wide   bool    // whether the labels at the left are long
	Height float64 // height of the view box; 0 for height
	// Beyond is a note about curves that leave the axes, "" for none.
	Beyond string
	Clip   bool // whether lines can leave the axes
	Listed bool // whether the page lists the names of the lines beside the plot
}

// Tick is a grid line at the position At in the view box.
type Tick struct {
	Label string
	At    string
}

// Text is a text drawn at a position in the view box.
type Text struct{ X, Y, Text string }

// Line is a drawn shape: a curve, a set of dots, a bar or a matrix cell.
type Line struct {
	Class string // CSS classes for shape and colour
	Name  string
	Path  string // SVG path
}

// Run holds the name of a run or group, and the CSS classes of its colour and line style.
type Run struct{ Name, Class string }

// axis maps values to positions. A logarithmic axis maps positive values only.
type axis struct {
	log       bool
	low, high float64 // bounds; logarithms of the bounds if log is true
	from, to  float64
}

// newAxis returns an axis for values between low and high, which must be finite.
func newAxis(log bool, low, high, from, to, least float64) axis {
	if log {
		low, high = math.Log10(low), math.Log10(high)
	}
	if low == high {
		low, high = low-max(least, math.Abs(low))/2, high+max(least, math.Abs(high))/2
	}
	return axis{log, low, high, from, to}
}

func (a axis) at(v float64) float64 {
	if a.log {
		v = math.Log10(v)
	}
	return a.from + (v-a.low)/(a.high-a.low)*(a.to-a.from)
}

func (a axis) ticks() []Tick {
	var all []Tick
	values := ticks(a.low, a.high)
	if a.log {
		values = logTicks(a.low, a.high)
	}
	exact := make([]scalar.Value, len(values))
	for i, v := range values {
		exact[i] = scalar.Value(v)
	}
	for i, label := range plain.Ticks(exact) {
		all = append(all, Tick{label, place1(a.at(values[i]))})
	}
	return all
}

// beyond returns a note with the number of curves that leave the shown range, "" for none.
func beyond(spans []ends, shown ends) string {
	n := 0
	for _, of := range spans {
		if of.low < shown.low || of.high > shown.high {
			n++
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return "1 run goes beyond this range."
	}
	return strconv.Itoa(n) + " runs go beyond this range."
}

// outside limits a position to 100 chart heights outside of the chart, where positions need not be
// exact.
func outside(at float64) float64 { return min(max(at, -100*height), 100*height) }

// axes holds the axes of a chart. Their bounds include all points passed to add.
type axes struct {
	first, last float64 // bounds of the x values
	low, high   float64 // bounds of the y values
	any         bool
	x, y        axis // axes computed by fit
}

// add extends the bounds to include the point (x, y).
func (a *axes) add(x, y float64) {
	if !a.any {
		*a = axes{first: x, last: x, low: y, high: y, any: true}
		return
	}
	a.first, a.last = math.Min(a.first, x), math.Max(a.last, x)
	a.low, a.high = math.Min(a.low, y), math.Max(a.high, y)
}

// fit computes the axes from the bounds and sets the grid lines of p. It returns false if no
// point was added.
func (a *axes) fit(p *Plot) bool {
	if !a.any {
		return false
	}
	a.x = newAxis(false, within(a.first), within(a.last), left, width-right, 2)
	a.y = newAxis(false, within(a.low), within(a.high), height-foot, top, 1)
	p.X, p.Y = a.x.ticks(), a.y.ticks()
	return true
}

// within limits v so that the difference of two limited values is finite.
func within(v float64) float64 { return min(max(v, -math.MaxFloat64/4), math.MaxFloat64/4) }

// path returns the SVG path of a curve through the points.
func (a *axes) path(points []dot) string {
	var path strings.Builder
	pen := "M"
	for _, d := range points {
		path.WriteString(pen + place1(a.x.at(d.x)) + " " + place1(a.y.at(d.y)))
		pen = "L"
	}
	return path.String()
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// place1 formats a position with one decimal.
func place1(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// tall returns the height of the view box.
func (p *Plot) tall() float64 { return cmp.Or(p.Height, height) }

// leftEdge and rightEdge return the horizontal ends of the grid lines.
func (p *Plot) leftEdge() float64 {
	if p.Wide {
		return wideLeft
	}
	return left
}

func (p *Plot) rightEdge() float64 {
	if len(p.Right) > 0 {
		return rightEdge
	}
	return width - right
}

func whole(v float64) string { return strconv.Itoa(int(v)) }

// ticks returns about five round numbers between low and high.
func ticks(low, high float64) []float64 {
	size := math.Pow(10, math.Floor(math.Log10((high-low)/5)))
	for _, times := range []float64{1, 2, 5, 10} {
		if (high-low)/(size*times) <= 6 {
			size *= times
			break
		}
	}
	var all []float64
	for i := math.Ceil(low / size); len(all) < 10; i++ {
		// Round the product: floating-point error would show in the label.
		v, err := strconv.ParseFloat(strconv.FormatFloat(i*size, 'g', 12, 64), 64)
		if err != nil || !(v <= high) {
			break
		}
		all = append(all, v)
	}
	if len(all) == 0 { // size underflowed to zero
		return []float64{low, high}
	}
	return all
}

// logTicks returns up to ten powers of ten between the logarithms low and high. If fewer than
// two powers fit, logTicks returns round numbers.
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
