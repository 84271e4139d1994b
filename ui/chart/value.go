package chart

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"tracker/store/scalar"
)

const (
	maxBins      = 20  // maximum number of bins of a histogram of runs
	singleBars   = 200 // maximum number of bars that are drawn separately
	fewDots      = 2000
	logRatio     = 100 // ratio of the largest to the smallest value above which an axis is logarithmic
	rug          = 10  // length of the lines that mark runs in a histogram
	thinnestBar  = 2
	otherRuns    = "others" // CSS class of runs without a colour
	maxTickNames = 12
)

// Values holds a value of each run for a chart. If not all values are numbers, Names holds the
// distinct texts in alphabetical order and Numbers holds indexes into Names. A number is NaN if the
// run has no finite value.
type Values struct {
	Label   string
	Numbers []float64
	Names   []string
	Log     bool // whether the numbers span decades, so that an axis is logarithmic
}

// MetricValues returns the values of a metric.
func MetricValues(label string, values []*scalar.Value) Values {
	v := Values{Label: label, Numbers: make([]float64, len(values))}
	for i, one := range values {
		v.Numbers[i] = math.NaN()
		if one != nil && one.Finite() {
			v.Numbers[i] = float64(*one)
		}
	}
	v.scale()
	return v
}

// ParamValues returns the values of a parameter.
func ParamValues(label string, texts []*string) Values {
	v := Values{Label: label, Numbers: make([]float64, len(texts))}
	numbers := true
	for i, text := range texts {
		v.Numbers[i] = math.NaN()
		if text == nil {
			continue
		}
		f, err := strconv.ParseFloat(strings.TrimSpace(*text), 64)
		if err != nil {
			numbers = false
			v.Names = append(v.Names, *text)
		} else if finite(f) {
			v.Numbers[i] = f
		}
	}
	if numbers {
		v.scale()
		return v
	}
	v.Names = v.Names[:0]
	for _, text := range texts {
		if text != nil {
			v.Names = append(v.Names, *text)
		}
	}
	slices.Sort(v.Names)
	v.Names = slices.Compact(v.Names)
	for i, text := range texts {
		if v.Numbers[i] = math.NaN(); text != nil {
			at, _ := slices.BinarySearch(v.Names, *text)
			v.Numbers[i] = float64(at)
		}
	}
	return v
}

// scale sets Log.
func (v *Values) scale() {
	low, high := math.Inf(1), math.Inf(-1)
	for _, f := range v.Numbers {
		if finite(f) {
			low, high = min(low, f), max(high, f)
		}
	}
	v.Log = low > 0 && low < high && high/low >= logRatio
}

// Known returns the number of runs that have a finite value in all of some values.
func Known(some ...Values) (n int) {
	for i := range some[0].Numbers {
		if !slices.ContainsFunc(some, func(v Values) bool { return !finite(v.Numbers[i]) }) {
			n++
		}
	}
	return n
}

// axisTicks returns the grid lines of an axis.
func (v Values) axisTicks(a axis) []Tick {
	if v.Names == nil {
		return a.ticks()
	}
	var all []Tick
	every := (len(v.Names) + maxTickNames - 1) / maxTickNames
	for i := 0; i < len(v.Names); i += every {
		all = append(all, Tick{nameOf(v.Names[i]), place1(a.at(float64(i)))})
	}
	return all
}

// axis returns an axis for the known values of v.
func (v Values) axis(known []int, from, to float64) axis {
	low, high := math.Inf(1), math.Inf(-1)
	for _, i := range known {
		low, high = min(low, v.Numbers[i]), max(high, v.Numbers[i])
	}
	return newAxis(v.Log, within(low), within(high), from, to, 2)
}

// Dots draws a dot for each run. colors holds the runs with a colour by index; they are drawn above
// all others, which are muted. Dots returns nil if no run has both values.
func Dots(x, y Values, colors map[int]Run) *Plot {
	var known []int
	for i := range x.Numbers {
		if finite(x.Numbers[i]) && finite(y.Numbers[i]) {
			known = append(known, i)
		}
	}
	if len(known) == 0 {
		return nil
	}
	p := &Plot{Title: y.Label + " over " + x.Label, About: "X: " + x.Label, Listed: true}
	ax, ay := x.axis(known, left+8, width-right-8), y.axis(known, height-foot-8, top+8)
	p.X, p.Y = x.axisTicks(ax), y.axisTicks(ay)
	place := place1
	if len(known) > fewDots { // a dot is larger than the rounding
		place = func(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }
	}
	var dots strings.Builder
	drawn := map[string]bool{}
	var above []Line
	for _, i := range known {
		cx, cy := ax.at(x.Numbers[i]), ay.at(y.Numbers[i])
		if run, ok := colors[i]; ok {
			above = append(above, Line{Class: "dots " + run.Class, Name: run.Name, Path: "M" + place1(cx) + " " + place1(cy) + "h0"})
			continue
		}
		if at := "M" + place(cx) + " " + place(cy) + "h0"; !drawn[at] {
			drawn[at] = true
			dots.WriteString(at)
		}
	}
	if dots.Len() > 0 {
		p.Lines = append(p.Lines, Line{Class: "dots faint " + otherRuns, Path: dots.String()})
	}
	p.Lines = append(p.Lines, above...)
	return p
}

