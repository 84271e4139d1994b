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
	maxPlotRows  = 30 // maximum number of horizontal bars
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

// Cell returns the text of a table cell, at most 40 characters.
func Cell(v any) string { return nameOf(v) }

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
	case "learning_curve", "calibration":
		return drawLines(p, t, "x", "y", "stroke")
	case "elbow":
		return drawElbow(p, t)
	case "residuals_plot", "outliers", "decision_boundaries":
		return drawDots(p, t)
	case "feature_importances", "metrics", "class_proportions":
		return drawRows(p, t)
	case "silhouette_":
		return drawSilhouettes(p, t)
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

// groups collects the elements of a chart by name, in the order of the table.
type groups[T any] struct {
	names []string
	of    map[string][]T
}

func (g *groups[T]) add(name string, v T) {
	if g.of == nil {
		g.of = map[string][]T{}
	}
	if _, known := g.of[name]; !known {
		g.names = append(g.names, name)
	}
	g.of[name] = append(g.of[name], v)
}

// shown returns at most n names and a note about the others, "" for none.
func (g *groups[T]) shown(n int, what string) (names []string, note string) {
	if len(g.names) <= n {
		return g.names, ""
	}
	return g.names[:n], fmt.Sprintf(", the first %d of %d %s", n, len(g.names), what)
}

// drawDots draws a scatter plot. If the chart has a column for the role class, each class has a
// colour. If the chart has a column for the role limit, a dashed line is at its first value.
func drawDots(p format.Plot, t format.Table) *Plot {
	xs, ys, names := column(p, t, "x"), column(p, t, "y"), -1
	if p.Fields["class"] != "" {
		names = column(p, t, "class")
	}
	var classes groups[dot]
	var a axes
	total := 0
	for _, row := range t.Rows {
		if d := (dot{numberOf(cellOf(row, xs)), numberOf(cellOf(row, ys))}); finite(d.x) && finite(d.y) {
			classes.add(nameOf(cellOf(row, names)), d)
			a.add(d.x, d.y)
			total++
		}
	}
	limit := limitOf(p, t)
	if a.any && finite(limit) {
		a.add(a.first, limit)
	}
	out := &Plot{About: about(p, "x", "y")}
	if !a.fit(out) {
		return out
	}
	all, note := classes.shown(maxPlotLines, "classes")
	out.About += note
	for i, name := range all {
		points := classes.of[name]
		var path strings.Builder
		for _, d := range Thin(points, max(2, maxPlotMarks*len(points)/total)) {
			path.WriteString("M" + place1(a.x.at(d.x)) + " " + place1(a.y.at(d.y)) + "h0")
		}
		l := Line{Class: "dots c" + strconv.Itoa(i), Path: path.String()}
		if names >= 0 {
			l.Name = name
			out.Legend = append(out.Legend, Line{Class: "line c" + strconv.Itoa(i), Name: name})
		}
		out.Lines = append(out.Lines, l)
	}
	if total > maxPlotMarks {
		out.About += fmt.Sprintf(", %d of %d points", maxPlotMarks, total)
	}
	if finite(limit) {
		l := Line{Class: "line c" + strconv.Itoa(len(all)%Colors) + " dash-1", Name: plain.Readable(p.Fields["limit"]) + " " + number(limit),
			Path: a.path([]dot{{a.first, limit}, {a.last, limit}})}
		out.Lines, out.Legend = append(out.Lines, l), append(out.Legend, Line{Class: "line c" + strconv.Itoa(len(all)%Colors), Name: l.Name})
	}
	return out
}

// limitOf returns the first number in the column for the role limit, or NaN for none.
func limitOf(p format.Plot, t format.Table) float64 {
	if p.Fields["limit"] == "" {
		return math.NaN()
	}
	limits := column(p, t, "limit")
	for _, row := range t.Rows {
		if v := numberOf(cellOf(row, limits)); finite(v) {
			return v
		}
	}
	return math.NaN()
}

// drawElbow draws two lines over the same X axis. The axis of the line in the column for the role
// second is at the right.
func drawElbow(p format.Plot, t format.Table) *Plot {
	xs := column(p, t, "x")
	var points [2][]dot
	var a [2]axes
	for i, use := range []string{"y", "second"} {
		ys := column(p, t, use)
		for _, row := range t.Rows {
			if d := (dot{numberOf(cellOf(row, xs)), numberOf(cellOf(row, ys))}); finite(d.x) && finite(d.y) {
				points[i] = append(points[i], d)
				a[0].first, a[0].last = math.Min(a[0].first, d.x), math.Max(a[0].last, d.x)
				a[i].add(d.x, d.y)
			}
		}
		slices.SortStableFunc(points[i], func(a, b dot) int { return cmp.Compare(a.x, b.x) })
	}
	out := &Plot{About: plain.Readable(p.Fields["y"] + " over " + p.Fields["x"])}
	if !a[0].fit(out) {
		return out
	}
	if a[1].any {
		var second Plot
		a[1].first, a[1].last = a[0].first, a[0].last
		a[1].fit(&second)
		out.Right = second.Y
		out.About = plain.Readable(p.Fields["y"] + " (left axis) and " + p.Fields["second"] + " (right axis) over " + p.Fields["x"])
		for i := range a {
			a[i].x.to = rightEdge
		}
		out.X = a[0].x.ticks()
	}
	for i, use := range []string{"y", "second"} {
		if len(points[i]) > 0 {
			out.Lines = append(out.Lines, Line{Class: "line c" + strconv.Itoa(i), Name: plain.Readable(p.Fields[use]), Path: a[i].path(Thin(points[i], maxPlotMarks))})
		}
	}
	return out
}

