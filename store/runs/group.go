package runs

import (
	"slices"

	"tracker/store/domain"
	"tracker/store/filter"
	"tracker/store/search"
)

// GroupQuery selects and sorts groups of iterations, in the language that
// docs/search.md describes.
type GroupQuery struct {
	domain.Page
	By      string // parameters, and tag, separated by commas
	Filter  string // filter for the iterations; "" for all
	Sort    string // a mean, a value or a date to sort by; "" for the order of the values
	Columns string // the metrics whose spread is returned; parameters are ignored
}

// Grouped names one group.
type Grouped struct {
	By     string
	Values []*string // one for each name of By, nil if the iterations do not have it
}

// Groups lists the groups of the iterations that pass a filter. They are sorted
// by the mean of a metric or of the duration, by a date (created, ended or
// last_seen: the newest of the group if descending, otherwise the oldest), by a
// parameter or tag of By, or by name, which stands for all of By. Other keys are
// ignored. INVALID_PAYLOAD if a part of the query can't be parsed. Needs read.
func (v *View) Groups(experimentID string, q GroupQuery) (domain.List[search.Group], error) {
	s, err := parseGroups(q)
	if err != nil {
		return domain.List[search.Group]{}, err
	}
	if _, err := v.tx.AllowExperiment(v.tx.Actor, experimentID, domain.RightRead); err != nil {
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

func parseGroups(q GroupQuery) (search.GroupQuery, error) {
	var p filter.Parser
	by, err := p.Group(q.By)
	if err != nil {
		return search.GroupQuery{}, domain.Refused(err)
	}
	s, err := parseListing(&p, q.Filter, q.Sort, q.Columns)
	if err != nil {
		return search.GroupQuery{}, err
	}
	s.By, s.Where, s.Metrics = by, domain.NotTrashed("iteration"), MetricsOf(p.Keys())
	columns := slices.DeleteFunc(s.columns, func(c filter.Column) bool { return c.Field != filter.Metric })
	return search.GroupQuery{Query: s.Query, Columns: columns, Keys: len(p.Keys())}, nil
}
