package runs

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"tracker/store/domain"
	"tracker/store/filter"
	"tracker/store/scalar"
	"tracker/store/search"
	"tracker/store/sqlite"
)

// listing is a parsed and checked IterationQuery.
type listing struct {
	search.Query
	columns []filter.Column // nil if no columns were requested
	cut     bool            // the page may be shortened
}

// parseSearch parses and checks a query.
func parseSearch(q IterationQuery) (parsed[listing], error) {
	return parse(func(p *filter.Parser) (listing, error) { return parseQuery(p, q) })
}

func parseQuery(p *filter.Parser, q IterationQuery) (listing, error) {
	s, err := parseListing(p, q.Filter, q.Sort, q.Columns)
	if err != nil {
		return s, err
	}
	if q.Group != nil {
		if s.By, err = p.Group(q.Group.By); err != nil {
			return s, domain.Refused(err)
		}
		if s.Values = q.Group.Values; len(s.Values) != len(s.By) {
			return s, domain.Invalid("group", "A group of %d names has %d values; give one value for each name.", len(s.By), len(s.Values))
		}
	}
	s.Fold, s.Parent, s.cut = q.Fold, q.Parent, q.Cut
	s.Where = q.Trash.Condition("iteration")
	s.Metrics = MetricsOf(p.Keys())
	return s, nil
}

// within adapts the search to the experiment e. If e is in the trash, all its iterations count
// as iterations in the trash.
func (s *listing) within(e domain.ExperimentState) {
	switch {
	case !e.Deleted:
	case s.Where == domain.NotTrashed("iteration"):
		s.Where = `FALSE`
	default:
		s.Where = `TRUE`
	}
}

// parseListing parses a filter, sort keys and columns.
func parseListing(p *filter.Parser, where, sort, columns string) (s listing, err error) {
	if s.Filter, err = p.Filter(where); err != nil {
		return s, domain.Refused(err)
	}
	if s.Sort, err = p.Sort(sort); err != nil {
		return s, domain.Refused(err)
	}
	s.columns, err = p.Columns(columns)
	return s, domain.Refused(err)
}

// MetricsOf returns the names of the metrics in keys.
func MetricsOf(keys []filter.Key) []string {
	var names []string
	for _, k := range keys {
		if k.Field == filter.Metric {
			names = append(names, k.Name)
		}
	}
	return names
}

// iterations returns a page of an experiment's iterations that match the search s. The page has
// the order that s specifies.
func iterations(tx *domain.Tx, experimentID string, s listing, p domain.Page) (domain.List[Iteration], error) {
	l := domain.List[Iteration]{Data: []Iteration{}, Limit: p.Limit, Offset: p.Offset}
	h, err := find(tx, experimentID, s.Query, p)
	if err != nil {
		return l, err
	}
	l.Total = h.Total
	if len(h.Nums) == 0 {
		return l, nil
	}
	l.Data, err = domain.WithinLimit(tx, domain.SlowRead(tx, "columns"), func() ([]Iteration, error) {
		nums, err := takeIterations(tx, h.Nums, s.columns, s.cut)
		if err != nil {
			return []Iteration{}, err
		}
		if len(nums) < len(h.Nums) {
			l.Limit = len(nums)
		}
		return iterationsOf(tx, nums, s.columns)
	})
	for i := range l.Data {
		l.Data[i].Children = h.Children[l.Data[i].Num]
	}
	return l, err
}

// iterationsOf returns the iterations with the given row numbers, in the order of nums. It
// omits numbers without an iteration.
func iterationsOf(tx *domain.Tx, nums []int64, columns []filter.Column) ([]Iteration, error) {
	return selectIterations(tx, iterationColumns, nums, columns)
}

func selectIterations(tx *domain.Tx, selected string, nums []int64, columns []filter.Column) ([]Iteration, error) {
	var rows []Iteration
	err := tx.Select(&rows, `SELECT `+selected+`
		FROM iteration WHERE iteration.num IN (SELECT value FROM json_each(?))`, sqlite.JSON(nums))
	if err != nil {
		return nil, err
	}
	at := make(map[int64]int, len(nums))
	for i, num := range nums {
		at[num] = i
	}
	slices.SortFunc(rows, func(a, b Iteration) int { return cmp.Compare(at[a.Num], at[b.Num]) })
	for i, r := range rows {
		at[r.Num] = i
	}
	freshen(tx, rows)
	return rows, embed(tx, rows, at, columns)
}

// find returns a page of an experiment's iterations that match the search s.
func find(tx *domain.Tx, experimentID string, s search.Query, p domain.Page) (search.Hits, error) {
	if s.Filter == nil && len(s.Sort) == 0 && s.By == nil && !s.Fold {
		return SearchSnapshot(tx).All(experimentID, s.Where, p.Limit, p.Offset)
	}
	h, err := findIn(tx, []string{experimentID}, s, p)
	return h, domain.OrNotFound(err, domain.Run)
}

// findIn returns a page of iterations in several experiments that match the search s.
func findIn(tx *domain.Tx, experimentIDs []string, s search.Query, p domain.Page) (search.Hits, error) {
	return Limited(tx, s, func(in *search.Snapshot) (search.Hits, error) { return in.Find(experimentIDs, s, p.Limit, p.Offset) })
}

// SearchSnapshot returns a search.Snapshot that reads in the transaction tx.
func SearchSnapshot(tx *domain.Tx) *search.Snapshot {
	in := &search.Snapshot{
		Tx:         tx.Points(),
		Seen:       tx.DB.LastSeen.Since(tx.Flushes),
		LostBefore: domain.LostBefore(tx.Now),
		Copies:     tx.DB.Copies,
		Commits:    tx.Commits,
	}
	if tx.DB.Options.Exclusive { // in another process, cached orders would miss the server's changes
		in.Orders = &tx.DB.Orders
	}
	return in
}

// embed sets Params, Metrics and Texts of the iterations in data. at maps the row number of an
// iteration to its index in data.
func embed(tx *domain.Tx, data []Iteration, at map[int64]int, columns []filter.Column) error {
	if columns == nil {
		return nil
	}
	for i := range data {
		data[i].Params, data[i].Metrics, data[i].Texts = map[string]string{}, map[string]scalar.Value{}, map[string]scalar.SummaryText{}
	}
	return search.Columns(tx.Points(), slices.Collect(maps.Keys(at)), columns,
		func(num int64, of filter.Field, name, value string) {
			if of == filter.Summary {
				data[at[num]].Texts[name] = scalar.SummaryText(value)
			} else {
				data[at[num]].Params[name] = value
			}
		},
		func(num int64, label string, value scalar.Value) { data[at[num]].Metrics[label] = value })
}

// Limited runs the search fn with a time limit. It returns INVALID_PAYLOAD if the search exceeds
// the limit. It does not return UNAVAILABLE, because clients would then retry a search that
// exceeds the limit again.
func Limited[T any](tx *domain.Tx, s search.Query, fn func(*search.Snapshot) (T, error)) (T, error) {
	return domain.WithinLimit(tx, func() error { return tooSlow(s, tx.DB.SearchLimit) }, func() (T, error) { return fn(SearchSnapshot(tx)) })
}

func tooSlow(s search.Query, limit time.Duration) error {
	field := "filter"
	switch {
	case s.Filter != nil:
	case len(s.Sort) > 0:
		field = "sort"
	default:
		field = "group"
	}
	return domain.Invalid(field, "The search took longer than %v and was stopped. Simplify it: compare and sort by fewer names, "+
		"compare text with = or in instead of contains, or split the runs into several experiments.", limit)
}