// drawRows draws a horizontal bar for each label, with the label beside the bar. If the chart has a
// column for the role stack, the parts of a bar have the colours of the names in this column.
// Values with the same label and name are added.
func drawRows(p format.Plot, t format.Table) *Plot {
	labels, values, stacks := column(p, t, "label"), column(p, t, "value"), -1
	if p.Fields["stack"] != "" {
		stacks = column(p, t, "stack")
	}
	type part struct {
		stack         string
		value, length float64 // length is value divided by the number of table rows
		any           bool    // whether a sum of parts has a part
	}
	var rows groups[part]
	var parts groups[struct{}]
	for _, row := range t.Rows {
		if v := numberOf(cellOf(row, values)); finite(v) {
			stack := nameOf(cellOf(row, stacks))
			rows.add(nameOf(cellOf(row, labels)), part{stack: stack, value: v, length: v / float64(len(t.Rows))})
			parts.add(stack, struct{}{})
		}
	}
	names, note := rows.shown(maxPlotRows, "bars")
	stacked, more := parts.shown(maxPlotLines, "parts")
	out := &Plot{About: about(p, "label", "value") + note + more, Wide: true, Height: top + foot + rowHeight*float64(max(len(names), 1))}
	if len(names) == 0 {
		return out
	}
	var a axes
	a.add(0, 0)
	type bar struct {
		row, stack int
		from, to   float64
		value      float64
	}
	var bars []bar
	scale := float64(len(t.Rows)) // sums of lengths are finite, and sums of values may not be
	for i, name := range names {
		var below, above float64
		sums := make([]part, len(stacked))
		for _, part := range rows.of[name] {
			if at := slices.Index(stacked, part.stack); at >= 0 {
				sums[at].value += part.value
				sums[at].length += part.length
				sums[at].any = true
			}
		}
		for at, part := range sums {
			if !part.any {
				continue
			}
			from := &above
			if part.length < 0 {
				from = &below
			}
			bars = append(bars, bar{i, at, *from, *from + part.length, part.value})
			*from += part.length
		}
		a.add(below, 0)
		a.add(above, 0)
	}
	axis := newAxis(false, within(a.first*scale), within(a.last*scale), wideLeft, width-right, 2)
	out.X = axis.ticks()
	for _, b := range bars {
		title := names[b.row] + ": " + number(b.value)
		if stacks >= 0 {
			title = names[b.row] + ", " + stacked[b.stack] + ": " + number(b.value)
		}
		y := top + rowHeight*(float64(b.row)+0.15)
		from, to := axis.at(within(b.from*scale)), axis.at(within(b.to*scale))
		out.Lines = append(out.Lines, Line{Class: "bars c" + strconv.Itoa(b.stack), Name: title,
			Path: "M" + place1(from) + " " + place1(y) + "H" + place1(to) + "v" + place1(0.7*rowHeight) + "H" + place1(from) + "z"})
	}
	for i, name := range names {
		out.Y = append(out.Y, Tick{plain.Line(name, 20), place1(top + rowHeight*(float64(i)+0.5))})
	}
	if stacks >= 0 {
		for i, name := range stacked {
			out.Legend = append(out.Legend, Line{Class: "line c" + strconv.Itoa(i), Name: name})
		}
	}
	return out
}

// drawSilhouettes draws the silhouette values of the samples of each cluster as an area, sorted as
// in the table, with the mean as a dashed line.
func drawSilhouettes(p format.Plot, t format.Table) *Plot {
	xs, ys, names := column(p, t, "x"), column(p, t, "y"), column(p, t, "class")
	var clusters groups[dot]
	var a axes
	for _, row := range t.Rows {
		if d := (dot{numberOf(cellOf(row, xs)), numberOf(cellOf(row, ys))}); finite(d.x) && finite(d.y) {
			clusters.add(nameOf(cellOf(row, names)), d)
			a.add(d.x, d.y)
			a.add(0, d.y)
		}
	}
	mean := limitOf(p, t)
	if a.any && finite(mean) {
		a.add(mean, a.low)
	}
	all, note := clusters.shown(maxPlotLines, "clusters")
	out := &Plot{About: "samples of each cluster over silhouette value" + note}
	if !a.fit(out) {
		return out
	}
	out.Y = nil
	for i, name := range all {
		points := Thin(clusters.of[name], maxPlotMarks/len(all))
		first, last := points[0], points[len(points)-1]
		path := a.path(append(append([]dot{{0, first.y}}, points...), dot{0, last.y}))
		out.Lines = append(out.Lines, Line{Class: "bars c" + strconv.Itoa(i), Name: "cluster " + name, Path: path + "z"})
		out.Y = append(out.Y, Tick{plain.Line(name, 8), place1((a.y.at(first.y) + a.y.at(last.y)) / 2)})
	}
	if finite(mean) {
		l := Line{Class: "line c" + strconv.Itoa(len(all)%Colors) + " dash-1", Name: "mean " + number(mean), Path: a.path([]dot{{mean, a.low}, {mean, a.high}})}
		out.Lines, out.Legend = append(out.Lines, l), []Line{{Class: "line c" + strconv.Itoa(len(all)%Colors), Name: l.Name}}
	}
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
// chart needs no legend.
func (p *Plot) Names() []Line {
	if p.Legend != nil {
		return p.Legend
	}
	if len(p.Lines) < 2 || !strings.HasPrefix(p.Lines[0].Class, "line") {
		return nil
	}
	return p.Lines
}
