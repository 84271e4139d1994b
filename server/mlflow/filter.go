package mlflow

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"tracker/store/domain"
	"tracker/store/filter"
	"tracker/store/scalar"
)

// term is one comparison in a filter. A record matches the filter if all terms are true.
type term struct {
	entity string // "metric", "param", "tag", "attribute" or "dataset"
	key    string
	op     string // = != < <= > >= LIKE ILIKE IN NOT IN, IS NULL or IS NOT NULL
	values []operand
}

// operand is a value on the right side of a comparison.
type operand struct {
	text   string
	quoted bool
}

// maxFilter is the maximum size of a filter in bytes.
const maxFilter = 100_000

// entities maps each accepted entity name, including synonyms, to its standard name.
var entities = map[string]string{
	"metric": "metric", "metrics": "metric",
	"param": "param", "params": "param", "parameter": "param", "parameters": "param",
	"tag": "tag", "tags": "tag",
	"attribute": "attribute", "attributes": "attribute", "attr": "attribute", "run": "attribute",
	"dataset": "dataset", "datasets": "dataset",
}

// badFilter returns the error for an invalid filter or order.
func badFilter(field, format string, args ...any) error {
	return domain.Invalid(field, field+" can't be read: "+format, args...)
}

// parseFilter parses a filter. A filter is a list of comparisons joined by AND.
func parseFilter(text string) ([]term, error) {
	if len(text) > maxFilter {
		return nil, badFilter("filter", "it is longer than %d bytes.", maxFilter)
	}
	s := scanner{text: text}
	s.space()
	if s.end() {
		return nil, nil
	}
	var terms []term
	for {
		t, err := s.term()
		if err != nil {
			return nil, err
		}
		if terms = append(terms, t); len(terms) > filter.MaxComparisons {
			return nil, badFilter("filter", "it has more than %d comparisons.", filter.MaxComparisons)
		}
		s.space()
		if s.end() {
			return terms, nil
		}
		if !s.word("AND") {
			return nil, badFilter("filter", "expected AND or the end at %q; OR, NOT and parentheses around comparisons are not part of the language.", s.rest())
		}
	}
}

// scanner reads a filter from left to right.
type scanner struct {
	text string
	at   int
}

func (s *scanner) end() bool { return s.at >= len(s.text) }

// rest returns the first 40 characters of the remaining text for an error message.
func (s *scanner) rest() string {
	rest := []rune(s.text[s.at:])
	return string(rest[:min(len(rest), 40)])
}

func (s *scanner) space() {
	for !s.end() && unicode.IsSpace(rune(s.text[s.at])) {
		s.at++
	}
}

// word reads a keyword in any case. It returns false and reads nothing if the next word is not
// the keyword.
func (s *scanner) word(keyword string) bool {
	s.space()
	end := s.at + len(keyword)
	if end > len(s.text) || !strings.EqualFold(s.text[s.at:end], keyword) {
		return false
	}
	if end < len(s.text) {
		if c := s.text[end]; c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return false
		}
	}
	s.at = end
	return true
}

func (s *scanner) term() (t term, err error) {
	s.space()
	name := s.name()
	if t.entity, t.key, err = splitName("filter", name); err != nil {
		return t, err
	}
	s.space()
	switch {
	case s.word("IS"):
		t.op = "IS NULL"
		if s.word("NOT") {
			t.op = "IS NOT NULL"
		}
		if !s.word("NULL") {
			return t, badFilter("filter", "expected NULL or NOT NULL after IS at %q.", s.rest())
		}
		return t, nil
	case s.word("NOT"):
		if !s.word("IN") {
			return t, badFilter("filter", "expected IN after NOT at %q.", s.rest())
		}
		t.op = "NOT IN"
	case s.word("IN"):
		t.op = "IN"
	case s.word("LIKE"):
		t.op = "LIKE"
	case s.word("ILIKE"):
		t.op = "ILIKE"
	default:
		for _, op := range []string{"!=", "<=", ">=", "=", "<", ">"} {
			if strings.HasPrefix(s.text[s.at:], op) {
				t.op = op
				s.at += len(op)
				break
			}
		}
		if t.op == "" {
			return t, badFilter("filter", "expected a comparison after %q, like metrics.loss < 0.1.", name)
		}
	}
	if t.op == "IN" || t.op == "NOT IN" {
		t.values, err = s.list()
		return t, err
	}
	v, err := s.operand()
	t.values = []operand{v}
	return t, err
}

