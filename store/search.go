package store

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"tracker/store/filter"
	"tracker/store/json"
	"tracker/store/search"
)

// listing is a search for iterations, parsed and checked.
type listing struct {
	search.Query
	columns []filter.Column // nil when none were asked for
	cut     bool            // the page may end early
}

func parseSearch(q IterationQuery) (listing, error) {
	var p filter.Parser
	s, err := parseListing(&p, q.Filter, q.Sort, q.Columns)
	if err != nil {
		return s, err
	}
	if q.Group != nil {
		if s.By, err = p.Group(q.Group.By); err != nil {
			return s, refused(err)
		}
		if s.Values = q.Group.Values; len(s.Values) != len(s.By) {
			return s, Invalid("group", "A group of %d names has %d values; give one value for each name.", len(s.By), len(s.Values))
		}
	}
	s.Fold, s.Parent, s.cut = q.Fold, q.Parent, q.Cut
	s.Where = q.Trash.condition("iteration")
	s.Metrics = metricsOf(p.Keys())
	return s, nil
}

// within adapts the search to an experiment in the trash, all of whose iterations are in
// the trash.
func (s *listing) within(e experimentState) {
	switch {
	case !e.deleted:
	case s.Where == notTrashed("iteration"):
		s.Where = `FALSE`
	default:
		s.Where = `TRUE`
	}
}

// parseListing reads a filter, an order and columns.
func parseListing(p *filter.Parser, where, sort, columns string) (s listing, err error) {
	if s.Filter, err = p.Filter(where); err != nil {
		return s, refused(err)
	}
	if s.Sort, err = p.Sort(sort); err != nil {
		return s, refused(err)
	}
	s.columns, err = p.Columns(columns)
	return s, refused(err)
}

// refused returns a mistake in a search as INVALID_PAYLOAD.
func refused(err error) error {
	var e *filter.Error
	if errors.As(err, &e) {
		return Invalid(e.Part, "%s", e.Error())
	}
	return err
}

// metricsOf returns the names of the metrics among keys.
func metricsOf(keys []filter.Key) []string {
	var names []string
	for _, k := range keys {
		if k.Field == filter.Metric {
			names = append(names, k.Name)
		}
	}
	return names
}

// iterations returns one page of the iterations of an experiment that s selects,
// in its order.
func (tx *tx) iterations(experimentID string, s listing, p Page) (List[Iteration], error) {
	l := List[Iteration]{Data: []Iteration{}, Limit: p.Limit, Offset: p.Offset}
	h, err := tx.find(experimentID, s.Query, p)
	if err != nil {
		return l, err
	}
	l.Total = h.Total
	if len(h.Nums) == 0 {
		return l, nil
	}
	var params []string
	for _, c := range s.columns {
		if c.Field == filter.Param {
			params = append(params, c.Name)
		}
	}
	l.Data, err = withinLimit(tx, func() error { return errSlowRead("columns", tx) }, func() ([]Iteration, error) {
		nums, err := tx.takeIterations(h.Nums, params, s.cut)
		if err != nil {
			return []Iteration{}, err
		}
		if len(nums) < len(h.Nums) {
			l.Limit = len(nums)
		}
		return tx.iterationsOf(nums, s.columns)
	})
	for i := range l.Data {
		l.Data[i].Children = h.Children[l.Data[i].Num]
	}
	return l, err
}

// iterationsOf returns the iterations with these numbers, in the order of nums.
// Numbers without an iteration are left out.
func (tx *tx) iterationsOf(nums []int64, columns []filter.Column) ([]Iteration, error) {
	return tx.selectIterations(iterationColumns, nums, columns)
}

func (tx *tx) selectIterations(selected string, nums []int64, columns []filter.Column) ([]Iteration, error) {
	list, err := json.Marshal(nums)
	if err != nil {
		return nil, err
	}
	var rows []Iteration
	err = tx.Select(&rows, `SELECT `+selected+`
		FROM iteration WHERE iteration.num IN (SELECT value FROM json_each(?))`, string(list))
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
	tx.db.freshen(rows)
	return rows, tx.embed(rows, at, columns)
}

// find returns one page of the iterations of an experiment that s selects.
func (tx *tx) find(experimentID string, s search.Query, p Page) (search.Hits, error) {
	if s.Filter == nil && len(s.Sort) == 0 && s.By == nil && !s.Fold {
		return tx.search().All(experimentID, s.Where, p.Limit, p.Offset)
	}
	h, err := tx.findIn([]string{experimentID}, s, p)
	return h, orNotFound(err, "iteration")
}

// findIn returns one page of the iterations of several experiments that s selects.
func (tx *tx) findIn(experimentIDs []string, s search.Query, p Page) (search.Hits, error) {
	return limited(tx, s, func(in *search.Snapshot) (search.Hits, error) { return in.Find(experimentIDs, s, p.Limit, p.Offset) })
}

// search returns the transaction as a search reads it.
func (tx *tx) search() *search.Snapshot {
	in := &search.Snapshot{
		Tx:         tx.points(),
		Seen:       tx.db.lastSeen.Since(tx.flushes),
		LostBefore: tx.now - Time(LostAfter.Milliseconds()),
		Copies:     tx.db.copies,
		Commits:    tx.commits,
	}
	if tx.db.opts.Exclusive { // another process does not know what the server changes
		in.Orders = &tx.db.orders
	}
	return in
}

// searchableExperiments says how experiments are searched for.
var searchableExperiments = search.Table{
	Name: "experiment",
	Columns: map[filter.Field]string{
		filter.ID:      "experiment.id",
		filter.Name:    "experiment.name",
		filter.Created: "experiment.created_date",
		filter.Updated: "max(experiment.created_date, experiment.updated_date)",
	},
	Property: "experiment_id",
}

// searchRecords returns the ids of one page of the records of a table that meet a
// condition of SQL and pass a filter, and the number of all such records.
func (tx *tx) searchRecords(of search.Table, e filter.Expr, sort []filter.SortKey, p Page, condition string, args ...any) (ids []string, total int, err error) {
	if _, err := filter.Keys(e, sort); err != nil {
		return nil, 0, refused(err)
	}
	ids, err = limited(tx, search.Query{Filter: e, Sort: sort}, func(in *search.Snapshot) (ids []string, err error) {
		ids, total, err = of.Find(in.Tx.Tx, e, sort, p.Limit, p.Offset, condition, args...)
		return ids, err
	})
	return ids, total, err
}

// embed sets Params and Metrics of data. at has the index in data of each number of an
// iteration.
func (tx *tx) embed(data []Iteration, at map[int64]int, columns []filter.Column) error {
	if columns == nil {
		return nil
	}
	for i := range data {
		data[i].Params, data[i].Metrics = map[string]string{}, map[string]Value{}
	}
	return search.Columns(tx.points(), slices.Collect(maps.Keys(at)), columns,
		func(num int64, key, value string) { data[at[num]].Params[key] = value },
		func(num int64, label string, value Value) { data[at[num]].Metrics[label] = value })
}
