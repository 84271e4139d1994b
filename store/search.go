package store

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/jmoiron/sqlx"
)

// sortKey is one of the things that a listing is sorted by.
type sortKey struct {
	ref
	descending bool
}

// column is a parameter or metric that is embedded in each row.
type column struct {
	ref
	name string // under which a metric is given
}

// search is a listing of iterations that was asked for, read and checked.
type search struct {
	filter  node // nil for all
	sort    []sortKey
	columns []column        // nil when none were asked for
	metrics map[string]bool // the keys of all that are named

	by     []ref     // what the group is named by whose iterations are wanted; nil for all
	values []*string // of the group
	fold   bool      // children that are hits lie under their parents
	parent *string   // with fold: whose children are wanted, nil for those at the top
}

const (
	maxSortKeys = 10
	maxColumns  = 200
)

func parseSearch(q IterationQuery) (s search, err error) {
	names := map[name]bool{}
	var m *mistake
	if s.filter, m = parseFilter(q.Filter, names); m != nil {
		return s, m.of("filter")
	}
	if s.sort, m = parseSort(q.Sort, names); m != nil {
		return s, m.of("sort")
	}
	if s.columns, m = parseColumns(q.Columns); m != nil {
		return s, m.of("columns")
	}
	if q.Group != nil {
		if s.by, m = parseGroup(q.Group.By, names); m != nil {
			return s, m.of("group")
		}
		if s.values = q.Group.Values; len(s.values) != len(s.by) {
			return s, Invalid("group", "A group of %d names has %d values.", len(s.by), len(s.values))
		}
	}
	s.fold, s.parent = q.Fold, q.Parent
	s.metrics = metricsOf(names, s.columns)
	return s, nil
}

// parseSort reads names with commas between them; a minus before one turns the
// order around.
func parseSort(s string, names map[name]bool) ([]sortKey, *mistake) {
	return parseList(s, names, maxSortKeys, func(p *parser) (k sortKey, m *mistake) {
		if k.descending = p.token.sign("-"); k.descending {
			if m := p.next(); m != nil {
				return k, m
			}
		}
		k.ref, m = p.ref()
		return k, m
	})
}

// parseColumns reads the names of parameters and metrics with commas between
// them. One that is given twice counts once.
func parseColumns(s string) ([]column, *mistake) {
	all, m := parseList(s, nil, maxColumns, func(p *parser) (c column, m *mistake) {
		at := p.token
		if c.ref, m = p.ref(); m == nil && c.field != paramField && c.field != metricField {
			m = &mistake{at.at, "a column is param.NAME or metric.NAME; the other fields are in every row"}
		}
		if m != nil {
			return c, m
		}
		c.name = c.key
		switch {
		case c.field == metricField && !at.quoted:
			_, c.name, _ = strings.Cut(at.text, ".")
		case c.field == metricField && at.tail != "":
			c.name += at.tail
		case c.field == metricField && endsInStatistic(c.key):
			// Bare, it would be the name of another column.
			c.name = "`" + strings.ReplaceAll(c.key, "`", "``") + "`"
		}
		return c, nil
	})
	var once []column
	for _, c := range all {
		if !slices.ContainsFunc(once, func(o column) bool { return o.field == c.field && o.name == c.name }) {
			once = append(once, c)
		}
	}
	return once, m
}

func endsInStatistic(key string) bool {
	dot := strings.LastIndexByte(key, '.')
	_, ok := statistic(key[dot+1:])
	return dot >= 0 && ok
}

// parseList reads up to most elements with commas between them, none from an
// empty text.
func parseList[T any](s string, names map[name]bool, most int, element func(*parser) (T, *mistake)) ([]T, *mistake) {
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	p, m := newParser(s, names)
	if m != nil {
		return nil, m
	}
	var all []T
	for {
		if len(all) == most {
			return nil, p.wrong("there may be %d names", most)
		}
		e, m := element(p)
		if m != nil {
			return nil, m
		}
		all = append(all, e)
		if p.token.kind == endToken {
			return all, nil
		}
		if !p.token.sign(",") {
			return nil, p.wrong("write a comma before the next name, or end here")
		}
		if m := p.next(); m != nil {
			return nil, m
		}
	}
}

// iterations returns one page of the iterations of an experiment that s asks
// for, in order.
func (tx *tx) iterations(experimentID string, s search, p Page) (List[Iteration], error) {
	l := List[Iteration]{Data: []Iteration{}, Limit: p.Limit, Offset: p.Offset}
	nums, total, children, err := tx.find(experimentID, s, p)
	if err != nil {
		return l, err
	}
	l.Total = total
	if len(nums) == 0 {
		return l, nil
	}
	l.Data, err = tx.iterationsOf(nums, s.columns)
	for i := range l.Data {
		l.Data[i].Children = children[l.Data[i].Num]
	}
	return l, err
}

