package store

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// field is what an expression can speak of.
type field int

const (
	paramField field = iota
	metricField
	tagField
	nameField
	statusField
	createdField
	endedField
	lastSeenField
	durationField
	idField
)

var fields = map[string]field{
	"param":     paramField,
	"metric":    metricField,
	"tag":       tagField,
	"name":      nameField,
	"status":    statusField,
	"created":   createdField,
	"ended":     endedField,
	"last_seen": lastSeenField,
	"duration":  durationField,
	"id":        idField,
}

// fieldNames lists what stands on the left of a comparison, for those who wrote
// something else there.
const fieldNames = "tag, name, status, created, ended, last_seen, duration or id"

// statistics of a series that a search can ask for; last is the one that is
// meant when none is named.
var statistics = []string{"min", "max", "mean", "last", "count"}

// name is a parameter or a metric.
type name struct {
	field field // paramField or metricField
	key   string
}

// ref is the left side of a comparison, a key to sort by, or a column.
type ref struct {
	name        // the key is "" for the other fields
	stat string // of a metric: one of statistics
	at   int
}

// operand is the right side of a comparison.
type operand struct {
	text     string // as written for a number, upper case for a status
	number   float64
	isNumber bool
	time     Time // for created, ended and last_seen
}

// ref reads the name of what an iteration has.
func (p *parser) ref() (ref, *mistake) {
	t := p.token
	if t.kind != wordToken {
		return ref{}, p.wrong("write param.NAME, metric.NAME, %s here", fieldNames)
	}
	r := ref{at: t.at}
	word, rest, dotted := strings.Cut(t.text, ".")
	f, ok := fields[strings.ToLower(word)]
	named := f == paramField || f == metricField
	switch {
	case t.quoted && t.text == "":
		return r, p.wrong("param. or metric. stands before a name in backquotes")
	case !ok:
		name := word
		if t.is("and") || t.is("or") || t.is("in") || t.is("contains") {
			name = "NAME"
		}
		return r, p.wrong("%q is not known; write param.%s, metric.%s, %s", word, name, name, fieldNames)
	case named && !dotted:
		return r, p.wrong("a dot and a name follow %s", word)
	case !named && (dotted || t.quoted):
		return r, p.wrong("nothing follows %s", word)
	case t.quoted && rest != "":
		return r, p.wrong("put the whole name in backquotes")
	}
	r.field = f
	if named {
		if m := p.readName(&r, rest); m != nil {
			return r, m
		}
		if len(p.names) == maxNames && !p.names[r.name] {
			return r, p.wrong("filter and sort may name %d different parameters and metrics", maxNames)
		}
		if p.names != nil {
			p.names[r.name] = true
		}
	}
	return r, p.next()
}

// readName reads what follows param. or metric., where rest is the part of it
// without backquotes.
func (p *parser) readName(r *ref, rest string) *mistake {
	t := p.token
	if r.field == metricField {
		r.stat = "last"
	}
	if t.quoted {
		r.key = t.name
		switch stat, ok := statistic(strings.TrimPrefix(t.tail, ".")); {
		case t.tail == "":
		case r.field == metricField && ok:
			r.stat = stat
		case r.field == metricField:
			return p.wrong("after the name comes one of .min .max .mean .last .count, or nothing")
		default:
			return p.wrong("nothing follows the name of a parameter")
		}
	} else {
		r.key = rest
		dot := strings.LastIndexByte(rest, '.')
		if stat, ok := statistic(rest[dot+1:]); ok && dot >= 0 && r.field == metricField {
			r.key, r.stat = rest[:dot], stat
		}
		if strings.HasSuffix(r.key, ".") {
			return p.wrong("a name that ends with a dot is put in backquotes")
		}
	}
	if r.key == "" {
		return p.wrong("a name follows the dot")
	}
	return nil
}

func statistic(s string) (string, bool) {
	s = strings.ToLower(s)
	return s, slices.Contains(statistics, s)
}

