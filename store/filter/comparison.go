package filter

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tracker/store/scalar"
)

// statistics lists the statistics of a metric. The default is last.
var statistics = []string{"min", "max", "mean", "last", "count"}

// ref reads a reference to a field.
func (p *parser) ref() (Ref, *Error) {
	t := p.token
	if t.kind != wordToken {
		return Ref{}, p.wrong("write param.NAME, metric.NAME, %s here", fieldNames())
	}
	r := Ref{Pos: t.at}
	word, rest, dotted := strings.Cut(t.text, ".")
	f, ok := fieldOf(word)
	named := f == Param || f == Metric || f == Property
	switch {
	case t.quoted && t.text == "":
		return r, p.wrong("write param. or metric. before a name in backquotes")
	case !ok:
		name := word
		if t.is("and") || t.is("or") || t.is("in") || t.is("contains") {
			name = "NAME"
		}
		return r, p.wrong("%q is not known; write param.%s, metric.%s, %s", word, name, name, fieldNames())
	case named && !dotted:
		return r, p.wrong("write a dot and a name after %s", word)
	case !named && (dotted || t.quoted):
		return r, p.wrong("write %s alone, without a dot or backquotes", word)
	case t.quoted && rest != "":
		return r, p.wrong("put the whole name in backquotes")
	}
	r.Field = f
	if named {
		if err := p.readName(&r, rest); err != nil {
			return r, err
		}
		if p.search != nil && !p.search.add(r.Key) {
			return r, p.wrong("filter and sort can name at most %d different parameters and metrics", MaxKeys)
		}
	}
	return r, p.next()
}

// readName reads the name of a parameter or metric into r. For a metric, it also reads the
// statistic. rest is the token's text after the first dot, without the part in backquotes.
func (p *parser) readName(r *Ref, rest string) *Error {
	t := p.token
	if r.Field == Metric {
		r.Stat = "last"
	}
	if t.quoted {
		r.Name = t.name
		switch stat, ok := statistic(strings.TrimPrefix(t.tail, ".")); {
		case t.tail == "":
		case r.Field == Metric && ok:
			r.Stat = stat
		case r.Field == Metric:
			return p.wrong("write .min .max .mean .last .count or nothing after the name")
		default:
			return p.wrong("remove the dot and the text after the name of the parameter")
		}
	} else {
		r.Name = rest
		dot := strings.LastIndexByte(rest, '.')
		if stat, ok := statistic(rest[dot+1:]); ok && dot >= 0 && r.Field == Metric {
			r.Name, r.Stat = rest[:dot], stat
		}
		if strings.HasSuffix(r.Name, ".") {
			return p.wrong("put a name that ends with a dot in backquotes")
		}
	}
	if r.Name == "" {
		return p.wrong("write a name after the dot")
	}
	return nil
}

func statistic(s string) (string, bool) {
	s = strings.ToLower(s)
	return s, slices.Contains(statistics, s)
}

// notFinite reports whether t is a word for NaN or an infinity. It returns the word as NaN,
// Infinity or -Infinity.
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

// check reads the values of a comparison. It checks that the operator and the values fit the
// field. pos is the position of the operator.
func (c *Comparison) check(pos int, values []token) *Error {
	equality := c.Op == "=" || c.Op == "!=" || c.Op == "in"
	switch f := c.Ref.Field; {
	case f == Tag:
		if !equality && c.Op != "contains" {
			return wrong(pos, "compare a tag with =, !=, in or contains")
		}
	case f == Status:
		if !equality {
			return wrong(pos, "compare status with =, != or in")
		}
	case f.Type() != TextType:
		if c.Op == "contains" {
			return wrong(pos, "contains works with text only: a parameter, tag, name or id")
		}
	}
	for _, t := range values {
		v, err := c.literal(t)
		switch {
		case err != nil:
			return err
		case math.IsNaN(v.Number) && !equality:
			return wrong(t.at, "NaN is neither less nor greater than a number; use =, != or in")
		case c.Op == "contains" && len(v.Text) > MaxContains:
			return wrong(t.at, "the text to search for can have at most %d bytes", MaxContains)
		}
		c.Values = append(c.Values, v)
	}
	return nil
}

// literal reads t as a value for the field of c.
func (c *Comparison) literal(t token) (v Literal, err *Error) {
	v.Text = t.text
	if t.kind == numberToken {
		number, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			return v, wrong(t.at, "this number is too large for a double")
		}
		v.Number, v.IsNumber = number, true
	}
	switch f := c.Ref.Field; {
	case f == Duration && !v.IsNumber:
		return parseDuration(t)
	case f.Type() == NumberType:
		if text, ok := notFinite(t); ok {
			v.Number, v.IsNumber = parseNotFinite(text), true
		}
		if !v.IsNumber {
			return v, wrong(t.at, "compare a metric with a number, NaN, Infinity or -Infinity")
		}
	case f == Param:
	case f.Type() == TimeType:
		v.Time, err = parseTime(t)
		return v, err
	case f == Status:
		v.Text = strings.ToUpper(v.Text)
		if t.kind != textToken || v.Text != Lost && !slices.Contains(Statuses, v.Text) {
			return v, wrong(t.at, "write 'RUNNING', 'SUCCEEDED', 'FAILED' or 'KILLED', or 'LOST' for a run that has not been seen for five minutes")
		}
	default:
		if t.kind != textToken {
			return v, wrong(t.at, "put text in quotes")
		}
	}
	return v, nil
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

// parseTime reads a time or a date. A date means midnight UTC.
func parseTime(t token) (scalar.Time, *Error) {
	if t.kind == textToken {
		if at, err := scalar.ParseTime(t.text); err == nil {
			return at, nil
		}
		if at, err := time.Parse(time.DateOnly, t.text); err == nil {
			return scalar.TimeOf(at), nil
		}
	}
	return 0, wrong(t.at, "write a time in quotes, like '2026-11-21T09:30:00Z' or '2026-11-21'")
}

// parseDuration reads a duration such as 1h30m.
func parseDuration(t token) (v Literal, err *Error) {
	d, e := time.ParseDuration(t.text)
	if t.kind != textToken || e != nil {
		return v, wrong(t.at, "write a number of seconds, or a duration in quotes like '90s' or '1h30m'")
	}
	return Literal{Text: t.text, Number: float64(d) / float64(time.Second), IsNumber: true}, nil
}
