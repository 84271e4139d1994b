package workspace

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"

	"tracker/store/filter"
)

// runSet holds the texts of a search for the runs of a run set.
type runSet struct{ filter, sort, group, columns string }

// runSet converts a run set.
func (r *reader) runSet(n node) (s runSet) {
	s.filter = r.filter(n.object("filters"))
	if words := strings.TrimSpace(n.object("search").text("query")); words != "" {
		if n.object("search").truth("isRegex") {
			r.omit("the search for runs whose names match %s", cut(words))
		} else {
			s.filter = r.checked(and(s.filter, "name contains "+quoted(words)))
		}
	}
	var sort []string
	for _, k := range n.object("sort").objects("keys") {
		key := k.object("key")
		field, ok := fieldOf(key.text("section"), key.text("name"))
		if !ok || field == "tag" || len(sort) == filter.MaxSortKeys {
			r.omit("the order by %s", cut(key.text("name")))
			continue
		}
		if !k.truth("ascending") {
			field = "-" + field
		}
		sort = append(sort, field)
	}
	s.sort = strings.Join(sort, ", ")
	var group []string
	for _, key := range n.objects("grouping") {
		field, ok := fieldOf(key.text("section"), key.text("name"))
		if !ok || !strings.HasPrefix(field, "param.") && field != "tag" || len(group) == filter.MaxGroupKeys {
			r.omit("the groups by %s", cut(key.text("name")))
			continue
		}
		group = append(group, field)
	}
	s.group = strings.Join(group, ", ")
	var columns []string
	feed := n.object("runFeed")
	for _, name := range feed.texts("columnOrder") {
		if !feed.object("columnPinned").truth(name) && !feed.object("columnVisible").truth(name) {
			continue
		}
		section, key, _ := strings.Cut(name, ":")
		field, ok := fieldOf(section, key)
		switch {
		case ok && (strings.HasPrefix(field, "param.") || strings.HasPrefix(field, "metric.")) && len(columns) < filter.MaxColumns:
			columns = append(columns, field)
		case section != "run": // the other columns of a run are in every table
			r.omit("the column %s", cut(name))
		}
	}
	s.columns = strings.Join(columns, ", ")
	if len(n.object("selections").texts("tree"))+len(n.object("selections").objects("tree")) > 0 {
		r.omit("the selection of single runs")
	}
	return s
}

// gid returns the iteration id of a run that W&B's clients name by a global id or by its own id.
func (r *reader) gid(id string) string {
	if b, err := base64.StdEncoding.DecodeString(id); err == nil {
		if parts := strings.Split(string(b), ":"); len(parts) >= 5 && parts[0] == "Run" && parts[1] == "v1" {
			id = strings.Join(parts[2:len(parts)-2], ":")
		}
	}
	return r.run(id)
}

// runFields maps the fields of a run to fields of the search language.
var runFields = map[string]string{
	"displayName": "name", "name": "id", "state": "status", "createdAt": "created", "duration": "duration", "heartbeatAt": "last_seen",
	"tags": "tag", "group": "param.group", "jobType": "param.job_type", "sweep": "param.sweep",
}

// fieldOf returns the field of the search language for a key of W&B.
func fieldOf(section, name string) (string, bool) {
	if name == "" && section != "tags" {
		return "", false
	}
	switch section {
	case "run":
		field, ok := runFields[name]
		return field, ok
	case "config":
		return filter.ParamName(settingOf(name)), true
	case "summary":
		return filter.MetricName(name), true
	case "tags":
		return "tag", true
	}
	return "", false
}

// settingOf returns the name of a parameter for the path of a setting. In W&B's paths, each setting
// is an object with the member "value": lr.value, or net.value.depth for a nested setting.
func settingOf(path string) string {
	path = strings.TrimPrefix(path, "config.")
	if name, ok := strings.CutSuffix(path, ".value"); ok {
		return name
	}
	if first, rest, ok := strings.Cut(path, ".value."); ok {
		path = first + "." + rest
	}
	return strings.ReplaceAll(path, ".", "/")
}

// metricOf returns the metric for the name of a value in a panel. ok is false for settings and fields
// of runs.
func metricOf(name string) (metric string, ok bool) {
	for _, prefix := range []string{"summary_metrics.", "summary:"} {
		if rest, found := strings.CutPrefix(name, prefix); found {
			return rest, rest != ""
		}
	}
	if strings.HasPrefix(name, "config:") || strings.HasPrefix(name, "config.") && strings.Contains(name, ".value") ||
		strings.HasPrefix(name, "run:") || strings.HasPrefix(name, "_") || name == "" {
		return "", false
	}
	return name, true
}

// value returns the value of runs, in the search language, for the name of a value in a panel.
func value(name string) (string, bool) {
	for _, prefix := range []string{"config:", "config.", "c::", "summary:c::"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && rest != "" && (prefix != "config." || strings.Contains(rest, ".value")) {
			return filter.ParamName(settingOf(rest)), true
		}
	}
	m, ok := metricOf(name)
	return filter.MetricName(m), ok
}

func and(a, b string) string {
	if a == "" {
		return b
	}
	return "(" + a + ") and " + b
}