// notFinite reads the words for what a number can be besides digits.
func notFinite(t token) (string, bool) {
	if t.quoted || t.kind == numberToken {
		return "", false
	}
	switch strings.ToLower(t.text) {
	case "nan":
		return "NaN", true
	case "infinity", "inf", "+infinity", "+inf":
		return "Infinity", true
	case "-infinity", "-inf":
		return "-Infinity", true
	}
	return "", false
}

// check reads the values of a comparison as its field wants them.
func (c *comparison) check(at int, values []token) *mistake {
	equality := c.op == "=" || c.op == "!=" || c.op == "in"
	switch c.ref.field {
	case tagField:
		if !equality && c.op != "contains" {
			return &mistake{at, "a tag is compared with =, !=, in or contains"}
		}
	case statusField:
		if !equality {
			return &mistake{at, "status is compared with =, != or in"}
		}
	case metricField, createdField, endedField, lastSeenField, durationField:
		if c.op == "contains" {
			return &mistake{at, "contains is for texts: a parameter, tag, name or id"}
		}
	}
	for _, t := range values {
		o, m := c.operand(t)
		if m == nil && math.IsNaN(o.number) && !equality {
			m = &mistake{t.at, "NaN is neither less nor greater than a number; use =, != or in"}
		}
		if m == nil && c.op == "contains" && len(o.text) > maxContains {
			m = &mistake{t.at, fmt.Sprintf("a text to look for may have %d bytes", maxContains)}
		}
		if m != nil {
			return m
		}
		c.values = append(c.values, o)
	}
	return nil
}

// maxContains bounds a text to look for, in bytes: the time that it takes
// grows with its length times that of the text that it is looked for in.
const maxContains = 1000

func (c *comparison) operand(t token) (o operand, m *mistake) {
	o.text = t.text
	if t.kind == numberToken {
		var err error
		if o.number, err = strconv.ParseFloat(t.text, 64); err != nil {
			return o, &mistake{t.at, "this number is too large for a double"}
		}
		o.isNumber = true
	}
	switch c.ref.field {
	case metricField:
		if text, ok := notFinite(t); ok {
			o.number, o.isNumber = parseNotFinite(text), true
		}
		if !o.isNumber {
			return o, &mistake{t.at, "a metric is compared with a number, NaN, Infinity or -Infinity"}
		}
	case paramField:
	case createdField, endedField, lastSeenField:
		if o.time, m = parseDay(t); m != nil {
			return o, m
		}
	case durationField:
		if !o.isNumber {
			return parseDuration(t)
		}
	case statusField:
		o.text = strings.ToUpper(o.text)
		if t.kind != textToken || o.text != lostStatus && !slices.Contains(iterationStatuses, IterationStatus(o.text)) {
			return o, &mistake{t.at, "a status is 'RUNNING', 'SUCCEEDED', 'FAILED' or 'KILLED', or 'LOST' for what runs and was not heard of for five minutes"}
		}
	default:
		if t.kind != textToken {
			return o, &mistake{t.at, "put a text in quotes"}
		}
	}
	return o, nil
}

func parseNotFinite(text string) float64 {
	switch text {
	case "Infinity":
		return math.Inf(1)
	case "-Infinity":
		return math.Inf(-1)
	}
	return math.NaN()
}

// parseDay reads a time, or a date, which is its midnight in UTC.
func parseDay(t token) (Time, *mistake) {
	if t.kind == textToken {
		if at, err := ParseTime(t.text); err == nil {
			return at, nil
		}
		if at, err := time.Parse(time.DateOnly, t.text); err == nil {
			return toTime(at), nil
		}
	}
	return 0, &mistake{t.at, "write a time in quotes, like '2026-11-21T09:30:00Z' or '2026-11-21'"}
}

// parseDuration reads a text like 1h30m.
func parseDuration(t token) (o operand, m *mistake) {
	d, err := time.ParseDuration(t.text)
	if t.kind != textToken || err != nil {
		return o, &mistake{t.at, "write a number of seconds, or a duration in quotes like '90s' or '1h30m'"}
	}
	return operand{text: t.text, number: float64(d) / float64(time.Second), isNumber: true}, nil
}
