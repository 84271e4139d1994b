package store

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jmoiron/sqlx"

	"tracker/store/filter"
	"tracker/store/json"
	"tracker/store/points"
)

// search is a listing of iterations, read and checked.
type search struct {
	filter  filter.Expr // nil for all
	sort    []filter.SortKey
	columns []filter.Column // nil when none were asked for
	metrics []string        // names of the metrics in filter, sort and group

	by     []filter.Ref // with values: only the iterations of one group; nil for all
	values []*string    // of the group
	trash  string       // SQL condition: whether iterations in the trash count
	fold   bool         // children that are hits are listed under their parents
	parent *string      // with fold: list the children of this iteration, nil for the top level
	cut    bool         // the page may end early
	more   bool         // without fold: hits are not counted beyond the one after the page
}

func parseSearch(q IterationQuery) (search, error) {
	var p filter.Parser
	s, err := parseListing(&p, q.Filter, q.Sort, q.Columns)
	if err != nil {
		return s, err
	}
	if q.Group != nil {
		if s.by, err = p.Group(q.Group.By); err != nil {
			return s, refused(err)
		}
		if s.values = q.Group.Values; len(s.values) != len(s.by) {
			return s, Invalid("group", "A group of %d names has %d values.", len(s.by), len(s.values))
		}
	}
	s.fold, s.parent, s.cut = q.Fold, q.Parent, q.Cut
	s.trash = q.Trash.condition("iteration")
	s.metrics = metricsOf(p.Keys())
	return s, nil
}

// within sets what the search of an experiment finds if the experiment is in the
// trash: then all of its iterations are.
func (s *search) within(e experimentState) {
	switch {
	case !e.deleted:
	case s.trash == notTrashed("iteration"):
		s.trash = `FALSE`
	default:
		s.trash = `TRUE`
	}
}