// name reads the left side of a comparison. The name ends before a space or an operator. Parts
// in backticks or double quotes can contain spaces and operators.
func (s *scanner) name() string {
	start := s.at
	for !s.end() {
		switch c := s.text[s.at]; {
		case c == '`' || c == '"':
			closing := strings.IndexByte(s.text[s.at+1:], c)
			if closing < 0 {
				s.at = len(s.text)
				return s.text[start:]
			}
			s.at += closing + 2
		case unicode.IsSpace(rune(c)) || strings.IndexByte("=!<>(),'", c) >= 0:
			return s.text[start:s.at]
		default:
			s.at++
		}
	}
	return s.text[start:]
}

// operand reads a number or a quoted string.
func (s *scanner) operand() (operand, error) {
	s.space()
	if s.end() {
		return operand{}, badFilter("filter", "it ends before the value of its last comparison.")
	}
	if c := s.text[s.at]; c == '\'' || c == '"' {
		var b strings.Builder
		for i := s.at + 1; i < len(s.text); i++ {
			if s.text[i] != c {
				b.WriteByte(s.text[i])
				continue
			}
			if i+1 < len(s.text) && s.text[i+1] == c { // a doubled quote is an escaped quote
				b.WriteByte(c)
				i++
				continue
			}
			s.at = i + 1
			return operand{b.String(), true}, nil
		}
		return operand{}, badFilter("filter", "a quote at %q is not closed.", s.rest())
	}
	start := s.at
	for !s.end() && !unicode.IsSpace(rune(s.text[s.at])) && strings.IndexByte(",()=!<>'\"", s.text[s.at]) < 0 {
		s.at++
	}
	if start == s.at {
		return operand{}, badFilter("filter", "expected a number or a quoted string at %q.", s.rest())
	}
	return operand{s.text[start:s.at], false}, nil
}

// list reads a list of values in parentheses, separated by commas.
func (s *scanner) list() ([]operand, error) {
	s.space()
	if s.end() || s.text[s.at] != '(' {
		return nil, badFilter("filter", "expected a list in parentheses after IN at %q.", s.rest())
	}
	s.at++
	var all []operand
	for {
		v, err := s.operand()
		if err != nil {
			return nil, err
		}
		if !v.quoted {
			return nil, badFilter("filter", "the values in a list must be strings in quotes, not %q.", v.text)
		}
		if all = append(all, v); len(all) > filter.MaxValues {
			return nil, badFilter("filter", "a list has at most %d values.", filter.MaxValues)
		}
		s.space()
		switch {
		case !s.end() && s.text[s.at] == ',':
			s.at++
			s.space()
			if !s.end() && s.text[s.at] == ')' { // Python writes a comma after the only value of a tuple
				s.at++
				return all, nil
			}
		case !s.end() && s.text[s.at] == ')':
			s.at++
			return all, nil
		default:
			return nil, badFilter("filter", "expected a comma or a parenthesis at %q.", s.rest())
		}
	}
}

// splitName splits a field name into its entity and key.
func splitName(field, name string) (entity, key string, err error) {
	before, after, dotted := strings.Cut(name, ".")
	if !dotted {
		if key = unquote(name); key == "" {
			return "", "", badFilter(field, "the name of a field is missing.")
		}
		return "attribute", key, nil
	}
	entity, ok := entities[strings.ToLower(unquote(before))]
	if !ok {
		return "", "", badFilter(field, "%q is not one of metrics, params, tags, attributes and datasets.", before)
	}
	if key = unquote(after); key == "" {
		return "", "", badFilter(field, "a key is missing after %q.", before)
	}
	return entity, key, nil
}

// unquote removes surrounding backticks or double quotes from a name.
func unquote(s string) string {
	if n := len(s); n >= 2 && s[0] == s[n-1] && (s[0] == '`' || s[0] == '"') {
		return s[1 : n-1]
	}
	return s
}

