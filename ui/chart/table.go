package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tracker/store/scalar"
	"tracker/store/wandb/format"
	"tracker/ui/plain"
)

// These are the limits of a chart that is drawn from a table.
const (
	maxPlotMarks = 1000 // maximum number of points; a tenth of this number for bars
	maxPlotLines = 12
	maxPlotNames = 20 // maximum number of labels on an axis and of classes in a matrix
)

// column returns the index of the column with the given use, or -1 for none.
func column(p format.Plot, t format.Table, use string) int {
	return slices.Index(t.Columns, cmp.Or(p.Fields[use], use))
}

// cellOf returns a cell of a table row, or nil if the cell is missing.
func cellOf(row []any, column int) any {
	if column < 0 || column >= len(row) {
		return nil
	}
	return row[column]
}

func numberOf(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case bool:
		if v {
			return 1
		}
		return 0
	}
	return math.NaN()
}

func nameOf(v any) string {
	if x, ok := v.(float64); ok {
		return number(x)
	}
	if v == nil {
		return ""
	}
	return plain.Line(plain.Readable(fmt.Sprint(v)), 40)
}

// FromTable draws a chart that the W&B client logged as a table. FromTable returns nil if the
// kind of chart is unknown.
func FromTable(p format.Plot, t format.Table) *Plot {
	switch p.Kind {
	case "line":
		return drawLines(p, t, "x", "y", "stroke")
	case "lineseries":
		return drawLines(p, t, "step", "lineVal", "lineKey")
	case "area-under-curve":
		return drawLines(p, t, "x", "y", "class")
	case "scatter":
		return drawDots(p, t)
	case "bar":
		return drawBars(p, t)
	case "histogram":
		return drawHistogram(p, t)
	case "confusion_matrix":
		return drawMatrix(p, t)
	}
	return nil
}

// about returns a description of a chart's axes.
func about(p format.Plot, x, y string) string {
	return plain.Readable(cmp.Or(p.YTitle, p.Fields[y], y) + " over " + cmp.Or(p.XTitle, p.Fields[x], x))
}

type dot struct{ x, y float64 }

// drawLines draws a line for each value in the column by. If the table lacks that column,
// drawLines draws a single line.
func drawLines(p format.Plot, t format.Table, x, y, by string) *Plot {
	xs, ys, names := column(p, t, x), column(p, t, y), -1
	if p.Fields[by] != "" {
		names = column(p, t, by)
	}
	lines := map[string][]dot{}
	var order []string
	var a axes
	for _, row := range t.Rows {
		d := dot{numberOf(cellOf(row, xs)), numberOf(cellOf(row, ys))}
		if !finite(d.x) || !finite(d.y) {
			continue
		}
		name := nameOf(cellOf(row, names))
		if _, known := lines[name]; !known {
			order = append(order, name)
		}
		lines[name] = append(lines[name], d)
		a.add(d.x, d.y)
	}
	out := &Plot{About: about(p, x, y)}
	if !a.fit(out) {
		return out
	}
	if len(order) > maxPlotLines {
		out.About += fmt.Sprintf(", the first %d of %d lines", maxPlotLines, len(order))
	}
	for i, name := range order[:min(len(order), maxPlotLines)] {
		// An area-under-curve chart, for example precision over recall, can have several points
		// with the same x. Keep the order of the table rows.
		points := Thin(lines[name], maxPlotMarks)
		if p.Kind != "area-under-curve" {
			slices.SortStableFunc(points, func(a, b dot) int { return cmp.Compare(a.x, b.x) })
		}
		out.Lines = append(out.Lines, Line{Class: "line c" + strconv.Itoa(i), Name: name, Path: a.path(points)})
	}
	return out
}

// Thin returns at most n evenly spaced elements of all, including the first and the last.
func Thin[T any](all []T, n int) []T {
	if len(all) <= n {
		return all
	}
	some := make([]T, 0, n)
	for i := range n {
		some = append(some, all[i*(len(all)-1)/(n-1)])
	}
	return some
}

func drawDots(p format.Plot, t format.Table) *Plot {
	xs, ys := column(p, t, "x"), column(p, t, "y")
	var points []dot
	var a axes
	for _, row := range t.Rows {
		if d := (dot{numberOf(cellOf(row, xs)), numberOf(cellOf(row, ys))}); finite(d.x) && finite(d.y) {
			points = append(points, d)
			a.add(d.x, d.y)
		}
	}
	out := &Plot{About: about(p, "x", "y")}
	if !a.fit(out) {
		return out
	}
	var path strings.Builder
	for _, d := range Thin(points, maxPlotMarks) {
		path.WriteString("M" + place1(a.x.at(d.x)) + " " + place1(a.y.at(d.y)) + "h0")
	}
	if len(points) > maxPlotMarks {
		out.About += fmt.Sprintf(", %d of %d points", maxPlotMarks, len(points))
	}
	out.Lines = []Line{{Class: "dots c0", Path: path.String()}}
	return out
}

// bars draws the values as adjacent bars. Bar i is between i and i+1 on the x axis.
func (p *Plot) bars(values []float64, title func(i int) string) {
	var a axes
	a.add(0, 0)
	a.add(float64(len(values)), 0)
	for _, v := range values {
		a.add(0, v)
	}
	a.fit(p)
	p.X = nil
	for i, v := range values {
		from, to := a.x.at(float64(i)+0.1), a.x.at(float64(i)+0.9)
		p.Lines = append(p.Lines, Line{Class: "bars c0", Name: title(i),
			Path: "M" + place1(from) + " " + place1(a.y.at(0)) + "V" + place1(a.y.at(v)) + "H" + place1(to) + "V" + place1(a.y.at(0)) + "z"})
	}
}

