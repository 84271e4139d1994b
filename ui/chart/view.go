package chart

import (
	"math"
	"strconv"
	"strings"
	"time"

	"tracker/store/goal"
	"tracker/store/scalar"
)

// These are the X axes of a view. The zero value is the axis of steps.
const (
	ByAge    = "relative" // milliseconds since the start of the run
	ByTime   = "time"     // Unix milliseconds
	ByMetric = "metric"   // values of another metric
)

// View describes how curves are drawn.
type View struct {
	X          string // "", ByAge, ByTime or ByMetric
	Against    string // metric of the X axis if X is ByMetric
	LogX, LogY bool
	// Outliers is "show" to include all values, "ignore" to leave out the outermost five percent
	// of the points, or "" to leave out outlying curves.
	Outliers string
	Smooth   float64 // weight of the former values in a moving average, from 0 to 1
	// From, To, Low and High limit the axes. They are nil for the range of the values.
	From, To, Low, High *float64
	// Before holds the parts of the curves before From, for the moving average. Its order is the
	// order of the curves, and a missing part is nil.
	Before []*Curve
}

// shape is a curve with the values to draw.
type shape struct {
	Curve
	line []scalar.Value // smoothed values
}

// New draws curves. The map named holds the name and the colour of each curve by its ID. A value
// that an axis can't show leaves a gap. An axis can't show NaN and infinite values. A
// logarithmic axis shows only positive values. New returns nil if there is nothing to draw.
func New(title string, curves []Curve, named map[string]Run, v View) *Plot {
	inX := func(x float64) bool {
		return finite(x) && (!v.LogX || x > 0) && (v.From == nil || x >= *v.From && x <= *v.To)
	}
	drawn := func(x, y float64) bool { return finite(y) && (!v.LogY || y > 0) && finite(x) && (!v.LogX || x > 0) }
	first, last := math.Inf(1), math.Inf(-1)
	var shapes []shape
	var spans []ends
	var values []float64
	for i, c := range curves {
		var before *Curve
		if i < len(v.Before) {
			before = v.Before[i]
		}
		s := shape{c, Smooth(c, before, v.Smooth)}
		shapes = append(shapes, s)
		of := ends{math.Inf(1), math.Inf(-1)}
		for i, y := range c.Y {
			x := float64(c.X[i])
			if !inX(x) {
				continue
			}
			all := []scalar.Value{y, s.line[i]}
			if c.Low != nil && c.Low[i] != nil {
				all = append(all, *c.Low[i], *c.High[i])
			}
			for _, one := range all {
				if drawn(x, float64(one)) {
					of = ends{min(of.low, float64(one)), max(of.high, float64(one))}
					first, last = math.Min(first, x), math.Max(last, x)
				}
			}
			if drawn(x, float64(y)) {
				values = append(values, float64(y))
			}
		}
		if of.low <= of.high {
			spans = append(spans, of)
		}
	}
	if len(spans) == 0 {
		return nil
	}
	shown := v.heights(title, spans, values)
	if v.From != nil && (!v.LogX || *v.From > 0) {
		first, last = *v.From, *v.To
	}
	p := &Plot{Title: title, Listed: true, Clip: v.From != nil || v.Low != nil || v.Outliers == "ignore"}
	if v.Low == nil && v.Outliers != "ignore" {
		p.Beyond = beyond(spans, shown)
	}
	p.Clip = p.Clip || p.Beyond != ""
	divide := 1.0
	if v.X == ByAge {
		divide, p.About = ageUnit(last)
	}
	x := newAxis(v.LogX, within(first/divide), within(last/divide), left, width-right, 2)
	y := newAxis(v.LogY, within(shown.low), within(shown.high), height-foot, top, 1)
	p.X, p.Y = x.ticks(), y.ticks()
	switch v.X {
	case ByTime:
		p.About, p.X = "Time in UTC", x.times()
	case ByMetric:
		p.About = "Over " + v.Against
	}
	place := func(px, py float64) string {
		return place1(outside(x.at(within(px/divide)))) + " " + place1(outside(y.at(within(py))))
	}
	for _, s := range shapes {
		r := named[s.ID]
		if band := s.band(drawn, place); band != "" {
			p.Lines = append(p.Lines, Line{Class: "band " + r.Class, Path: band})
		}
		if v.Smooth > 0 {
			p.Lines = append(p.Lines, Line{Class: "line faint " + r.Class, Path: linePath(s.X, s.Y, drawn, place)})
		}
		p.Lines = append(p.Lines, Line{Class: "line " + r.Class, Name: r.Name, Path: linePath(s.X, s.line, drawn, place)})
	}
	return p
}

// heights returns the range of the Y axis.
func (v View) heights(title string, spans []ends, values []float64) ends {
	shown := ends{math.Inf(1), math.Inf(-1)}
	for _, of := range spans {
		shown = ends{min(shown.low, of.low), max(shown.high, of.high)}
	}
	switch {
	case v.Low != nil && (!v.LogY || *v.Low > 0):
		return ends{*v.Low, *v.High}
	case v.Outliers == "ignore":
		return inner(values, shown)
	case !v.LogY && v.Outliers == "":
		return usualRange(spans, goal.Of(title))
	}
	return shown
}

