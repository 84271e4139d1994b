package filter

import (
	"slices"
	"strings"
)

// parseList reads up to limit elements, separated by commas. It calls element to read each of
// them. Empty text has no elements.
func parseList[T any](text string, search *Parser, limit int, element func(*parser) (T, *Error)) ([]T, *Error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	p, err := newParser(text, search)
	if err != nil {
		return nil, err
	}
	var all []T
	for {
		if len(all) == limit {
			return nil, p.wrong("at most %d names are allowed", limit)
		}
		e, err := element(p)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
		if p.token.kind == endToken {
			return all, nil
		}
		if !p.token.sign(",") {
			return nil, p.wrong("write a comma before the next name, or end here")
		}
		if err := p.next(); err != nil {
			return nil, err
		}
	}
}

func (p *parser) sortKey() (k SortKey, err *Error) {
	if k.Descending = p.token.sign("-"); k.Descending {
		if err := p.next(); err != nil {
			return k, err
		}
	}
	k.Ref, err = p.ref()
	return k, err
}

func parseColumns(text string) ([]Column, *Error) {
	all, err := parseList(text, nil, MaxColumns, (*parser).column)
	var once []Column
	for _, c := range all {
		if !slices.ContainsFunc(once, func(o Column) bool { return o.Field == c.Field && o.Label == c.Label }) {
			once = append(once, c)
		}
	}
	return once, err
}

func (p *parser) column() (c Column, err *Error) {
	t := p.token
	if c.Ref, err = p.ref(); err == nil && c.Field != Param && c.Field != Metric && c.Field != Summary {
		err = wrong(t.at, "a column is param.NAME, metric.NAME or summary.NAME; the other fields are in every row")
	}
	if err != nil {
		return c, err
	}
	c.Label = c.Name
	switch {
	case c.Field == Metric && !t.quoted:
		_, c.Label, _ = strings.Cut(t.text, ".")
	case c.Field == Metric && t.tail != "":
		c.Label += t.tail
	case c.Field == Metric && endsInStatistic(c.Name):
		// Without backquotes the label could equal the label of another column.
		c.Label = "`" + strings.ReplaceAll(c.Name, "`", "``") + "`"
	}
	return c, nil
}

func endsInStatistic(name string) bool {
	dot := strings.LastIndexByte(name, '.')
	_, ok := statistic(name[dot+1:])
	return dot >= 0 && ok
}

func parseGroup(text string, search *Parser) ([]Ref, *Error) {
	by, err := parseList(text, search, MaxGroupKeys, func(p *parser) (Ref, *Error) {
		r, err := p.ref()
		if err == nil && !r.Field.Mixed() && r.Field != Tag {
			err = wrong(r.Pos, "runs are grouped by param.NAME, summary.NAME or tag")
		}
		return r, err
	})
	if err != nil {
		return nil, err
	}
	for i, r := range by {
		if slices.ContainsFunc(by[:i], func(o Ref) bool { return o.Key == r.Key }) {
			return nil, wrong(r.Pos, "this name is given twice")
		}
	}
	if len(by) == 0 {
		return nil, wrong(1, "write param.NAME, summary.NAME or tag here")
	}
	return by, nil
}

// ParamName returns the reference to a parameter in an expression. It adds backquotes if the
// name needs them.
func ParamName(name string) string { return "param." + quoted(name) }

// MetricName returns the reference to a metric in an expression. It adds backquotes if the name
// needs them.
func MetricName(name string) string { return "metric." + quoted(name) }

// SummaryName returns the reference to a text of the summary in an expression. It adds backquotes
// if the name needs them.
func SummaryName(name string) string { return "summary." + quoted(name) }

func quoted(name string) string {
	bare := name != "" && !strings.ContainsAny(name[:1], "0123456789.-/") && !endsInStatistic(name) &&
		!strings.ContainsFunc(name, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_.-/", r))
		})
	if bare {
		return name
	}
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}
