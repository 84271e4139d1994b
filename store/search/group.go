package search

import (
	"slices"
	"strconv"
	"strings"

	"tracker/store/filter"
	"tracker/store/points"
	"tracker/store/sqlite"
)

const (
	// maxJoined is the maximum number of named values in one statement. SQLite joins
	// at most 64 tables, and each metric needs two.
	maxJoined = 31
	// groupedCharacters is the number of leading characters of a value that grouping compares.
	// Values with equal leading characters are in the same group.
	groupedCharacters = `250`
)

// GroupQuery selects iterations, groups them and sorts the groups.
type GroupQuery struct {
	Query                   // By groups the iterations; Values, Fold and Uncounted are ignored
	Columns []filter.Column // metrics whose spread is returned
	Keys    int             // number of different names in the whole query
}

// Group is a set of iterations with the same values. If a query groups by tag, an iteration is
// in the group of each of its tags.
type Group struct {
	Values     []*string                `json:"values"`
	Iterations int                      `json:"iterations"`
	Rank       int                      `json:"rank"`    // index of the group if all groups are sorted by their values
	Metrics    map[string]points.Spread `json:"metrics"` // by column label; omits columns without a finite value in the group
}

// Groups is one page of groups.
type Groups struct {
	Page  []Group
	Total int // number of groups on all pages
}

// Groups returns one page of the groups of an experiment's iterations. The page begins at
// offset and has at most limit groups.
func (s *Snapshot) Groups(experimentID string, q GroupQuery, limit, offset int) (l Groups, err error) {
	for part := range slices.Chunk(q.Columns, max(1, maxJoined-q.Keys)) {
		if err := s.groups(experimentID, &l, q, part, limit, offset); err != nil {
			return l, err
		}
	}
	if len(q.Columns) == 0 {
		if err := s.groups(experimentID, &l, q, nil, limit, offset); err != nil {
			return l, err
		}
	}
	if len(l.Page) == 0 && offset > 0 {
		// A page after the last group has no row, and therefore no count. Query the count
		// alone.
		return l, s.groups(experimentID, &l, q, nil, 0, 0)
	}
	return l, nil
}

// groups fills a page of groups. If the page is already filled, groups adds the given metrics
// to the groups of the page.
func (s *Snapshot) groups(experimentID string, l *Groups, q GroupQuery, metrics []filter.Column, limit, offset int) error {
	named := q.Metrics
	for _, c := range metrics {
		if !slices.Contains(named, c.Name) {
			named = append(named[:len(named):len(named)], c.Name)
		}
	}
	j, err := s.joins([]string{experimentID}, named)
	if err != nil {
		return err
	}
	where := j.conditions(Query{Filter: q.Filter})
	hit, keys, order := []string{}, []string{}, []string{}
	for i, r := range q.By {
		value, key := `grouped_tag.value`, `g`+strconv.Itoa(i)
		if r.Field.Mixed() {
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
	sorted, first := j.groupOrder(q.By, q.Sort)
	hit = append(hit, sorted.of...)
	names, err := s.known([]string{experimentID}, j.keys)
	if err != nil {
		return err
	}
	group := strings.Join(keys, `, `)
	var statement SQL
	j.hits(&statement, strings.Join(hit, `, `), names)
	if slices.ContainsFunc(q.By, func(r filter.Ref) bool { return r.Field == filter.Tag }) {
		statement.Add(` LEFT JOIN tag AS grouped_tag ON grouped_tag.iteration_num = iteration.num`)
	}
	statement.Add(` WHERE iteration.experiment_id = ? AND `+q.Where, experimentID)
	statement.Add(where.String()+`), `, where.Args...)
	from := `hit`
	if len(means) > 0 {
		statement.Add(`deviation AS MATERIALIZED (SELECT *, ` + strings.Join(means, `, `) +
			` FROM hit WINDOW grouped AS (PARTITION BY ` + group + `)), `)
		from = `deviation`
	}
	statement.Add(`result AS MATERIALIZED (SELECT ` + strings.Join(slices.Concat(keys, []string{`count(*) AS iterations`,
		`row_number() OVER (ORDER BY ` + strings.Join(order, `, `) + `) - 1 AS rank`}, spreads, sums, sorted.over), `, `) +
		` FROM ` + from + ` GROUP BY ` + group + `)`)
	statement.Add(` SELECT `+strings.Join(slices.Concat([]string{`(SELECT count(*) FROM result)`, `iterations`, `rank`}, keys, read), `, `)+
		` FROM result ORDER BY `+strings.Join(append(first, `rank`), `, `)+` LIMIT ? OFFSET ?`, max(limit, 1), offset)
	return l.read(s.Tx.Tx, &statement, len(q.By), metrics, limit)
}

// read runs a statement and reads its rows into l.
func (l *Groups) read(tx *sqlite.Tx, statement *SQL, keys int, metrics []filter.Column, limit int) error {
	rows, err := statement.rows(tx)
	if err != nil {
		return err
	}
	defer rows.Close()
	for at := 0; rows.Next(); at++ {
		g := Group{Values: make([]*string, keys), Metrics: map[string]points.Spread{}}
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
		if at >= limit {
			break
		}
		if at == len(l.Page) {
			l.Page = append(l.Page, g)
		}
		for i, f := range found {
			if f.n > 0 {
				l.Page[at].Metrics[metrics[i].Label] = points.NewSpread(f.n, f.mean, f.sum)
			}
		}
	}
	return rows.Err()
}

// finite returns the SQL expression of a number, with NULL in place of an infinity.
func finite(value string) string {
	return `iif(abs(` + value + `) <= 1.7976931348623157e308, ` + value + `, NULL)`
}

// textOrder returns the ORDER BY terms for a text column. Numbers come first, sorted by value.
// Other strings follow, and NULL comes last.
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

// sortColumns holds the SQL expressions to sort groups by. The field of holds the expressions for
// one iteration, and the field over holds their aggregates over a group.
type sortColumns struct{ of, over []string }

// groupOrder returns the columns and the ORDER BY terms that sort groups. The caller sorts
// equal groups by their values.
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
		switch f := k.Field; {
		case f == filter.Metric:
			over(finite(j.value(k.Ref)), `avg`, k.Descending)
		case f.Type() == filter.NumberType:
			over(j.value(k.Ref), `avg`, k.Descending)
		case f.Type() == filter.TimeType:
			over(j.value(k.Ref), newest, k.Descending)
		case f.Mixed(), f == filter.Tag, f == filter.Name:
			for i, r := range by {
				if k.Field == filter.Name || r.Field == k.Field && r.Name == k.Name {
					order = append(order, textOrder(`g`+strconv.Itoa(i), k.Descending)...)
				}
			}
		}
	}
	return c, order
}

// within writes the condition that an iteration is in the group with the given values.
func (j *joins) within(q *SQL, by []filter.Ref, values []*string) {
	for i, r := range by {
		switch {
		case r.Field.Mixed():
			q.Add(` AND substr(`+j.value(r)+`, 1, `+groupedCharacters+`) IS ?`, values[i])
		case values[i] == nil:
			q.Add(` AND NOT EXISTS (SELECT 1 FROM tag WHERE tag.iteration_num = iteration.num)`)
		default:
			q.Add(` AND EXISTS (SELECT 1 FROM tag WHERE tag.iteration_num = iteration.num AND tag.value = ?)`, *values[i])
		}
	}
}