// iterationsOf returns the iterations with these numbers, in their order, without
// those that are not there.
func (tx *tx) iterationsOf(nums []int64, columns []column) ([]Iteration, error) {
	list, err := json.Marshal(nums)
	if err != nil {
		return nil, err
	}
	var rows []Iteration
	err = tx.all(&rows, `SELECT `+iterationColumns+`
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
	tx.db.seen.freshen(rows)
	return rows, tx.embed(rows, at, string(list), columns)
}

// find returns the numbers of one page of the iterations that s asks for, and how
// many there are. With fold, children tells how many hits lie under each.
func (tx *tx) find(experimentID string, s search, p Page) (nums []int64, total int, children map[int64]int, err error) {
	if s.filter == nil && len(s.sort) == 0 && s.by == nil && !s.fold {
		return tx.findAll(experimentID, s, p)
	}
	return tx.findSome(experimentID, s, p)
}

// findAll returns the numbers of one page of all iterations, the oldest first,
// and how many there are.
func (tx *tx) findAll(experimentID string, _ search, p Page) (nums []int64, total int, _ map[int64]int, err error) {
	err = tx.row(`SELECT count(*) FROM iteration WHERE experiment_id = ?`, experimentID).Scan(&total)
	if err == nil {
		err = tx.all(&nums, `SELECT num FROM iteration WHERE experiment_id = ? ORDER BY num LIMIT ? OFFSET ?`,
			experimentID, p.Limit, p.Offset)
	}
	return nums, total, nil, err
}

// findSome is findAll for a filter, an order or a part. With fold, children
// tells how many hits lie under each.
func (tx *tx) findSome(experimentID string, s search, p Page) (nums []int64, total int, children map[int64]int, err error) {
	j := tx.joins()
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
		expressions, directions := j.order(k.ref, k.descending)
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
	part, under, err := tx.folded(experimentID, s)
	if err != nil {
		return nil, 0, nil, err
	}
	names, err := tx.known(experimentID, j.names)
	if err != nil {
		return nil, 0, nil, err
	}
	// All hits are needed to count and to sort them, but only once.
	var q query
	q.add(`WITH hit AS MATERIALIZED (SELECT ` + strings.Join(selected, `, `))
	j.from(&q, names)
	q.add(` WHERE iteration.experiment_id = ?`, experimentID)
	q.add(where.String()+`) SELECT num, (SELECT count(*) FROM hit`+part.String()+`), `+under, slices.Concat(where.args, part.args)...)
	q.add(part.String()+` ORDER BY `+strings.Join(order, `, `)+` LIMIT ? OFFSET ?`,
		append(part.args, max(p.Limit, 1), p.Offset)...)
	rows, err := tx.compose(&q)
	if err != nil {
		return nil, 0, nil, err
	}
	defer rows.Close()
	children = map[int64]int{}
	for rows.Next() {
		var num int64
		var below int
		if err := rows.Scan(&num, &total, &below); err != nil {
			return nil, 0, nil, err
		}
		nums, children[num] = append(nums, num), below
	}
	if err := rows.Err(); err != nil {
		return nil, 0, nil, err
	}
	if len(nums) == 0 && p.Offset > 0 {
		// Behind the end there is no row to tell the count.
		_, total, _, err = tx.findSome(experimentID, s, Page{})
		return nil, total, nil, err
	}
	return nums[:min(len(nums), p.Limit)], total, children, nil
}

// folded returns which hits are listed, and what counts those that lie under
// them: a hit lies under its parent when that is one too, and else at the top.
func (tx *tx) folded(experimentID string, s search) (part query, under string, err error) {
	switch {
	case !s.fold:
		return part, `0 FROM hit`, nil
	case s.parent == nil:
		part.add(` WHERE (parent IS NULL OR parent NOT IN (SELECT num FROM hit))`)
	default:
		var num int64
		err := tx.row(`SELECT num FROM iteration WHERE id = ? AND experiment_id = ?`, *s.parent, experimentID).Scan(&num)
		if err != nil {
			return part, "", orNotFound(err, "iteration")
		}
		part.add(` WHERE parent = ?`, num)
	}
	return part, `coalesce(below.n, 0) FROM hit LEFT JOIN (SELECT parent AS of, count(*) AS n
		FROM hit WHERE parent IS NOT NULL GROUP BY parent) AS below ON below.of = hit.num`, nil
}

// compose runs a query whose text is made for the occasion, and is not kept
// prepared. The rows must be closed.
func (tx *tx) compose(q *query) (*sqlx.Rows, error) {
	return tx.raw.QueryxContext(tx.ctx, q.String(), q.args...)
}

// embed sets Params and Metrics of the iterations, which have the numbers of
// list and lie in data where at says.
func (tx *tx) embed(data []Iteration, at map[int64]int, list string, columns []column) error {
	if columns == nil {
		return nil
	}
	for i := range data {
		data[i].Params, data[i].Metrics = map[string]string{}, map[string]Value{}
	}
	var params []string
	metrics := map[string][]column{} // by key
	for _, c := range columns {
		if c.field == paramField {
			params = append(params, c.key)
		} else {
			metrics[c.key] = append(metrics[c.key], c)
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
	rows, err := tx.rows(`SELECT iteration_num, key, value FROM parameter
		WHERE iteration_num IN (SELECT value FROM json_each(?)) AND key IN (SELECT value FROM json_each(?))`,
		list, string(keyList))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var num int64
		var key, value string
		if err := rows.Scan(&num, &key, &value); err != nil {
			return err
		}
		data[at[num]].Params[key] = value
	}
	return rows.Err()
}

func (tx *tx) embedMetrics(data []Iteration, at map[int64]int, list string, columns map[string][]column) error {
	keyList, err := json.Marshal(slices.Collect(maps.Keys(columns)))
	if err != nil {
		return err
	}
	rows, err := tx.rows(`SELECT iteration_num, key, count, last, min, max, `+seriesMean+` FROM series
		WHERE iteration_num IN (SELECT value FROM json_each(?)) AND key IN (SELECT value FROM json_each(?))`,
		list, string(keyList))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var num, count int64
		var key string
		var last Value
		var low, high, mean *Value
		if err := rows.Scan(&num, &key, &count, &last, &low, &high, &mean); err != nil {
			return err
		}
		for _, c := range columns[key] {
			v := map[string]*Value{"last": &last, "min": low, "max": high, "mean": mean, "count": new(Value(count))}[c.stat]
			if v != nil {
				data[at[num]].Metrics[c.name] = *v
			}
		}
	}
	return rows.Err()
}
