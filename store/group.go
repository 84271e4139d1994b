package store

import (
	"slices"
	"strconv"
	"strings"

	"tracker/store/filter"
	"tracker/store/points"
)

const (
	// maxJoined is the largest number of parameters and metrics that one statement
	// joins: SQLite takes 64 tables, of which a metric needs two.
	maxJoined = 31
	// groupedCharacters is the number of characters of a parameter that are compared:
	// runs whose values begin with the same ones are in one group.
	groupedCharacters = `250`
)

// GroupQuery selects and sorts groups of iterations, in the language that
// docs/search.md describes.
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

// Spread is the mean and the deviation of the values of a group.
type Spread = points.Spread

// Groups lists the groups of the iterations that pass a filter. They are sorted
// by the means of metrics, by duration (its mean), created or ended (the newest
// first when descending, else the oldest), by what they are grouped by, or by
// name, which stands for all of it; other keys don't count. INVALID_PAYLOAD when
// a part of the query can't be read. Needs read.
func (v *View) Groups(experimentID string, q GroupQuery) (List[Group], error) {
	s, err := parseGroups(q)
	if err != nil {
		return List[Group]{}, err
	}
	if _, err := v.tx.allowExperiment(v.actor, experimentID, rightRead); err != nil {
		return List[Group]{}, err
	}
	return limited(v.tx, s.search, func() (List[Group], error) { return v.tx.listGroups(experimentID, s, q.clamp()) })
}

// groupSearch is a listing of groups, read and checked.
type groupSearch struct {
	search
	by     []filter.Ref
	atOnce int // metrics that one statement can join
}

func parseGroups(q GroupQuery) (s groupSearch, err error) {
	var p filter.Parser
	if s.by, err = p.Group(q.By); err != nil {
		return s, refused(err)
	}
	if s.search, err = parseListing(&p, q.Filter, q.Sort, q.Columns); err != nil {
		return s, err
	}
	s.columns = slices.DeleteFunc(s.columns, func(c filter.Column) bool { return c.Field != filter.Metric })
	s.metrics = metricsOf(p.Keys())
	s.atOnce = max(1, maxJoined-len(p.Keys()))
	return s, nil
}

func (tx *tx) listGroups(experimentID string, s groupSearch, p Page) (List[Group], error) {
	l := List[Group]{Data: []Group{}, Limit: p.Limit, Offset: p.Offset}
	for part := range slices.Chunk(s.columns, s.atOnce) {
		if err := tx.groups(experimentID, &l, s, part, p); err != nil {
			return l, err
		}
	}
	if len(s.columns) == 0 {
		if err := tx.groups(experimentID, &l, s, nil, p); err != nil {
			return l, err
		}
	}
	if len(l.Data) == 0 && p.Offset > 0 {
		// After the end there is no row that has the count.
		return l, tx.groups(experimentID, &l, s, nil, Page{})
	}
	return l, nil
}

// groups fills a page of groups, or adds further metrics to the groups that are in
// it.
func (tx *tx) groups(experimentID string, l *List[Group], s groupSearch, metrics []filter.Column, p Page) error {
	named := s.metrics
	for _, c := range metrics {
		if !slices.Contains(named, c.Name) {
			named = append(named[:len(named):len(named)], c.Name)
		}
	}
	j, err := tx.joins([]string{experimentID}, named)
	if err != nil {
		return err
	}
	var where query
	if s.filter != nil {
		where.add(` AND `)
		j.where(&where, s.filter)
	}
	hit, keys, order := []string{}, []string{}, []string{}
	for i, r := range s.by {
		value, key := `grouped_tag.value`, `g`+strconv.Itoa(i)
		if r.Field == filter.Param {
			value = j.value(r)
		}
		hit = append(hit, `substr(`+value+`, 1, `+groupedCharacters+`) AS `+key)
		keys = append(keys, key)
		order = append(order, textOrder(key, false)...)
	}
	means, spreads, sums, read := []string{}, []string{}, []string{}, []string{}
	for i, c := range metrics {
		n := strconv.Itoa(i)
		hit = append(hit, finite(j.value(c.Ref))+` AS m`+n)
		means = append(means, `avg(m`+n+`) OVER grouped AS a`+n)
		spreads = append(spreads, `count(m`+n+`) AS n`+n+`, max(a`+n+`) AS mean`+n)
		sums = append(sums, `sum((m`+n+` - a`+n+`) * (m`+n+` - a`+n+`)) AS sum`+n)
		read = append(read, `n`+n, `mean`+n, `sum`+n)
	}
	sorted, first := j.groupOrder(s.by, s.sort)
	hit = append(hit, sorted.of...)
	names, err := tx.known([]string{experimentID}, j.keys)
	if err != nil {
		return err
	}
	group := strings.Join(keys, `, `)
	var q query
	j.hits(&q, strings.Join(hit, `, `), names)
	if slices.ContainsFunc(s.by, func(r filter.Ref) bool { return r.Field == filter.Tag }) {
		q.add(` LEFT JOIN tag AS grouped_tag ON grouped_tag.iteration_num = iteration.num`)
	}
	q.add(` WHERE iteration.experiment_id = ? AND iteration.deleted_date IS NULL`, experimentID)
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
	return tx.readGroups(&q, l, len(s.by), metrics, p)
}

// readGroups scans the rows of groups.
func (tx *tx) readGroups(q *query, l *List[Group], keys int, metrics []filter.Column, p Page) error {
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
				l.Data[at].Metrics[metrics[i].Label] = points.NewSpread(f.n, f.mean, f.sum)
			}
		}
	}
	return rows.Err()
}

// finite returns the SQL of a number; NULL for an infinity.
func finite(value string) string {
	return `iif(abs(` + value + `) <= 1.7976931348623157e308, ` + value + `, NULL)`
}

// textOrder returns how to sort the texts of a column: numbers first, by size, then
// texts, then NULL.
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

// sortColumns holds the expressions that groups are sorted by: of an iteration, and
// the aggregate of it over a group.
type sortColumns struct{ of, over []string }

// groupOrder returns the order of groups. Groups that are equal in it are in the
// order of their values.
func (j *joins) groupOrder(by []filter.Ref, sort []filter.SortKey) (sortColumns, []string) {
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
		if k.Descending {
			newest = `max`
		}
		switch k.Field {
		case filter.Metric:
			over(finite(j.value(k.Ref)), `avg`, k.Descending)
		case filter.Duration:
			over(j.value(k.Ref), `avg`, k.Descending)
		case filter.Created, filter.Ended, filter.LastSeen:
			over(j.value(k.Ref), newest, k.Descending)
		case filter.Param, filter.Tag, filter.Name:
			for i, r := range by {
				if k.Field == filter.Name || r.Field == k.Field && r.Name == k.Name {
					order = append(order, textOrder(`g`+strconv.Itoa(i), k.Descending)...)
				}
			}
		}
	}
	return c, order
}

// within writes that an iteration is in a group.
func (j *joins) within(q *query, by []filter.Ref, values []*string) {
	for i, r := range by {
		switch {
		case r.Field == filter.Param:
			q.add(` AND substr(`+j.value(r)+`, 1, `+groupedCharacters+`) IS ?`, values[i])
		case values[i] == nil:
			q.add(` AND NOT EXISTS (SELECT 1 FROM tag WHERE tag.iteration_num = iteration.num)`)
		default:
			q.add(` AND EXISTS (SELECT 1 FROM tag WHERE tag.iteration_num = iteration.num AND tag.value = ?)`, *values[i])
		}
	}
}
