// Package workspace converts saved workspaces and reports of W&B's clients to saved views and reports
// of the dashboard. It reads the definitions that the Python package wandb_workspaces writes. Parts
// that have no counterpart are left out and named, so that a reader sees the difference.
//
// The package does not use the database. The store checks the results, as it checks all saved views
// and reports.
package workspace

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"tracker/store/domain"
	"tracker/store/json"
	"tracker/store/projects"
	"tracker/store/transfer"
)

const (
	maxOmitted = 100      // maximum number of omitted parts that are named
	maxText    = 200      // maximum number of bytes of a name or value in the list of omitted parts
	maxDepth   = 20       // maximum nesting of filters and lists
	maxLayout  = 56 << 10 // bytes of the panels of a view, below projects.MaxLayout
	maxDrawn   = 200      // maximum number of runs in a chart
	// drawnAtFirst is the number of runs in a chart if a view does not set it, here and in W&B.
	drawnAtFirst = 10
	maxFound     = 1000 // maximum number of records that are looked up by their names
)

// Find returns ids that a definition refers to by names. Each function returns "" for an unknown name.
type Find struct {
	Run        func(name string) (string, error)    // iteration id of a run of the project
	Experiment func(project string) (string, error) // id of the experiment with the runs of a project
}

// View is the counterpart of a saved workspace.
type View struct {
	Query   string // query string of the page of an experiment
	Panels  *projects.Layout
	Omitted []string // parts without a counterpart
}

// Panel types of W&B.
const (
	linePlot    = "Run History Line Plot"
	barChart    = "Bar Chart"
	scalarChart = "Scalar Chart"
	scatterPlot = "Scatter Plot"
	markdown    = "Markdown Panel"
	importance  = "Parameter Importance"
)

// node is a JSON object.
type node map[string]any

func parse(spec string) (node, error) {
	if len(spec) > projects.MaxClientSpec {
		return nil, domain.Errorf(domain.CodePayloadTooLarge, "The spec has %d bytes, and at most %d are allowed; make it shorter.", len(spec), projects.MaxClientSpec)
	}
	var n node
	if err := json.Unmarshal([]byte(spec), &n, json.AllowDuplicateNames(true), json.AllowInvalidUTF8(true)); err != nil {
		return nil, domain.Invalid("spec", "The spec must be a JSON object.")
	}
	return n, nil
}

// object returns the object at a path of names. It returns nil if there is none.
func (n node) object(path ...string) node {
	for _, name := range path {
		below, _ := n[name].(map[string]any)
		n = below
	}
	return n
}