// checked returns a filter, or "" if it is too large for a search.
func (r *reader) checked(text string) string {
	if text == "" {
		return ""
	}
	if _, err := new(filter.Parser).Filter(text); err != nil {
		r.omit("the filter, which can't be used here: %s", cut(err.Error()))
		return ""
	}
	return text
}

// filter converts a filter: a flat list with connectors, or, from older versions, a tree.
func (r *reader) filter(n node) string {
	var text string
	if n.text("filterFormat") == "filterV2" {
		text = r.list(n.objects("filters"), 0)
	} else {
		text, _ = r.tree(n, 0)
	}
	return r.checked(text)
}

// list converts a list of conditions. "and" binds tighter than "or", as in the search language.
func (r *reader) list(items []node, depth int) string {
	var text strings.Builder
	for _, item := range items {
		one := ""
		if _, nested := item["filters"]; nested && depth < maxDepth {
			if one = r.list(item.objects("filters"), depth+1); one != "" {
				one = "(" + one + ")"
			}
		} else {
			one = r.condition(item)
		}
		if one == "" {
			continue
		}
		if text.Len() > 0 {
			connector := " and "
			if item.text("connector") == "OR" {
				connector = " or "
			}
			text.WriteString(connector)
		}
		text.WriteString(one)
	}
	return text.String()
}

// tree converts a tree of conditions. joined reports whether the text has several conditions.
func (r *reader) tree(n node, depth int) (text string, joined bool) {
	if n.object("key") != nil || depth > maxDepth {
		return r.condition(n), false
	}
	var all []string
	for _, child := range n.objects("filters") {
		one, several := r.tree(child, depth+1)
		if one == "" {
			continue
		}
		joined = several
		if several {
			one = "(" + one + ")"
		}
		all = append(all, one)
	}
	if len(all) == 1 {
		if joined {
			return strings.TrimSuffix(strings.TrimPrefix(all[0], "("), ")"), true
		}
		return all[0], false
	}
	word := " and "
	if n.text("op") == "OR" {
		word = " or "
	}
	return strings.Join(all, word), len(all) > 1
}

// operators maps the operators of W&B to operators of the search language.
var operators = map[string]string{"=": "=", "==": "=", "!=": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "IN": "in", "NIN": "in"}

// condition converts one condition. It returns "" for a condition that is disabled or has no
// counterpart. Runs without the value pass "!=" and "NIN" in W&B, and "not" in the search language.
func (r *reader) condition(n node) string {
	key := n.object("key")
	name, op := key.text("name"), n.text("op")
	if n.truth("disabled") || key == nil || name == "" && key.text("section") != "tags" {
		return ""
	}
	omitted := func() string {
		r.omit("the condition %s %s %v of the filter", cut(name), cut(op), cutValue(n["value"]))
		return ""
	}
	field, ok := fieldOf(key.text("section"), name)
	if !ok {
		return omitted()
	}
	if seconds, number := n.number("value"); op == "WITHINSECONDS" && number && field == "created" && seconds >= 1 && seconds < 1e10 {
		return "created > -" + strconv.FormatInt(int64(seconds), 10) + "s"
	}
	word, known := operators[op]
	if !known {
		return omitted()
	}
	given := n["value"]
	if field == "tag" && name != "" && key.text("section") == "tags" {
		has, isBool := given.(bool)
		if !isBool {
			return omitted()
		}
		given = name
		if !has {
			op = "!="
		}
	}
	literal := func(v any) (string, bool) { return r.literal(field, v) }
	text := ""
	if list, isList := given.([]any); isList {
		var all []string
		for _, v := range list {
			one, ok := literal(v)
			if !ok {
				return omitted()
			}
			all = append(all, one)
		}
		if len(all) == 0 || word != "in" {
			return omitted()
		}
		text = "(" + strings.Join(all, ", ") + ")"
	} else {
		if word == "in" {
			word = "="
		}
		if text, ok = literal(given); !ok {
			return omitted()
		}
		if strings.HasPrefix(field, "metric.") && strings.HasPrefix(text, "'") { // a text of the summary
			field = filter.SummaryName(name)
		}
	}
	text = field + " " + word + " " + text
	if op == "!=" || op == "NIN" {
		return "not " + text
	}
	return text
}

func cutValue(v any) string {
	switch v := v.(type) {
	case string:
		return cut(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return "with a list or no value"
}

// states maps the states of runs in W&B to statuses.
var states = map[string]string{"finished": "SUCCEEDED", "failed": "FAILED", "killed": "KILLED", "crashed": "LOST", "running": "RUNNING", "preempted": "KILLED"}

// literal returns a value of a condition in the search language.
func (r *reader) literal(field string, v any) (string, bool) {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return "", false
		}
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if strings.HasPrefix(field, "param.") || strings.HasPrefix(field, "metric.") || field == "duration" {
			return text, true
		}
		return quoted(text), true
	case bool:
		return quoted(strconv.FormatBool(v)), true
	case string:
		switch field {
		case "status":
			status, ok := states[strings.ToLower(v)]
			return quoted(status), ok
		case "id":
			id := r.run(v)
			return quoted(id), id != ""
		}
		return quoted(strings.ToValidUTF8(v, "\uFFFD")), true
	}
	return "", false
}

// quoted returns a string of the search language.
func quoted(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\t", `\t`).Replace(s) + "'"
}
