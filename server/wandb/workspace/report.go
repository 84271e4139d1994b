package workspace

import (
	"fmt"
	"strconv"
	"strings"

	"tracker/store/domain"
)

// maxCharts is the maximum number of metrics of a chart in a report.
const maxCharts = 8

// Report converts the definition of a report to the text of a report. A section at the end names the
// parts without a counterpart. It returns INVALID_PAYLOAD if spec is not a JSON object or the text is
// too large.
func Report(project, description, spec string, find Find) (string, error) {
	n, err := parse(spec)
	if err != nil {
		return "", err
	}
	w := &writer{reader: reader{find: find}, project: project}
	if strings.TrimSpace(description) != "" {
		w.block(escape(description))
	}
	for _, b := range n.objects("blocks") {
		w.add(b, 0)
	}
	if len(n.objects("discussionThreads")) > 0 {
		w.omit("comments")
	}
	if len(w.omitted) > 0 {
		w.block("## Not shown\n\nThis report was saved by a W&B client. It does not have:\n\n" + listed(w.omitted))
	}
	text := w.text.String()
	if len(text) > domain.MaxText {
		return "", domain.Invalid("spec", "The report has %d bytes as Markdown, and at most %d are allowed; divide it.", len(text), domain.MaxText)
	}
	return text, w.err
}

// Markdown returns the definition of a report that consists of one Markdown text.
func Markdown(text string) map[string]any {
	empty := []any{map[string]any{"text": ""}}
	paragraph := map[string]any{"type": "paragraph", "children": empty}
	return map[string]any{"version": 5, "panelSettings": map[string]any{}, "width": "readable", "authors": []any{}, "discussionThreads": []any{},
		"blocks": []any{paragraph, map[string]any{"type": "markdown-block", "children": empty, "content": text}, paragraph}}
}

// writer writes the text of a report.
type writer struct {
	reader
	project string
	text    strings.Builder
}

// block adds a paragraph or another block of Markdown.
func (w *writer) block(text string) {
	if text = strings.TrimRight(text, " \t\r\n"); text == "" {
		return
	}
	if w.text.Len() > 0 {
		w.text.WriteString("\n")
	}
	w.text.WriteString(text + "\n")
}

// add adds a block of W&B.
func (w *writer) add(b node, depth int) {
	if depth > maxDepth || w.text.Len() > domain.MaxText {
		w.omit("deeply nested blocks")
		return
	}
	switch kind := b.text("type"); kind {
	case "heading":
		level, _ := b.number("level")
		w.block(strings.Repeat("#", int(max(1, min(level, 6)))) + " " + oneLine(w.inline(b)))
		for _, hidden := range b.objects("collapsedChildren") {
			w.add(hidden, depth+1)
		}
	case "paragraph", "default":
		w.block(w.inline(b))
	case "block-quote":
		w.block(prefixed("> ", w.inline(b)))
	case "callout-block":
		var lines []string
		for _, line := range b.objects("children") {
			lines = append(lines, w.inline(line))
		}
		w.block(prefixed("> ", strings.Join(lines, "\n")))
	case "list":
		w.block(w.items(b, depth))
	case "code-block":
		var lines []string
		for _, line := range b.objects("children") {
			lines = append(lines, plainText(line))
		}
		w.block(fenced(language(b.text("language")), strings.Join(lines, "\n")))
	case "latex":
		w.block(fenced("latex", b.text("content")))
		w.omit("formulas as pictures; they are LaTeX code")
	case "markdown-block":
		w.block(closed(b.text("content")))
	case "image", "video":
		caption := oneLine(w.inline(b))
		if caption == "" {
			caption = kind
		}
		w.block("[" + caption + "](" + address(b.text("url")) + ")")
		w.omit("the %s %s, except as a link", kind, cut(b.text("url")))
	case "horizontal-rule":
		w.block("---")
	case "panel-grid":
		w.grid(b.object("metadata"))
	case "gallery":
		for _, link := range b.objects("links") {
			if link.text("url") != "" {
				title := link.text("title")
				if title == "" {
					title = link.text("url")
				}
				w.block("[" + escape(oneLine(title)) + "](" + address(link.text("url")) + ")")
			}
		}
		w.omit("galleries, except as links")
	case "table-of-contents":
		w.omit("a table of contents")
	default:
		if kind == "" {
			kind = "unknown"
		}
		w.omit("a block of the type %s", cut(kind))
	}
}