// parseListing reads a filter, an order and columns.
func parseListing(p *filter.Parser, where, sort, columns string) (s search, err error) {
	if s.filter, err = p.Filter(where); err != nil {
		return s, refused(err)
	}
	if s.sort, err = p.Sort(sort); err != nil {
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
func (tx *tx) iterations(experimentID string, s search, p Page) (List[Iteration], error) {
	l := List[Iteration]{Data: []Iteration{}, Limit: p.Limit, Offset: p.Offset}
	h, err := tx.find(experimentID, s, p)
	if err != nil {
		return l, err
	}
	l.Total = h.total
	if len(h.nums) == 0 {
		return l, nil
	}
	var params []string
	for _, c := range s.columns {
		if c.Field == filter.Param {
			params = append(params, c.Name)
		}
	}
	nums, err := tx.takeIterations(h.nums, params, s.cut)
	if err != nil {
		return l, err
	}
	if len(nums) < len(h.nums) {
		l.Limit = len(nums)
	}
	l.Data, err = tx.iterationsOf(nums, s.columns)
	for i := range l.Data {
		l.Data[i].Children = h.children[l.Data[i].Num]
	}
	return l, err
}

// iterationsOf returns the iterations with these numbers, in the order of nums.
// Numbers without an iteration are left out.
func (tx *tx) iterationsOf(nums []int64, columns []filter.Column) ([]Iteration, error) {
	list, err := json.Marshal(nums)
	if err != nil {
		return nil, err
	}
	var rows []Iteration
	err = tx.Select(&rows, `SELECT `+iterationColumns+`
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
	tx.db.lastSeen.freshen(rows)
	return rows, tx.embed(rows, at, string(list), columns)
}

// find returns one page of the iterations that s selects.
func (tx *tx) find(experimentID string, s search, p Page) (hits, error) {
	if s.filter == nil && len(s.sort) == 0 && s.by == nil && !s.fold {
		return tx.findAll(experimentID, s, p)
	}
	return limited(tx, s, func() (hits, error) { return tx.findSome([]string{experimentID}, s, p) })
}

// hits are one page of what a search has found.
type hits struct {
	nums     []int64 // of the iterations, in order
	total    int
	children map[int64]int // with fold: how many hits are listed under each
}

// findAll is find without a filter, the oldest first.
func (tx *tx) findAll(experimentID string, s search, p Page) (h hits, err error) {
	err = tx.Row(`SELECT count(*) FROM iteration WHERE experiment_id = ? AND `+s.trash, experimentID).Scan(&h.total)
	if err == nil {
		err = tx.Select(&h.nums, `SELECT num FROM iteration WHERE experiment_id = ? AND `+s.trash+` ORDER BY num LIMIT ? OFFSET ?`,
			experimentID, p.Limit, p.Offset)
	}
	return h, err
}

// findSome is find for a filter, an order, a group, children or several experiments.
func (tx *tx) findSome(experimentIDs []string, s search, p Page) (h hits, err error) {
	j, err := tx.joins(experimentIDs, s.metrics)
	if err != nil {
		return h, err
	}
	var where query
	if s.filter != nil {
		where.add(` AND `)
		j.where(&where, s.filter)
	}
	j.within(&where, s.by, s.values)
	// The filter's names are joined first, so that those of the order are
	// looked up only for what the filter lets through.
	selected, order := []string{`iteration.num AS num`}, []string{}
	for _, k := range s.sort {
		expressions, directions := j.order(k.Ref, k.Descending)
		for i, e := range expressions {
			term := `k` + strconv.Itoa(len(selected))
			selected = append(selected, e+` AS `+term)
			order = append(order, term+directions[i])
		}
	}
	order = append(order, `num`)
	if s.fold {
		selected = append(selected, `iteration.parent_num AS parent`)
	}
	part, under, err := tx.folded(experimentIDs, s)
	if err != nil {
		return h, err
	}
	names, err := tx.known(experimentIDs, j.keys)
	if err != nil {
		return h, err
	}
	// All hits are needed to count and to sort them, but only once. Those that are not
	// counted need not be kept.
	total, limit := `(SELECT count(*) FROM hit`+part.String()+`)`, max(p.Limit, 1)
	if s.more {
		total, limit = `0`, p.Limit+1
	}
	j.once = s.more
	var q query
	j.hits(&q, strings.Join(selected, `, `), names)
	within(&q, experimentIDs)
	q.add(` AND ` + s.trash)
	q.add(where.String()+`) SELECT num, `+total+`, `+under, slices.Concat(where.args, part.args)...)
	q.add(part.String()+` ORDER BY `+strings.Join(order, `, `), part.args...)
	o, err := tx.order(&q, p.Offset, limit)
	if err != nil {
		return h, err
	}
	h.total = o.total
	if s.more {
		h.total = p.Offset + len(o.rows)
	} else if len(o.rows) == 0 && p.Offset > 0 && !o.complete {
		// After the end there is no row that has the count.
		return tx.findSome(experimentIDs, s, Page{})
	}
	h.children = map[int64]int{}
	for _, r := range o.rows[:min(len(o.rows), p.Limit)] {
		h.nums = append(h.nums, int64(r.num))
		h.children[int64(r.num)] = int(r.below)
	}
	return h, nil
}

// folded returns the condition for the hits that are listed, and the expression
// and join that count the hits under each. A hit is listed under its parent when
// the parent is a hit too, and else at the top.
func (tx *tx) folded(experimentIDs []string, s search) (part query, under string, err error) {
	switch {
	case !s.fold:
		return part, `0 FROM hit`, nil
	case s.parent == nil:
		part.add(` WHERE (parent IS NULL OR parent NOT IN (SELECT num FROM hit))`)
	default:
		var num int64
		err := tx.Row(`SELECT num FROM iteration WHERE id = ? AND experiment_id = ? AND `+s.trash, *s.parent, experimentIDs[0]).Scan(&num)
		if err != nil {
			return part, "", orNotFound(err, "iteration")
		}
		part.add(` WHERE parent = ?`, num)
	}
	return part, `coalesce(below.n, 0) FROM hit LEFT JOIN (SELECT parent AS of, count(*) AS n
		FROM hit WHERE parent IS NOT NULL GROUP BY parent) AS below ON below.of = hit.num`, nil
}

// compose runs a query whose text is made for one search, without keeping its
// prepared form. The rows must be closed.
func (tx *tx) compose(q *query) (*sqlx.Rows, error) {
	return tx.RowsOnce(q.String(), q.args...)
}

// embed sets Params and Metrics of data. list holds the numbers of the iterations,
// and at the index of each in data.
func (tx *tx) embed(data []Iteration, at map[int64]int, list string, columns []filter.Column) error {
	if columns == nil {
		return nil
	}
	for i := range data {
		data[i].Params, data[i].Metrics = map[string]string{}, map[string]Value{}
	}
	var params []string
	metrics := map[string][]filter.Column{} // by key
	for _, c := range columns {
		if c.Field == filter.Param {
			params = append(params, c.Name)
		} else {
			metrics[c.Name] = append(metrics[c.Name], c)
		}
	}
	if len(params) > 0 {
		if err := tx.embedParams(data, at, list, params); err != nil {
			return err
		}
	}
	if len(metrics) > 0 {
		return tx.embedMetrics(data, at, list, metrics)
	}
	return nil
}

func (tx *tx) embedParams(data []Iteration, at map[int64]int, list string, keys []string) error {
	keyList, err := json.Marshal(keys)
	if err != nil {
		return err
	}
	return tx.eachText(`SELECT iteration_num, key, value FROM parameter
		WHERE iteration_num IN (SELECT value FROM json_each(?)) AND key IN (SELECT value FROM json_each(?))`,
		func(num int64, key, value string) { data[at[num]].Params[key] = value }, list, string(keyList))
}

func (tx *tx) embedMetrics(data []Iteration, at map[int64]int, list string, columns map[string][]filter.Column) error {
	keys := slices.Sorted(maps.Keys(columns))
	late, err := tx.lateIn(at, keys)
	if err != nil {
		return err
	}
	keyList, err := json.Marshal(keys)
	if err != nil {
		return err
	}
	rows, err := tx.Rows(`SELECT iteration_num, key, count, last, min, max, `+points.MeanSQL+` FROM series
		WHERE iteration_num IN (SELECT value FROM json_each(?)) AND key IN (SELECT value FROM json_each(?))`,
		list, string(keyList))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var k metricKey
		var count int64
		var last Value
		var low, high, mean *Value
		if err := rows.Scan(&k.iteration, &k.name, &count, &last, &low, &high, &mean); err != nil {
			return err
		}
		if s, ok := late[k]; ok {
			count, last, low, high, mean = s.Count, s.Last, s.Min, s.Max, s.Mean()
		}
		for _, c := range columns[k.name] {
			v := map[string]*Value{"last": &last, "min": low, "max": high, "mean": mean, "count": new(Value(count))}[c.Stat]
			if v != nil {
				data[at[k.iteration]].Metrics[c.Label] = *v
			}
		}
	}
	return rows.Err()
}

// metricKey names a metric of an iteration.
type metricKey struct {
	iteration int64
	name      string
}

// lateIn returns the statistics that the rows of these metrics lack in the
// iterations whose numbers are in nums.
func (tx *tx) lateIn(nums map[int64]int, metrics []string) (map[metricKey]points.Stats, error) {
	recent, err := tx.points().Recent(metrics)
	if err != nil {
		return nil, err
	}
	found, err := tx.points().Late(slices.DeleteFunc(recent, func(s points.Series) bool {
		_, ok := nums[s.Iteration]
		return !ok
	}))
	late := make(map[metricKey]points.Stats, len(found))
	for _, s := range found {
		late[metricKey{s.Iteration, s.Key}] = s.Stats
	}
	return late, err
}