func (n node) objects(name string) (all []node) {
	list, _ := n[name].([]any)
	for _, v := range list {
		if m, ok := v.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}

func (n node) text(name string) string {
	s, _ := n[name].(string)
	return strings.ToValidUTF8(s, "\uFFFD")
}

func (n node) texts(name string) (all []string) {
	list, _ := n[name].([]any)
	for _, v := range list {
		if s, ok := v.(string); ok {
			all = append(all, strings.ToValidUTF8(s, "\uFFFD"))
		}
	}
	return all
}

func (n node) truth(name string) bool {
	b, _ := n[name].(bool)
	return b
}

func (n node) number(name string) (float64, bool) {
	x, ok := n[name].(float64)
	return x, ok
}

// reader converts one definition.
type reader struct {
	find    Find
	found   int // number of calls of find.Run
	omitted []string
	err     error // first error of a function of find
}

// keep returns id. It keeps the first error of a function of find.
func (r *reader) keep(id string, err error) string {
	if r.err == nil {
		r.err = err
	}
	return id
}

// run returns the id of a run, or "" if the run does not exist or too many runs were looked up.
func (r *reader) run(name string) string {
	if r.found++; r.found > maxFound {
		return ""
	}
	return r.keep(r.find.Run(name))
}

// omit adds a part to the list of omitted parts.
func (r *reader) omit(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	switch {
	case slices.Contains(r.omitted, text) || len(r.omitted) > maxOmitted:
	case len(r.omitted) == maxOmitted:
		r.omitted = append(r.omitted, "more parts")
	default:
		r.omitted = append(r.omitted, text)
	}
}

// cut returns a text for the list of omitted parts.
func cut(s string) string {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	return strings.Join(strings.Fields(s), " ")
}

// Read converts the definition of a saved workspace. It returns INVALID_PAYLOAD if spec is not a JSON
// object.
func Read(spec string, find Find) (View, error) {
	n, err := parse(spec)
	if err != nil {
		return View{}, err
	}
	r := &reader{find: find}
	section := n.object("section")
	query := url.Values{}
	set := func(name, value string) {
		if value != "" {
			query.Set(name, value)
		}
	}
	if sets := section.objects("runSets"); len(sets) > 0 {
		s := r.runSet(sets[0])
		set("filter", s.filter)
		set("sort", s.sort)
		set("group", s.group)
		set("columns", s.columns)
		if base := sets[0].text("baselineRunId"); base != "" {
			if id := r.gid(base); id != "" {
				query.Set("base", id)
			} else {
				r.omit("the baseline, a run that does not exist")
			}
		}
		if len(sets[0].texts("pinnedRunIds")) > 0 {
			r.omit("the pinned runs")
		}
		if len(sets) > 1 {
			r.omit("all run sets except the first")
		}
	}
	r.settings(section.object("settings"), query)
	if len(section.object("customRunColors")) > 0 {
		r.omit("the colours of runs and groups")
	}
	layout := r.layout(section.object("panelBankConfig").objects("sections"))
	layout.note(r.omitted)
	return View{Query: query.Encode(), Panels: layout.Layout, Omitted: r.omitted}, r.err
}

// settings adds the settings of all charts to the query of a view.
func (r *reader) settings(s node, query url.Values) {
	switch axis := r.axis(s.text("xAxis")); axis {
	case "", "step":
	default:
		query.Set("x", axis)
	}
	if weight, ok := s.number("smoothingWeight"); ok && weight != 0 && s.text("smoothingType") != "none" {
		if weight < 1 && weight > 0 && s.text("smoothingType") == "exponential" {
			query.Set("smooth", strconv.FormatFloat(weight, 'g', -1, 64))
		} else {
			r.omit("the smoothing %s with the weight %g", cut(s.text("smoothingType")), weight)
		}
	}
	if s.truth("ignoreOutliers") {
		query.Set("trim", "1")
	}
	low, first := s.number("xAxisMin")
	high, second := s.number("xAxisMax")
	switch {
	case first && second && low < high:
		query.Set("zoom", fmt.Sprintf("%g~%g", low, high))
	case first || second:
		r.omit("the range of the X axis")
	}
	switch n, ok := s.number("maxRuns"); {
	case !ok || n == drawnAtFirst:
	case n >= 1 && n <= maxDrawn:
		query.Set("top", strconv.Itoa(int(n)))
	default:
		r.omit("charts with %g runs", n)
	}
	if s.truth("suppressLegends") {
		r.omit("charts without legends")
	}
}

// axis returns the X axis of charts for the name of W&B.
func (r *reader) axis(name string) string {
	switch name {
	case "", "_step":
		return ""
	case "_runtime", "_absolute_runtime":
		return "relative"
	case "_timestamp":
		return "time"
	}
	if value, ok := metricOf(name); ok {
		return "metric:" + value
	}
	r.omit("the X axis %s", cut(name))
	return ""
}

// layout returns the sections with their panels.
func (r *reader) layout(sections []node) *layoutOf {
	l := &layoutOf{Layout: &projects.Layout{}, room: maxLayout}
	for i, s := range sections {
		if len(l.Sections) == projects.MaxSections-1 {
			r.omit("%d sections", len(sections)-i)
			break
		}
		name := "Charts"
		if strings.TrimSpace(s.text("name")) != "" {
			name = transfer.FitName(s.text("name"))
		}
		panels := s.objects("panels")
		if len(panels) == 0 && !s.truth("isOpen") && name == "Hidden Panels" {
			continue
		}
		l.Sections = append(l.Sections, projects.Section{Name: name, Panels: []projects.Panel{}})
		for _, p := range panels {
			for _, panel := range r.panels(p) {
				if !l.add(panel) {
					r.omit("%s, because a view has too many panels", described(p))
				}
			}
		}
		settings := s.object("localPanelSettings")
		if axis := settings.text("xAxis"); axis != "" && axis != "_step" {
			r.omit("the X axis of the section %s", cut(name))
		}
	}
	return l
}

// layoutOf is a layout that is being built.
type layoutOf struct {
	*projects.Layout
	room  int // bytes that are left
	count int
}

// add adds a panel to the last section. It returns false if the layout is full.
func (l *layoutOf) add(p projects.Panel) bool {
	size := len(p.Text) + len(p.Title) + len(p.X) + len(p.Y) + 100
	for _, m := range p.Metrics {
		size += len(m) + 10
	}
	if l.room < 2*size || l.count == projects.MaxPanels-1 {
		return false
	}
	l.room -= 2 * size // escaped characters take more bytes
	l.count++
	p.ID = "p" + strconv.Itoa(l.count)
	last := &l.Sections[len(l.Sections)-1]
	last.Panels = append(last.Panels, p)
	return true
}

// note adds a section that names the omitted parts.
func (l *layoutOf) note(omitted []string) {
	if len(omitted) == 0 {
		return
	}
	l.room, l.count = projects.MaxLayout, min(l.count, projects.MaxPanels-2)
	l.Sections = append(l.Sections, projects.Section{Name: "Not shown"})
	l.add(projects.Panel{Type: projects.TextPanel, Text: "This view was saved by a W&B client. It does not have:\n\n" + listed(omitted)})
}

// listed returns a Markdown list of omitted parts, of at most 6 KiB.
func listed(omitted []string) string {
	var text strings.Builder
	for i, o := range omitted {
		if text.Len() > 6<<10 {
			fmt.Fprintf(&text, "- %d more\n", len(omitted)-i)
			break
		}
		text.WriteString("- " + escape(o) + "\n")
	}
	return text.String()
}

// described returns the type and the title of a panel.
func described(p node) string {
	kind := p.text("viewType")
	if kind == "" {
		kind = "unknown panel"
	}
	if title := p.object("config").text("chartTitle"); title != "" {
		return cut(kind + " “" + title + "”")
	}
	return cut(kind)
}

// panels returns the panels of a view for a panel of W&B.
func (r *reader) panels(p node) (all []projects.Panel) {
	c := p.object("config")
	title := ""
	if strings.TrimSpace(c.text("chartTitle")) != "" {
		title = transfer.FitName(c.text("chartTitle"))
	}
	switch p.text("viewType") {
	case linePlot:
		metrics := r.metrics(p)
		for chunk := range slices.Chunk(metrics, projects.MaxPanelMetrics) {
			all = append(all, projects.Panel{Type: projects.LinePanel, Title: title, Metrics: chunk})
		}
		r.unused(p, "xAxis", "xLogScale", "yLogScale", "smoothingWeight", "groupBy", "xAxisMin", "xAxisMax", "yAxisMin", "yAxisMax")
	case barChart, scalarChart:
		for _, x := range r.bars(p) {
			all = append(all, projects.Panel{Type: projects.BarPanel, Title: title, X: x})
		}
	case scatterPlot:
		if x, y, ok := r.scatter(p); ok {
			all = append(all, projects.Panel{Type: projects.ScatterPanel, Title: title, X: x, Y: y})
		}
	case markdown:
		text := c.text("value")
		if len(text) > projects.MaxPanelText {
			text = strings.ToValidUTF8(text[:projects.MaxPanelText], "")
			r.omit("the end of a text with more than %d bytes", projects.MaxPanelText)
		}
		all = append(all, projects.Panel{Type: projects.TextPanel, Text: text})
	default:
		r.omit("%s", described(p))
	}
	return all
}

// bars returns the values that a bar chart or a scalar chart shows, one for each of its metrics.
func (r *reader) bars(p node) (values []string) {
	for _, name := range p.object("config").texts("metrics") {
		if x, ok := value(name); ok {
			values = append(values, x)
		} else {
			r.omit("%s of %s", described(p), cut(name))
		}
	}
	if p.text("viewType") == scalarChart {
		r.omit("%s as one number; bars show the value of each run", described(p))
	}
	r.unused(p, "groupBy", "xAxisMin", "xAxisMax")
	return values
}

// scatter returns the values on the axes of a scatter plot. ok is false if one of them has no
// counterpart.
func (r *reader) scatter(p node) (x, y string, ok bool) {
	c := p.object("config")
	x, okX := value(c.text("xAxis"))
	y, okY := value(c.text("yAxis"))
	if !okX || !okY {
		r.omit("%s of %s and %s", described(p), cut(c.text("xAxis")), cut(c.text("yAxis")))
		return "", "", false
	}
	r.unused(p, "zAxis", "xAxisLogScale", "yAxisLogScale", "xAxisMin", "xAxisMax", "yAxisMin", "yAxisMax", "showLinearRegression")
	return x, y, true
}

// metrics returns the metrics of a line chart.
func (r *reader) metrics(p node) (all []string) {
	c := p.object("config")
	for _, name := range c.texts("metrics") {
		m, ok := metricOf(name)
		if !ok || domain.CheckKey(m) != nil {
			r.omit("%s of %s", described(p), cut(name))
			continue
		}
		if !slices.Contains(all, m) {
			all = append(all, m)
		}
	}
	if c.text("metricRegex") != "" {
		r.omit("%s of the metrics that match %s", described(p), cut(c.text("metricRegex")))
	}
	if len(c.texts("expressions")) > 0 || c.text("xExpression") != "" {
		r.omit("the expressions of %s", described(p))
	}
	return all
}

// settingNames are names of settings of panels as people know them.
var settingNames = map[string]string{
	"xAxis": "X axis", "xLogScale": "logarithmic X axis", "yLogScale": "logarithmic Y axis", "xAxisLogScale": "logarithmic X axis",
	"yAxisLogScale": "logarithmic Y axis", "smoothingWeight": "smoothing", "groupBy": "groups", "zAxis": "Z axis",
	"xAxisMin": "range of the X axis", "xAxisMax": "range of the X axis", "yAxisMin": "range of the Y axis", "yAxisMax": "range of the Y axis",
	"showLinearRegression": "regression line",
}

// unused names the given settings of a panel that are set.
func (r *reader) unused(p node, names ...string) {
	c := p.object("config")
	for _, name := range names {
		v, there := c[name]
		if !there || v == nil || v == false || v == 0.0 || v == "" || name == "xAxis" && v == "_step" {
			continue
		}
		r.omit("the %s of %s", settingNames[name], described(p))
	}
	for _, name := range []string{"overrideColors", "overrideMarks", "overrideLineWidths", "overrideSeriesTitles"} {
		if len(c.object(name)) > 0 {
			r.omit("the colours, lines and titles of curves of %s", described(p))
		}
	}
}