// inline returns the text of a block as Markdown.
func (w *writer) inline(b node) string {
	var text strings.Builder
	for _, c := range b.objects("children") {
		switch c.text("type") {
		case "link":
			text.WriteString("[" + oneLine(w.inline(c)) + "](" + address(c.text("url")) + ")")
		case "latex":
			text.WriteString(code(c.text("content")))
			w.omit("formulas as pictures; they are LaTeX code")
		case "paragraph":
			text.WriteString(w.inline(c))
		default:
			switch {
			case c.text("text") == "":
			case c.truth("inlineCode"):
				text.WriteString(code(c.text("text")))
			default:
				text.WriteString(escape(c.text("text")))
			}
			for name := range c {
				if strings.HasPrefix(name, "inlineComment") {
					if _, comment := c[name].(map[string]any); comment {
						w.omit("comments")
					}
				}
			}
		}
	}
	return text.String()
}

// items returns a list as Markdown.
func (w *writer) items(list node, depth int) string {
	var text strings.Builder
	for i, item := range list.objects("children") {
		mark := "- "
		if list.truth("ordered") || item.truth("ordered") {
			mark = strconv.Itoa(i+1) + ". "
		}
		indent := strings.Repeat(" ", len(mark))
		if checked, ok := item["checked"].(bool); ok {
			mark += map[bool]string{true: "[x] ", false: "[ ] "}[checked]
		}
		var nested []node
		shown := node{"children": []any{}}
		for _, c := range item.objects("children") {
			if c.text("type") == "list" {
				nested = append(nested, c)
			} else {
				shown["children"] = append(shown["children"].([]any), map[string]any(c))
			}
		}
		text.WriteString(mark + strings.ReplaceAll(w.inline(shown), "\n", "\n"+indent) + "\n")
		for _, n := range nested {
			if depth < maxDepth {
				text.WriteString(prefixed(indent, strings.TrimRight(w.items(n, depth+1), "\n")) + "\n")
			}
		}
	}
	return text.String()
}

// grid adds the panels and tables of a panel grid, once for each of its run sets.
func (w *writer) grid(n node) {
	sets := n.objects("runSets")
	panels := n.object("panelBankSectionConfig").objects("panels")
	for _, p := range panels {
		if p.text("viewType") == markdown {
			w.block(closed(p.object("config").text("value")))
		}
	}
	if len(sets) == 0 {
		sets = []node{{}}
	}
	if len(sets) > 1 {
		w.omit("charts of several run sets together; each run set has its own charts")
	}
	_, open := n.number("openRunSet")
	for _, set := range sets {
		if enabled, ok := set["enabled"].(bool); ok && !enabled {
			w.omit("the disabled run set %s", cut(set.text("name")))
			continue
		}
		project := set.object("project").text("name")
		if project == "" {
			project = w.project
		}
		experiment := w.keep(w.find.Experiment(project))
		if experiment == "" {
			w.omit("the run set %s of the project %s, which has no runs or is not this project", cut(set.text("name")), cut(project))
			continue
		}
		s := w.runSet(set)
		caption := ""
		if len(sets) > 1 {
			caption = set.text("name")
		}
		for _, p := range panels {
			w.panel(p, experiment, s, caption)
		}
		if len(panels) == 0 || open && !n.truth("hideRunSets") {
			w.fields("table", [][2]string{{"experiment", experiment}, {"filter", s.filter}, {"sort", s.sort}, {"group", s.group},
				{"columns", s.columns}, {"caption", caption}})
		}
	}
	if len(n.object("customRunColors")) > 0 {
		w.omit("the colours of runs and groups")
	}
}

// panel adds a panel of a panel grid.
func (w *writer) panel(p node, experiment string, s runSet, caption string) {
	c := p.object("config")
	if title := c.text("chartTitle"); title != "" {
		caption = strings.TrimSuffix(title+" · "+caption, " · ")
	}
	common := [][2]string{{"experiment", experiment}, {"filter", s.filter}, {"sort", s.sort}, {"caption", caption}}
	switch p.text("viewType") {
	case linePlot:
		w.lines(p, common, s)
	case barChart, scalarChart:
		for _, x := range w.bars(p) {
			w.fields("bar", append([][2]string{{"x", x}}, common...))
		}
		if s.group != "" {
			w.omit("the groups of %s", described(p))
		}
	case scatterPlot:
		if x, y, ok := w.scatter(p); ok {
			w.fields("scatter", append([][2]string{{"x", x}, {"y", y}}, common...))
		}
	case importance:
		if m, ok := metricOf(c.text("targetKey")); ok && !strings.Contains(m, ",") {
			w.fields("importance", append([][2]string{{"metrics", m}, {"goals", "none"}}, common...))
		} else {
			w.omit("%s of %s", described(p), cut(c.text("targetKey")))
		}
	case markdown:
	default:
		w.omit("%s", described(p))
	}
}

