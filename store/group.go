package store

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxGroupNames is by how many parameters and tags runs are grouped at once.
	maxGroupNames = 3
	// maxJoined is how many parameters and metrics one statement joins: SQLite
	// takes 64 tables, of which a metric needs two.
	maxJoined = 31
	// groupedCharacters is how much of a parameter's text counts: runs whose
	// values begin with the same so many characters are in one group.
	groupedCharacters = `250`
)

// GroupQuery asks for the groups of an experiment's iterations, in the language
// that docs/search.md describes.
type GroupQuery struct {
	Page
	By      string // parameters, and tag, with commas between them
	Filter  string // which iterations count; "" for all
	Sort    string // by a mean, a value or a date; "" for the order of the values
	Columns string // the metrics to give the spread of; parameters are ignored
}

// Grouped names one group.
type Grouped struct {
	By     string
	Values []*string // one for each name of By, nil for what the iterations don't have
}

// Group is a set of iterations with the same values. Grouped by tag, an
// iteration is in the group of each of its tags.
type Group struct {
	Values     []*string         `json:"values"`
	Iterations int               `json:"iterations"`
	Rank       int               `json:"rank"`    // its place among all groups in the order of their values, from 0
	Metrics    map[string]Spread `json:"metrics"` // by column; what none of them has is left out
}

// Spread is the mean of the finite values of N iterations and their sample
// standard deviation, nil for fewer than two and what is beyond a double.
type Spread struct {
	N    int    `json:"n"`
	Mean *Value `json:"mean"`
	SD   *Value `json:"sd"`
}

// Groups lists the groups of the iterations that pass a filter. They are sorted
// by the means of metrics, by duration (its mean), created or ended (the newest
// first when descending, else the oldest), by what they are grouped by, or by
// name, which stands for all of it; other keys don't count. INVALID_PAYLOAD when
// a part of the query can't be read. Needs read.
func (db *DB) Groups(ctx context.Context, actor Actor, experimentID string, q GroupQuery) (List[Group], error) {
	names := map[name]bool{}
	by, m := parseGroup(q.By, names)
	if m != nil {
		return List[Group]{}, m.of("group")
	}
	s := search{}
	if s.filter, m = parseFilter(q.Filter, names); m != nil {
		return List[Group]{}, m.of("filter")
	}
	if s.sort, m = parseSort(q.Sort, names); m != nil {
		return List[Group]{}, m.of("sort")
	}
	if s.columns, m = parseColumns(q.Columns); m != nil {
		return List[Group]{}, m.of("columns")
	}
	s.columns = slices.DeleteFunc(s.columns, func(c column) bool { return c.field != metricField })
	s.metrics = metricsOf(names, s.columns)
	if err := db.settleOrWarn(ctx, experimentID, s); err != nil {
		return List[Group]{}, err
	}
	return read(ctx, db, func(tx *tx) (List[Group], error) {
		if _, err := tx.allowExperiment(actor, experimentID, rightRead); err != nil {
			return List[Group]{}, err
		}
		p := q.clamp()
		l := List[Group]{Data: []Group{}, Limit: p.Limit, Offset: p.Offset}
		atOnce := max(1, maxJoined-len(names))
		for part := range slices.Chunk(s.columns, atOnce) {
			if err := tx.groups(experimentID, &l, by, s, part, p); err != nil {
				return l, err
			}
		}
		if len(s.columns) == 0 {
			if err := tx.groups(experimentID, &l, by, s, nil, p); err != nil {
				return l, err
			}
		}
		if len(l.Data) == 0 && p.Offset > 0 {
			// Behind the end there is no row to tell the count.
			return l, tx.groups(experimentID, &l, by, s, nil, Page{})
		}
		return l, nil
	})
}