// RunBars draws a bar for each run, the largest value first. colors is as for Dots. RunBars
// returns nil if no run has a finite number.
func RunBars(v Values, colors map[int]Run) *Plot {
	var known []int
	for i, f := range v.Numbers {
		if finite(f) && v.Names == nil {
			known = append(known, i)
		}
	}
	if len(known) == 0 {
		return nil
	}
	slices.SortStableFunc(known, func(a, b int) int { return cmp.Compare(v.Numbers[b], v.Numbers[a]) })
	p := &Plot{Title: v.Label, About: "A bar for each run, the largest first", Listed: true}
	var a axes
	a.add(0, 0)
	a.add(float64(len(known)), 0)
	for _, i := range known {
		a.add(0, v.Numbers[i])
	}
	a.fit(p)
	p.X = nil
	base := place1(a.y.at(0))
	var others strings.Builder
	var above []Line
	last := ""
	for n, i := range known {
		from, to, y := a.x.at(float64(n)), a.x.at(float64(n+1)), place1(a.y.at(v.Numbers[i]))
		run, colored := colors[i]
		switch {
		case len(known) > singleBars: // one shape; the bars are thinner than the rounding
			if n == 0 {
				others.WriteString("M" + place1(from) + " " + base)
			}
			if at := place1(to); at != last {
				others.WriteString("V" + y + "H" + at)
				last = at
			}
		case !colored:
			gap := (to - from) / 10
			others.WriteString("M" + place1(from+gap) + " " + base + "V" + y + "H" + place1(to-gap) + "V" + base + "z")
		}
		if colored {
			gap := (to - from) / 10
			if to-from < thinnestBar {
				gap = (to - from - thinnestBar) / 2
			}
			above = append(above, Line{Class: "bars " + run.Class, Name: run.Name + ": " + number(v.Numbers[i]),
				Path: "M" + place1(from+gap) + " " + base + "V" + y + "H" + place1(to-gap) + "V" + base + "z"})
		}
	}
	if len(known) > singleBars {
		others.WriteString("V" + base + "z")
	}
	if others.Len() > 0 {
		p.Lines = append(p.Lines, Line{Class: "bars " + otherRuns, Path: others.String()})
	}
	p.Lines = append(p.Lines, above...)
	return p
}

// bin is a bin of a histogram of runs.
type bin struct {
	label string
	n     int
}

// bins returns the bins of a histogram and the position of each value in them: its integer part is
// the index of the bin. Numbers have Sturges' number of bins of equal width (H. A. Sturges, The
// Choice of a Class Interval, 1926). Texts have a bin for each text. The function bins in
// ui/static/valuepanel.js implements the same rule.
func (v Values) bins() (all []bin, at []float64) {
	at = make([]float64, len(v.Numbers))
	low, high, n := math.Inf(1), math.Inf(-1), 0
	for _, f := range v.Numbers {
		if finite(f) {
			low, high, n = min(low, f), max(high, f), n+1
		}
	}
	if n == 0 {
		return nil, nil
	}
	if v.Names != nil {
		for _, name := range v.Names[:min(len(v.Names), maxBins)] {
			all = append(all, bin{label: nameOf(name)})
		}
		if len(v.Names) > maxBins {
			all = append(all, bin{label: "others"})
		}
		for i, f := range v.Numbers {
			if at[i] = f; finite(f) {
				at[i] = min(f, maxBins) + 0.5
				all[int(at[i])].n++
			}
		}
		return all, at
	}
	count := 1
	if low < high {
		count = min(maxBins, int(math.Ceil(math.Log2(float64(n))))+1)
	}
	wide := (high - low) / float64(count)
	for i := range count {
		all = append(all, bin{label: number(low+float64(i)*wide) + " to " + number(low+float64(i+1)*wide)})
	}
	for i, f := range v.Numbers {
		switch {
		case !finite(f):
			at[i] = math.NaN()
			continue
		case wide > 0:
			at[i] = (f - low) / wide
		default:
			at[i] = 0.5
		}
		all[min(count-1, int(at[i]))].n++
	}
	return all, at
}

// RunHistogram draws the distribution of a value over the runs. A line at the foot marks each run
// with a colour. It returns nil if no run has a finite value.
func RunHistogram(v Values, colors map[int]Run) *Plot {
	all, at := v.bins()
	if len(all) == 0 {
		return nil
	}
	p := &Plot{Title: "Distribution of " + v.Label, About: "The number of runs by " + v.Label, Listed: true}
	var a axes
	a.add(0, 0)
	a.add(float64(len(all)), 0)
	for _, b := range all {
		a.add(0, float64(b.n))
	}
	a.fit(p)
	p.X = nil
	for i, b := range all {
		from, to := a.x.at(float64(i))+1, a.x.at(float64(i+1))-1
		p.Lines = append(p.Lines, Line{Class: "bars " + otherRuns, Name: b.label + ": " + strconv.Itoa(b.n),
			Path: "M" + place1(from) + " " + place1(a.y.at(0)) + "V" + place1(a.y.at(float64(b.n))) + "H" + place1(to) + "V" + place1(a.y.at(0)) + "z"})
		if v.Names != nil && i%((len(all)+maxTickNames-1)/maxTickNames) == 0 {
			p.X = append(p.X, Tick{b.label, place1(a.x.at(float64(i) + 0.5))})
		}
	}
	if v.Names == nil {
		p.X = v.binTicks(a.x, len(all))
	}
	for _, i := range slices.Sorted(maps.Keys(colors)) {
		if finite(at[i]) {
			x := place1(a.x.at(at[i]))
			p.Lines = append(p.Lines, Line{Class: "line " + colors[i].Class, Name: colors[i].Name, Path: "M" + x + " " + place1(height-foot) + "V" + place1(height-foot-rug)})
		}
	}
	return p
}

// binTicks returns ticks at round numbers for an axis with n bins.
func (v Values) binTicks(of axis, n int) (all []Tick) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, f := range v.Numbers {
		if finite(f) {
			low, high = min(low, f), max(high, f)
		}
	}
	if low == high {
		return []Tick{{number(low), place1(of.at(0.5))}}
	}
	return newAxis(false, within(low), within(high), of.at(0), of.at(float64(n)), 0).ticks()
}