// lines adds a line chart.
func (w *writer) lines(p node, common [][2]string, s runSet) {
	c := p.object("config")
	var metrics []string
	for _, m := range w.metrics(p) {
		if strings.Contains(m, ",") || len(metrics) == maxCharts {
			w.omit("%s of %s", described(p), cut(m))
			continue
		}
		metrics = append(metrics, m)
	}
	if len(metrics) == 0 {
		return
	}
	fields := append([][2]string{{"metrics", strings.Join(metrics, ", ")}}, common...)
	set := func(name, value string) { fields = append(fields, [2]string{name, value}) }
	group := s.group
	if by := c.text("groupBy"); by != "" && by != "None" {
		section := "config"
		if _, ok := runFields[by]; ok {
			section = "run"
		}
		if field, ok := fieldOf(section, by); ok && strings.HasPrefix(field, "param.") {
			group = field
		} else {
			w.omit("the groups by %s of %s", cut(by), described(p))
		}
	}
	set("group", group)
	if axis := w.axis(c.text("xAxis")); axis != "" {
		set("axis", axis)
	}
	for _, axis := range []string{"x", "y"} {
		if c.truth(axis + "LogScale") {
			set(axis, "log")
		}
	}
	if weight, ok := c.number("smoothingWeight"); ok && weight > 0 {
		if kind := c.text("smoothingType"); weight < 1 && (kind == "" || kind == "exponential") {
			set("smooth", strconv.FormatFloat(weight, 'g', -1, 64))
		} else {
			w.omit("the smoothing of %s", described(p))
		}
	}
	for _, ends := range [][2]string{{"xAxis", "zoom"}, {"yAxis", "range"}} {
		low, first := c.number(ends[0] + "Min")
		high, second := c.number(ends[0] + "Max")
		switch {
		case first && second && low < high:
			set(ends[1], fmt.Sprintf("%g~%g", low, high))
		case first || second:
			w.omit("the %s of %s", settingNames[ends[0]+"Min"], described(p))
		}
	}
	if c.truth("ignoreOutliers") {
		set("outliers", "ignore")
	}
	if len(metrics) > 1 {
		set("together", "yes")
	}
	if limit, ok := c.number("limit"); ok && limit >= 1 {
		set("runs", strconv.Itoa(int(min(limit, 30))))
	}
	w.unused(p)
	w.fields("chart", fields)
}

// fields adds a fenced block that names its data. Empty fields are left out.
func (w *writer) fields(kind string, fields [][2]string) {
	text := "```" + kind + "\n"
	for _, f := range fields {
		name, value := f[0], f[1]
		switch {
		case name == "caption":
			value = oneLine(value)
		case strings.ContainsAny(value, "\r\n"):
			w.omit("a value with several lines: %s", cut(value))
			value = ""
		}
		if value != "" {
			text += name + ": " + value + "\n"
		}
	}
	w.block(text + "```")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// plainText returns the text of a block without formatting.
func plainText(b node) string {
	var text strings.Builder
	for _, c := range b.objects("children") {
		text.WriteString(c.text("text"))
	}
	return text.String()
}

func prefixed(prefix, text string) string {
	return prefix + strings.ReplaceAll(text, "\n", "\n"+prefix)
}

// escape returns a text so that Markdown shows it unchanged.
func escape(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		line = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, "~", `\~`, "|", `\|`, "&", `\&`).Replace(line)
		start := strings.TrimLeft(line, " \t")
		if start != "" && strings.ContainsRune("#-+=>", rune(start[0])) {
			start = `\` + start
		}
		if number := strings.TrimLeft(start, "0123456789"); number != start && number != "" && (number[0] == '.' || number[0] == ')') {
			start = start[:len(start)-len(number)] + `\` + number
		}
		lines[i] = start
	}
	return strings.Join(lines, "\n")
}

// code returns a text as inline code.
func code(s string) string {
	s = oneLine(s)
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + s + fence
}

// fenced returns a text as a code block. A fence of tildes never begins a block that names data. A
// text with such a fence is indented instead.
func fenced(language, text string) string {
	if strings.HasPrefix(text, "```") || strings.Contains(text, "\n```") {
		return prefixed("    ", text)
	}
	fence := "~~~"
	for strings.Contains(text, fence) {
		fence += "~"
	}
	return fence + language + "\n" + text + "\n" + fence
}

// language returns the name of a language, or "" if it has other characters than letters.
func language(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return ""
	}
	return s
}

// closed returns a Markdown text whose last code block is closed.
func closed(text string) string {
	open := false
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "```") {
			open = !open
		}
	}
	if open {
		text = strings.TrimRight(text, "\n") + "\n```"
	}
	return text
}

// address returns a URL for a Markdown link.
func address(url string) string {
	return strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "\n", "", "\\", "%5C").Replace(url)
}