// parseGroup reads the names that are grouped by.
func parseGroup(s string, names map[name]bool) ([]ref, *mistake) {
	by, m := parseList(s, names, maxGroupNames, func(p *parser) (ref, *mistake) {
		at := p.token.at
		r, m := p.ref()
		if m == nil && r.field != paramField && r.field != tagField {
			m = &mistake{at, "runs are grouped by param.NAME or tag"}
		}
		return r, m
	})
	if m != nil {
		return nil, m
	}
	for i, r := range by {
		if slices.ContainsFunc(by[:i], func(o ref) bool { return o.field == r.field && o.name == r.name }) {
			return nil, &mistake{r.at, "this name is there twice"}
		}
	}
	if len(by) == 0 {
		return nil, &mistake{1, "write param.NAME or tag here"}
	}
	return by, nil
}

func metricsOf(names map[name]bool, columns []column) map[string]bool {
	metrics := map[string]bool{}
	for n := range names {
		if n.field == metricField {
			metrics[n.key] = true
		}
	}
	for _, c := range columns {
		if c.field == metricField {
			metrics[c.key] = true
		}
	}
	return metrics
}

// groups fills a page of groups, or adds further metrics to those that are in
// it already.
func (tx *tx) groups(experimentID string, l *List[Group], by []ref, s search, metrics []column, p Page) error {
	j := tx.joins()
	var where query
	if s.filter != nil {
		where.add(` AND `)
		j.where(&where, s.filter)
	}
	hit, keys, order := []string{}, []string{}, []string{}
	for i, r := range by {
		value, key := `grouped_tag.value`, `g`+strconv.Itoa(i)
		if r.field == paramField {
			value = j.value(r)
		}
		hit = append(hit, `substr(`+value+`, 1, `+groupedCharacters+`) AS `+key)
		keys = append(keys, key)
		order = append(order, textOrder(key, false)...)
	}
	means, spreads, sums, read := []string{}, []string{}, []string{}, []string{}
	for i, c := range metrics {
		n := strconv.Itoa(i)
		hit = append(hit, finite(j.value(c.ref))+` AS m`+n)
		means = append(means, `avg(m`+n+`) OVER grouped AS a`+n)
		spreads = append(spreads, `count(m`+n+`) AS n`+n+`, max(a`+n+`) AS mean`+n)
		sums = append(sums, `sum((m`+n+` - a`+n+`) * (m`+n+` - a`+n+`)) AS sum`+n)
		read = append(read, `n`+n, `mean`+n, `sum`+n)
	}
	sorted, first := j.groupOrder(by, s.sort)
	hit = append(hit, sorted.of...)
	names, err := tx.known(experimentID, j.names)
	if err != nil {
		return err
	}
	group := strings.Join(keys, `, `)
	var q query
	q.add(`WITH hit AS MATERIALIZED (SELECT ` + strings.Join(hit, `, `))
	j.from(&q, names)
	if slices.ContainsFunc(by, func(r ref) bool { return r.field == tagField }) {
		q.add(` LEFT JOIN tag AS grouped_tag ON grouped_tag.iteration_num = iteration.num`)
	}
	q.add(` WHERE iteration.experiment_id = ?`, experimentID)
	q.add(where.String()+`), `, where.args...)
	from := `hit`
	if len(means) > 0 {
		q.add(`deviation AS MATERIALIZED (SELECT *, ` + strings.Join(means, `, `) +
			` FROM hit WINDOW grouped AS (PARTITION BY ` + group + `)), `)
		from = `deviation`
	}
	q.add(`result AS MATERIALIZED (SELECT ` + strings.Join(slices.Concat(keys, []string{`count(*) AS iterations`,
		`row_number() OVER (ORDER BY ` + strings.Join(order, `, `) + `) - 1 AS rank`}, spreads, sums, sorted.over), `, `) +
		` FROM ` + from + ` GROUP BY ` + group + `)`)
	q.add(` SELECT `+strings.Join(slices.Concat([]string{`(SELECT count(*) FROM result)`, `iterations`, `rank`}, keys, read), `, `)+
		` FROM result ORDER BY `+strings.Join(append(first, `rank`), `, `)+` LIMIT ? OFFSET ?`, max(p.Limit, 1), p.Offset)
	return tx.readGroups(&q, l, len(by), metrics, p)
}