func linePath(xs, ys []scalar.Value, drawn func(x, y float64) bool, place func(x, y float64) string) string {
	var path strings.Builder
	pen := "M"
	for i, y := range ys {
		if !drawn(float64(xs[i]), float64(y)) {
			pen = "M"
			continue
		}
		path.WriteString(pen + place(float64(xs[i]), float64(y)))
		pen = "L"
	}
	return path.String()
}

// band returns the path of the area between Low and High, "" for none.
func (s shape) band(drawn func(x, y float64) bool, place func(x, y float64) string) string {
	var there, back []string
	for i, low := range s.Low {
		if x := float64(s.X[i]); low != nil && s.High[i] != nil && drawn(x, float64(*low)) && drawn(x, float64(*s.High[i])) {
			there, back = append(there, place(x, float64(*s.High[i]))), append(back, place(x, float64(*low)))
		}
	}
	if len(there) < 2 {
		return ""
	}
	for i := range back[:len(back)/2] {
		back[i], back[len(back)-1-i] = back[len(back)-1-i], back[i]
	}
	return "M" + strings.Join(append(there, back...), "L") + "Z"
}

// Smooth returns the exponential moving average of a curve, with the bias correction of Adam
// (Kingma and Ba, 2015). The weight is the share of the previous average in the average at each
// point. In a curve with more than 1,000 points, the weight applies to each thousandth of the
// length. The part of the curve before its first point is before, nil for none. The function
// smooth in ui/static/curvemath.js implements the same average.
func Smooth(c Curve, before *Curve, weight float64) []scalar.Value {
	if !(weight > 0) {
		return c.Y
	}
	weight = math.Min(weight, 0.999)
	keep := math.Pow(weight, math.Min(1, 1000/math.Max(1, float64(c.Total))))
	mean, size, last := 0.0, 0.0, math.NaN()
	pass := func(c Curve) []scalar.Value {
		n := 0
		for _, one := range c.N {
			n += one
		}
		if n == 0 {
			n = len(c.Y)
		}
		each := float64(c.Count) / math.Max(1, float64(n))
		line := make([]scalar.Value, len(c.Y))
		for i, y := range c.Y {
			v := float64(y)
			if line[i] = y; !finite(v) {
				continue
			}
			points := each
			if i < len(c.Behind) {
				points = float64(c.Behind[i])
			}
			left := math.Pow(keep, points)
			if math.IsNaN(last) {
				last = v
			}
			// This is the sum of (1 - keep) keep^(points - k) (last + (v - last) k / points) over k
			// from 1 to points.
			mean = mean*left + last*(1-left) + (v-last)*(1-keep*(1-left)/(points*(1-keep)))
			size = size*left + 1 - left
			last = v
			line[i] = scalar.Value(mean / size)
		}
		return line
	}
	if before != nil {
		pass(*before)
	}
	return pass(c)
}

// ageUnit returns the number of milliseconds in the unit of an axis of ages up to last, and the
// description of the axis.
func ageUnit(last float64) (unit float64, about string) {
	switch seconds := last / 1000; {
	case seconds < 180:
		return 1000, "Seconds since the start"
	case seconds < 3*3600:
		return 60_000, "Minutes since the start"
	case seconds < 72*3600:
		return 3_600_000, "Hours since the start"
	}
	return 86_400_000, "Days since the start"
}

// times returns grid lines at round times. The axis maps Unix milliseconds.
func (a axis) times() []Tick {
	if a.log {
		return a.ticks()
	}
	const second, day = 1000.0, 86_400_000.0
	step := math.Ceil((a.high-a.low)/day/5) * day
	for _, s := range []float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 3 * 3600, 6 * 3600, 12 * 3600, 24 * 3600} {
		if (a.high-a.low)/(s*second) <= 6 {
			step = s * second
			break
		}
	}
	layout := "15:04"
	switch {
	case step >= day:
		layout = "2 Jan"
	case a.high-a.low >= day:
		layout = "2 Jan 15:04"
	case step < 60*second:
		layout = "15:04:05"
	}
	var all []Tick
	for at := math.Ceil(a.low/step) * step; at <= a.high && len(all) < 10; at += step {
		all = append(all, Tick{time.UnixMilli(int64(at)).UTC().Format(layout), place1(a.at(at))})
	}
	return all
}

// Colors is the number of curve colours. The style sheets define a class for each.
const Colors = 12

// styles are the names of the line styles of the metrics in a chart.
var styles = []string{"solid", "dashed", "dotted", "long dashes"}

// Dash returns the class of the line style of a chart's metric, with a space before it. The first
// metric has solid lines and no class.
func Dash(n int) string {
	if n == 0 {
		return ""
	}
	return " dash-" + strconv.Itoa(1+(n-1)%(len(styles)-1))
}

// Styled adds the line style of each metric to the description of the plot.
func (p *Plot) Styled(metrics []string) {
	var words []string
	for n, key := range metrics {
		style := styles[0]
		if n > 0 {
			style = styles[1+(n-1)%(len(styles)-1)]
		}
		words = append(words, key+": "+style)
	}
	if p.About != "" {
		words = append(words, p.About)
	}
	p.About = strings.Join(words, " · ")
}