// parseOrder parses a field name, optionally followed by ASC or DESC.
func parseOrder(text string) (entity, key string, descending bool, err error) {
	s := scanner{text: text}
	s.space()
	name := s.name()
	if entity, key, err = splitName("order_by", name); err != nil {
		return "", "", false, err
	}
	switch {
	case s.word("DESC"):
		descending = true
	case s.word("ASC"):
	}
	if s.space(); !s.end() {
		return "", "", false, badFilter("order_by", "expected ASC or DESC after %q, not %q.", name, s.rest())
	}
	return entity, key, descending, nil
}

// textExpr returns the condition of t for a text field.
func textExpr(t term, ref filter.Ref) (filter.Expr, error) {
	compare := func(op string) filter.Expr {
		c := filter.Comparison{Ref: ref, Op: op}
		for _, v := range t.values {
			c.Values = append(c.Values, filter.Literal{Text: v.text})
		}
		return c
	}
	if err := t.wantTexts(); err != nil {
		return nil, err
	}
	switch t.op {
	case "=":
		return compare("="), nil
	case "IN":
		return compare("in"), nil
	case "!=", "NOT IN":
		return compare("!="), nil
	case "LIKE", "ILIKE":
		if len(t.values[0].text) > filter.MaxContains {
			return nil, badFilter("filter", "a pattern has at most %d bytes.", filter.MaxContains)
		}
		return compare(strings.ToLower(t.op)), nil
	case "IS NOT NULL":
		return compare("exists"), nil
	case "IS NULL":
		return filter.Negation{Part: compare("exists")}, nil
	}
	return nil, badFilter("filter", "%q can't be compared with %s; use =, !=, LIKE, ILIKE, IN and IS NULL.", t.key, t.op)
}

// wantTexts returns an error unless all values are quoted.
func (t term) wantTexts() error {
	for _, v := range t.values {
		if !v.quoted {
			return badFilter("filter", "%q must be compared with a string: put %s in quotes.", t.key, v.text)
		}
	}
	return nil
}

// number returns the value of a numeric comparison. It returns an error if the operator or the
// value is not numeric.
func (t term) number() (float64, error) {
	if !slices.Contains([]string{"=", "!=", "<", "<=", ">", ">="}, t.op) {
		return 0, badFilter("filter", "%q is a number and can't be compared with %s.", t.key, t.op)
	}
	v := t.values[0]
	f, err := strconv.ParseFloat(v.text, 64)
	if err != nil && !math.IsInf(f, 0) || v.quoted {
		return 0, badFilter("filter", "%q must be compared with a number without quotes, not %q.", t.key, v.text)
	}
	return f, nil
}

// metricExpr returns the condition of t for the last value of a metric. NaN matches only !=. A
// run without the metric never matches.
func metricExpr(t term, ref filter.Ref) (filter.Expr, error) {
	f, err := t.number()
	if err != nil {
		return nil, err
	}
	compare := func(op string) filter.Expr {
		return filter.Comparison{Ref: ref, Op: op, Values: []filter.Literal{{Text: t.values[0].text, Number: f, IsNumber: true}}}
	}
	if t.op != "!=" {
		return compare(t.op), nil
	}
	there := filter.Comparison{Ref: ref, Op: "exists"}
	return filter.Junction{Parts: []filter.Expr{there, filter.Negation{Part: compare("=")}}}, nil
}

// timeExpr returns the condition of t for a time field in milliseconds.
func timeExpr(t term, field filter.Field) (filter.Expr, error) {
	f, err := t.number()
	if err != nil {
		return nil, err
	}
	if f != math.Trunc(f) || math.Abs(f) >= 1<<62 {
		return nil, badFilter("filter", "%q must be compared with whole milliseconds, not %s.", t.key, t.values[0].text)
	}
	return filter.Comparison{Ref: ref(field, ""), Op: t.op, Values: []filter.Literal{{Time: scalar.Time(f)}}}, nil
}

// ref returns a reference to a field of the search language. For a metric, it refers to the
// last value.
func ref(f filter.Field, name string) filter.Ref {
	r := filter.Ref{Key: filter.Key{Field: f, Name: name}}
	if f == filter.Metric {
		r.Stat = "last"
	}
	return r
}

// allOf returns a condition that is true if all parts are true, or nil if parts is empty.
func allOf(parts []filter.Expr) filter.Expr {
	switch len(parts) {
	case 0:
		return nil
	case 1:
		return parts[0]
	}
	return filter.Junction{Parts: parts}
}
