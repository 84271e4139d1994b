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
	named := f.Named()
	switch {
	case t.quoted && t.text == "" && !p.bare:
		return r, p.wrong("write param. or metric. before a name in backquotes")
	case !ok && p.bare && (t.quoted && t.text == "" || !t.quoted && !isKeyword(t.text)):
		return p.bareRef()
	case !ok:
		name := word
		if isKeyword(word) {
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

// bareRef reads a parameter or metric that is written without its kind. It returns an error if
// the name has both kinds or neither.
func (p *parser) bareRef() (Ref, *Error) {
	t := p.token
	param, metric := Ref{Key: Key{Field: Param}, Pos: t.at}, Ref{Key: Key{Field: Metric}, Pos: t.at}
	noParam, noMetric := p.readName(&param, t.text), p.readName(&metric, t.text)
	if noParam != nil && noMetric != nil {
		return Ref{}, noMetric
	}
	isParam := noParam == nil && p.search.Known(param.Key)
	isMetric := noMetric == nil && p.search.Known(metric.Key)
	name := t.text
	if t.quoted {
		name = quoted(t.name) + t.tail
	}
	r := param
	switch {
	case isParam && isMetric:
		return r, p.wrong("%s is a parameter and a metric; write param.%s or metric.%s", name, name, name)
	case isMetric:
		r = metric
	case !isParam:
		return r, p.wrong("%q is not known; write param.%s, metric.%s, %s", name, name, name, fieldNames())
	}
	if !p.search.add(r.Key) {
		return r, p.wrong("filter and sort can name at most %d different parameters and metrics", MaxKeys)
	}
	return r, p.next()
}

// isKeyword reports whether a word connects or negates comparisons, or is an operator.
func isKeyword(word string) bool {
	return slices.Contains([]string{"and", "or", "not", "in", "contains", "like"}, strings.ToLower(word))
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
// field. pos is the position of the operator. Relative times refer to now.
func (c *Comparison) check(pos int, values []token, now time.Time) *Error {
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
		v, err := c.literal(t, now)
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
func (c *Comparison) literal(t token, now time.Time) (v Literal, err *Error) {
	v.Text = t.text
	if f := c.Ref.Field; t.kind == spanToken && f.Type() != TimeType && f != Duration {
		return v, wrong(t.at, "put text in quotes, like '%s'", t.text)
	}
	if isDay(t) && c.Ref.Field.Type() != TimeType {
		return v, wrong(t.at, "put text in quotes, like '%s'", t.text)
	}
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
	case f.Mixed():
	case f.Type() == TimeType:
		v.Time, err = parseTime(t, now)
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

// isDay reports whether t is the word today or yesterday.
func isDay(t token) bool { return t.is("today") || t.is("yesterday") }

// spanUnits holds the units of spans of time.
var spanUnits = map[rune]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}

// unitNames maps the words for units of time to the characters in spanUnits.
var unitNames = map[string]string{"second": "s", "minute": "m", "hour": "h", "day": "d", "week": "w"}

// unitOf returns the character in spanUnits for a word such as weeks, or "" for another token.
func unitOf(t token) string {
	if t.kind != wordToken || t.quoted {
		return ""
	}
	return unitNames[strings.TrimSuffix(strings.ToLower(t.text), "s")]
}

// maxSpan is the maximum length of a span of time, which is about 100 years.
const maxSpan = 36_500 * 24 * time.Hour

// parseSpan returns the length of a span of time such as -1d or 1h30m. It ignores the sign.
func parseSpan(text string) (time.Duration, bool) {
	text = strings.TrimLeft(text, "+-")
	sum := 0.0
	for text != "" {
		at := strings.IndexFunc(text, func(r rune) bool { return !isDigit(r) && r != '.' })
		if at < 1 {
			return 0, false
		}
		n, err := strconv.ParseFloat(text[:at], 64)
		unit, ok := spanUnits[rune(text[at])]
		if err != nil || !ok {
			return 0, false
		}
		if sum += n * float64(unit); sum > float64(maxSpan) {
			return 0, false
		}
		text = text[at+1:]
	}
	return time.Duration(sum), sum > 0
}

// parseTime reads a time, a date, the word today or yesterday, or a span of time before now. A
// date, today or yesterday stands for 00:00 UTC on that day.
func parseTime(t token, now time.Time) (scalar.Time, *Error) {
	if midnight := now.UTC().Truncate(24 * time.Hour); t.is("today") {
		return scalar.TimeOf(midnight), nil
	} else if t.is("yesterday") {
		return scalar.TimeOf(midnight.AddDate(0, 0, -1)), nil
	}
	if t.kind == spanToken {
		if d, ok := parseSpan(t.text); ok {
			return scalar.TimeOf(now.Add(-d).Truncate(time.Second)), nil
		}
		return 0, wrong(t.at, "write a span of at most 100 years, like -1d, 2 weeks or 1h30m")
	}
	if t.kind == textToken {
		if at, err := scalar.ParseTime(t.text); err == nil {
			return at, nil
		}
		if at, err := time.Parse(time.DateOnly, t.text); err == nil {
			return scalar.TimeOf(at), nil
		}
	}
	return 0, wrong(t.at, "write a time in quotes, like '2026-11-21T09:30:00Z' or '2026-11-21', or -1d, 2 weeks, today or yesterday")
}

// parseDuration reads a duration such as 1h30m.
func parseDuration(t token) (v Literal, err *Error) {
	if t.kind == spanToken {
		if d, ok := parseSpan(t.text); ok {
			return Literal{Text: t.text, Number: d.Seconds(), IsNumber: true}, nil
		}
	}
	d, e := time.ParseDuration(t.text)
	if t.kind != textToken || e != nil {
		return v, wrong(t.at, "write a number of seconds, or a duration in quotes like '90s' or '1h30m'")
	}
	return Literal{Text: t.text, Number: float64(d) / float64(time.Second), IsNumber: true}, nil
}
