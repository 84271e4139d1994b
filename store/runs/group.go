package runs

import (
	"slices"

	"tracker/store/domain"
	"tracker/store/filter"
	"tracker/store/search"
)

// GroupQuery selects and sorts groups of iterations. docs/search.md describes the language of
// the fields.
type GroupQuery struct {
	domain.Page
	By      string // names of parameters, or tag, separated by commas
	Filter  string // filter for iterations; "" selects all iterations
	Sort    string // mean, value or date to sort by; "" sorts by the values of the group
	Columns string // metrics whose spread is returned; parameters are ignored
}

// Grouped identifies one group of iterations.
type Grouped struct {
	By     string
	Values []*string // one value for each name in By; nil if the iterations have no value
}

// Groups returns a page of groups of the iterations that match a filter. A sort key is the mean
// of a metric, the mean duration, a date, a parameter or tag in By, or the word name, which sorts
// by all names in By. The dates are created, ended and last_seen. A descending sort by date uses
// the newest date in each group, and an ascending sort the oldest. Other keys are ignored. Groups
// returns INVALID_PAYLOAD if the query can't be parsed. The actor needs the right to read.
func (v *View) Groups(experimentID string, q GroupQuery) (domain.List[search.Group], error) {
	parsed, err := parse(func(p *filter.Parser) (search.GroupQuery, error) { return parseGroups(p, q) })
	if err != nil {
		return domain.List[search.Group]{}, err
	}
	if _, err := v.tx.AllowExperiment(v.tx.Actor, experimentID, domain.RightRead); err != nil {
		return domain.List[search.Group]{}, err
	}
	s, err := parsed.resolve(v.tx, experimentID)
	if err != nil {
		return domain.List[search.Group]{}, err
	}
	p := q.Clamp()
	l := domain.List[search.Group]{Data: []search.Group{}, Limit: p.Limit, Offset: p.Offset}
	found, err := Limited(v.tx, s.Query, func(in *search.Snapshot) (search.Groups, error) {
		return in.Groups(experimentID, s, p.Limit, p.Offset)
	})
	l.Data, l.Total = append(l.Data, found.Page...), found.Total
	return l, err
}

func parseGroups(p *filter.Parser, q GroupQuery) (search.GroupQuery, error) {
	by, err := p.Group(q.By)
	if err != nil {
		return search.GroupQuery{}, domain.Refused(err)
	}
	s, err := parseListing(p, q.Filter, q.Sort, q.Columns)
	if err != nil {
		return search.GroupQuery{}, err
	}
	s.By, s.Where, s.Metrics = by, domain.NotTrashed("iteration"), MetricsOf(p.Keys())
	columns := slices.DeleteFunc(s.columns, func(c filter.Column) bool { return c.Field != filter.Metric })
	return search.GroupQuery{Query: s.Query, Columns: columns, Keys: len(p.Keys())}, nil
}