// barPlace returns the x position of the middle of bar i in a chart with n bars.
func barPlace(i, n int) string {
	return place1(left + (float64(i)+0.5)/float64(n)*(width-left-right))
}

func drawBars(p format.Plot, t format.Table) *Plot {
	labels, ys := column(p, t, "label"), column(p, t, "value")
	var values []float64
	var names []string
	for _, row := range t.Rows {
		if v := numberOf(cellOf(row, ys)); finite(v) {
			values, names = append(values, v), append(names, nameOf(cellOf(row, labels)))
		}
	}
	out := &Plot{About: about(p, "label", "value")}
	if len(values) > maxPlotMarks/10 {
		out.About += fmt.Sprintf(", the first %d of %d bars", maxPlotMarks/10, len(values))
		values = values[:maxPlotMarks/10]
	}
	if len(values) == 0 {
		return out
	}
	out.bars(values, func(i int) string { return names[i] + ": " + number(values[i]) })
	every := (len(values) + maxPlotNames/2 - 1) / (maxPlotNames / 2)
	for i := 0; i < len(values); i += every {
		out.X = append(out.X, Tick{plain.Line(names[i], 10), barPlace(i, len(values))})
	}
	return out
}

// plotBins is the number of bins in a histogram that is drawn from a table.
const plotBins = 20

func drawHistogram(p format.Plot, t format.Table) *Plot {
	column := column(p, t, "value")
	var values []float64
	for _, row := range t.Rows {
		if v := numberOf(cellOf(row, column)); finite(v) {
			values = append(values, v)
		}
	}
	out := &Plot{About: "count over " + plain.Readable(cmp.Or(p.XTitle, p.Fields["value"]))}
	if len(values) == 0 {
		return out
	}
	low, high := slices.Min(values), slices.Max(values)
	if low == high {
		low, high = low-0.5, high+0.5
	}
	counts := make([]float64, plotBins)
	for _, v := range values {
		counts[min(plotBins-1, max(0, int((v/2-low/2)/(high/2-low/2)*plotBins)))]++
	}
	edge := func(i int) string {
		return plain.Number(scalar.Value(low + (high/plotBins-low/plotBins)*float64(i)))
	}
	out.bars(counts, func(i int) string { return edge(i) + " to " + edge(i+1) + ": " + number(counts[i]) })
	for _, i := range []int{0, 5, 10, 15, 20} {
		out.X = append(out.X, Tick{edge(i), place1(left + float64(i)/plotBins*(width-left-right))})
	}
	return out
}

// drawMatrix draws a confusion matrix with one row per actual class and one column per
// predicted class.
func drawMatrix(p format.Plot, t format.Table) *Plot {
	actual, predicted, count := column(p, t, "Actual"), column(p, t, "Predicted"), column(p, t, "nPredictions")
	counts := map[[2]string]float64{}
	var names []string
	sums := map[string]float64{}
	for _, row := range t.Rows {
		a, b, n := nameOf(cellOf(row, actual)), nameOf(cellOf(row, predicted)), numberOf(cellOf(row, count))
		for _, name := range []string{a, b} {
			if _, known := sums[name]; !known {
				sums[name] = 0
				names = append(names, name)
			}
		}
		if finite(n) {
			counts[[2]string{a, b}] += n
			sums[a] += n
		}
	}
	out := &Plot{About: "actual class down, predicted class across"}
	if len(names) > maxPlotNames {
		out.About += fmt.Sprintf(", the first %d of %d classes", maxPlotNames, len(names))
		names = names[:maxPlotNames]
	}
	n := float64(len(names))
	wide, tall := (width-left-right)/max(n, 1), (height-foot-top)/max(n, 1)
	for i, a := range names {
		middle := top + (float64(i)+0.5)*tall
		out.Y = append(out.Y, Tick{plain.Line(a, 8), place1(middle)})
		out.X = append(out.X, Tick{plain.Line(a, 10), barPlace(i, len(names))})
		for j, b := range names {
			c := counts[[2]string{a, b}]
			share := 0
			if sums[a] > 0 {
				share = int(math.Round(9 * min(1, max(0, c/sums[a]))))
			}
			x, y := left+float64(j)*wide, top+float64(i)*tall
			out.Lines = append(out.Lines, Line{Class: "cell share" + strconv.Itoa(share), Name: a + ", predicted " + b + ": " + number(c),
				Path: "M" + place1(x) + " " + place1(y) + "h" + place1(wide-1) + "v" + place1(tall-1) + "h" + place1(1-wide) + "z"})
			if n <= maxPlotNames/2 {
				out.Texts = append(out.Texts, Text{place1(x + wide/2), place1(middle), number(c)})
			}
		}
	}
	return out
}

// Names returns the lines with their names and colours for the legend. Names returns nil if the
// chart has fewer than two lines.
func (p *Plot) Names() []Line {
	if len(p.Lines) < 2 || !strings.HasPrefix(p.Lines[0].Class, "line") {
		return nil
	}
	return p.Lines
}