// readGroups scans what groups asks for.
func (tx *tx) readGroups(q *query, l *List[Group], keys int, metrics []column, p Page) error {
	rows, err := tx.compose(q)
	if err != nil {
		return err
	}
	defer rows.Close()
	for at := 0; rows.Next(); at++ {
		g := Group{Values: make([]*string, keys), Metrics: map[string]Spread{}}
		to := []any{&l.Total, &g.Iterations, &g.Rank}
		for i := range g.Values {
			to = append(to, &g.Values[i])
		}
		found := make([]struct {
			n         int
			mean, sum *float64
		}, len(metrics))
		for i := range found {
			to = append(to, &found[i].n, &found[i].mean, &found[i].sum)
		}
		if err := rows.Scan(to...); err != nil {
			return err
		}
		if at >= p.Limit {
			break
		}
		if at == len(l.Data) {
			l.Data = append(l.Data, g)
		}
		for i, f := range found {
			if f.n > 0 {
				l.Data[at].Metrics[metrics[i].name] = newSpread(f.n, f.mean, f.sum)
			}
		}
	}
	return rows.Err()
}

// newSpread makes a spread of the mean of n values and the sum of the squares
// of their distances from it.
func newSpread(n int, mean, squares *float64) Spread {
	s := Spread{N: n}
	if mean == nil || math.IsInf(*mean, 0) {
		return s
	}
	s.Mean = new(Value(*mean))
	if n > 1 && squares != nil && !math.IsInf(*squares, 0) {
		s.SD = new(Value(math.Sqrt(*squares / float64(n-1))))
	}
	return s
}

// finite is the SQL for a number, NULL when it is an infinity.
func finite(value string) string {
	return `iif(abs(` + value + `) <= 1.7976931348623157e308, ` + value + `, NULL)`
}

// textOrder sorts the texts of a column: numbers first, by size, then texts,
// then what is not there.
func textOrder(c string, descending bool) []string {
	direction := ``
	if descending {
		direction = ` DESC`
	}
	return []string{
		`CASE WHEN ` + isNumber(c) + ` THEN 0 WHEN ` + c + ` IS NOT NULL THEN 1 ELSE 2 END`,
		`iif(` + isNumber(c) + `, CAST(` + c + ` AS NUMERIC), ` + c + `)` + direction,
		c + direction,
	}
}

// sortColumns are what groups are sorted by: of an iteration, and over all of a
// group.
type sortColumns struct{ of, over []string }

// groupOrder returns how groups are ordered before the order of their values.
func (j *joins) groupOrder(by []ref, sort []sortKey) (sortColumns, []string) {
	var c sortColumns
	var order []string
	over := func(value, function string, descending bool) {
		n := strconv.Itoa(len(c.of))
		c.of = append(c.of, value+` AS s`+n)
		c.over = append(c.over, function+`(s`+n+`) AS o`+n)
		if descending {
			order = append(order, `o`+n+` DESC NULLS LAST`)
		} else {
			order = append(order, `o`+n+` NULLS LAST`)
		}
	}
	for _, k := range sort {
		newest := `min`
		if k.descending {
			newest = `max`
		}
		switch k.field {
		case metricField:
			over(finite(j.value(k.ref)), `avg`, k.descending)
		case durationField:
			over(j.value(k.ref), `avg`, k.descending)
		case createdField, endedField, lastSeenField:
			over(j.value(k.ref), newest, k.descending)
		case paramField, tagField, nameField:
			for i, r := range by {
				if k.field == nameField || r.field == k.field && r.name == k.name {
					order = append(order, textOrder(`g`+strconv.Itoa(i), k.descending)...)
				}
			}
		}
	}
	return c, order
}

// within writes that an iteration is in a group.
func (j *joins) within(q *query, by []ref, values []*string) {
	for i, r := range by {
		switch {
		case r.field == paramField:
			q.add(` AND substr(`+j.value(r)+`, 1, `+groupedCharacters+`) IS ?`, values[i])
		case values[i] == nil:
			q.add(` AND NOT EXISTS (SELECT 1 FROM tag WHERE tag.iteration_num = iteration.num)`)
		default:
			q.add(` AND EXISTS (SELECT 1 FROM tag WHERE tag.iteration_num = iteration.num AND tag.value = ?)`, *values[i])
		}
	}
}
