package store

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"tracker/store/filter"
	"tracker/store/points"
	"tracker/store/sqlite"
)

// query is an SQL text with the values bound to it, in their order. A value is
// never part of the text.
type query struct {
	strings.Builder
	args []any
}

func (q *query) add(sql string, args ...any) {
	q.WriteString(sql)
	q.args = append(q.args, args...)
}

// joins numbers the parameters and metrics that a search joins to its iterations.
// The row of parameter 0 is p0. What an iteration has of metric 0 is in table late
// or, where nothing is late, in the row v0 (table search_value) or, without a copy
// there, s0 (table series).
type joins struct {
	keys       []filter.Key
	late       late
	seen       bool                    // the times of table late are used
	once       bool                    // table hit is read once
	columns    map[filter.Field]string // the SQL of the fields of another kind of record; nil for iterations
	lostBefore Time                    // a RUNNING iteration that was last seen earlier is lost
}

// maxCopied is the number of keys for whose metrics copies are joined: SQLite joins
// 64 tables, and these are two for each key, one for each further key, iteration,
// late and tag.
const maxCopied = 30

// joins returns the joins of a search of these experiments that names these metrics.
func (tx *tx) joins(experimentIDs, metrics []string) (joins, error) {
	l, err := tx.late(experimentIDs, metrics)
	return joins{late: l, lostBefore: tx.now - Time(LostAfter.Milliseconds())}, err
}

// within writes the condition for the iterations of one experiment or several.
func within(q *query, experimentIDs []string) {
	if len(experimentIDs) == 1 {
		q.add(` WHERE iteration.experiment_id = ?`, experimentIDs[0])
		return
	}
	list := make([]any, len(experimentIDs))
	for i, id := range experimentIDs {
		list[i] = id
	}
	q.add(` WHERE iteration.experiment_id IN (`+marks(`?`, len(list))+`)`, list...)
}

func (j *joins) number(k filter.Key) int {
	i := slices.Index(j.keys, k)
	if i < 0 {
		i = len(j.keys)
		j.keys = append(j.keys, k)
	}
	return i
}

// hits writes the start of a query, up to the condition: the table hit with these
// columns of the iterations. A key that no iteration of the experiment has is bound
// as NULL, for which SQLite reads nothing.
func (j *joins) hits(q *query, columns string, known map[filter.Key]known) {
	q.add(`WITH `)
	late := j.late.table(q, j.seen)
	kept := `MATERIALIZED`
	if j.once {
		kept = `NOT MATERIALIZED`
	}
	// Without the hint SQLite takes the index by name, and with it the rows of
	// all other tables out of their order.
	q.add(`hit AS ` + kept + ` (SELECT ` + columns + ` FROM iteration INDEXED BY iteration_by_experiment`)
	if late {
		q.add(` LEFT JOIN late ON late.num = iteration.num`)
	}
	for n, k := range j.keys {
		i := strconv.Itoa(n)
		var name, copies any
		if known, ok := known[k]; ok {
			name = k.Name
			if known.SearchKey != nil {
				copies = *known.SearchKey << searchKeyShift
			}
		}
		if table := textTables[k.Field]; table != "" {
			q.add(` LEFT JOIN `+table+` AS p`+i+
				` ON p`+i+`.iteration_num = iteration.num AND p`+i+`.key = ?`, name)
			continue
		}
		if n >= maxCopied {
			q.add(` LEFT JOIN series AS s`+i+` ON s`+i+`.iteration_num = iteration.num AND s`+i+`.key = ?`, name)
			continue
		}
		q.add(` LEFT JOIN search_value AS v`+i+` ON v`+i+`.id = ? + iteration.num`+
			` LEFT JOIN series AS s`+i+` ON s`+i+`.iteration_num = iif(v`+i+`.id IS NULL, iteration.num, NULL)`+
			` AND s`+i+`.key = ?`, copies, name)
	}
}

// value returns the SQL of a field: NULL where an iteration does not have it, and
// for NaN. Of the tags it is the first one.
func (j *joins) value(r filter.Ref) string {
	if j.columns != nil && r.Field != filter.Property {
		return j.columns[r.Field]
	}
	switch r.Field {
	case filter.Param, filter.Property:
		return `p` + strconv.Itoa(j.number(r.Key)) + `.value`
	case filter.Metric:
		return j.metric(r)
	case filter.Tag:
		return `(SELECT min(tag.value) FROM tag WHERE tag.iteration_num = iteration.num)`
	case filter.CompactID:
		return `replace(iteration.id, '-', '')`
	case filter.Parent:
		return `(SELECT replace(parent.id, '-', '') FROM iteration AS parent WHERE parent.num = iteration.parent_num)`
	case filter.Notes:
		return `nullif(iteration.notes, '')`
	case filter.Entrypoint:
		return snapshotText(`entrypoint`)
	case filter.GitSHA:
		return snapshotText(`git_sha`)
	case filter.GitRemote:
		return snapshotText(`git_remote`)
	case filter.Name:
		return `iteration.name`
	case filter.Status:
		return `iteration.status`
	case filter.Created:
		return `iteration.created_date`
	case filter.Ended:
		return `iteration.end_date`
	case filter.LastSeen:
		return j.lastSeen()
	case filter.Duration:
		return `((coalesce(iteration.end_date, ` + j.lastSeen() + `) - iteration.created_date) / 1000.0)`
	}
	return `iteration.id`
}

// textTables has the table of each field whose values are texts by key.
var textTables = map[filter.Field]string{filter.Param: "parameter", filter.Property: "property"}

// snapshotText returns the SQL of a column of an iteration's snapshot, NULL where it
// is empty.
func snapshotText(column string) string {
	return `(SELECT nullif(snapshot.` + column + `, '') FROM snapshot WHERE snapshot.iteration_num = iteration.num)`
}

// metric returns the SQL of a statistic of a metric.
func (j *joins) metric(r filter.Ref) string {
	n := j.number(r.Key)
	i := strconv.Itoa(n)
	value := `s` + i + `.` + r.Stat
	if r.Stat == "mean" {
		value = strings.ReplaceAll(points.MeanSQL, `series.`, `s`+i+`.`)
	}
	if n < maxCopied {
		copied := `v` + i + `.` + r.Stat
		if r.Stat == "count" {
			copied = `nullif(` + copied + `, 0)`
		}
		value = `coalesce(` + copied + `, ` + value + `)` // one of the two rows is not there
	}
	if late, ok := j.late.metrics[r.Name]; ok {
		value = `iif(` + j.late.column(late, "count") + ` IS NULL, ` + value + `, ` + j.late.column(late, r.Stat) + `)`
	}
	return value
}

// isThere returns the SQL for an iteration having a metric. A last value that is
// NULL is a NaN then.
func (j *joins) isThere(k filter.Key) string {
	return `coalesce(` + j.metric(filter.Ref{Key: k, Stat: "count"}) + `, 0) > 0`
}

// lastSeen returns the SQL of when an iteration was last seen.
func (j *joins) lastSeen() string {
	if len(j.late.seen) == 0 {
		return `iteration.last_seen`
	}
	j.seen = true
	return `max(iteration.last_seen, coalesce(late.seen, 0))`
}

// isNumber returns the SQL for a text being a number as a whole. SQLite compares
// a text with a number as numbers when all of the text is one (spaces around it do
// not matter); every other text is greater than any number.
func isNumber(value string) string { return value + ` <= CAST(9e999 AS REAL)` }

// where writes e as a condition that is true or false, never NULL, so that NOT
// turns it around.
func (j *joins) where(q *query, e filter.Expr) {
	switch e := e.(type) {
	case filter.Junction:
		op := ` AND `
		if e.Or {
			op = ` OR `
		}
		j.parts(q, op, e.Parts)
	case filter.Negation:
		q.add(`NOT (`)
		j.where(q, e.Part)
		q.add(`)`)
	case filter.Comparison:
		j.compare(q, e)
	}
}

// parts writes a junction as a balanced tree, because SQLite limits the depth of
// an expression.
func (j *joins) parts(q *query, op string, parts []filter.Expr) {
	if len(parts) == 1 {
		j.where(q, parts[0])
		return
	}
	half := len(parts) / 2
	q.add(`(`)
	j.parts(q, op, parts[:half])
	q.add(op)
	j.parts(q, op, parts[half:])
	q.add(`)`)
}

func (j *joins) compare(q *query, c filter.Comparison) {
	switch c.Ref.Field {
	case filter.AnyText:
		j.anyText(q, c.Values[0].Text)
		return
	case filter.Tag:
		compareEach(q, c, `tag`, `tag.value`, `tag.iteration_num = iteration.num`)
		return
	case filter.DatasetName, filter.DatasetDigest, filter.DatasetContext:
		compareEach(q, c, `iteration_dataset JOIN dataset ON dataset.id = iteration_dataset.dataset_id`,
			datasetColumns[c.Ref.Field], `iteration_dataset.iteration_num = iteration.num`)
		return
	}
	value := j.value(c.Ref)
	q.add(`(`)
	switch c.Op {
	case "=", "in":
		j.oneOf(q, c.Ref, c.Values)
	case "!=":
		q.add(value + ` IS NOT NULL AND NOT (`)
		j.oneOf(q, c.Ref, c.Values)
		q.add(`)`)
	case "contains":
		q.add(contains(value), c.Values[0].Text)
	case "like", "ilike":
		q.add(like(value, c.Op), c.Values[0].Text)
	case "exists":
		if c.Ref.Field == filter.Metric {
			value = j.isThere(c.Ref.Key)
		} else {
			value += ` IS NOT NULL`
		}
		q.add(value)
	default:
		j.less(q, c.Ref, c.Op, c.Values[0])
	}
	q.add(`) IS TRUE`)
}

// anyText writes that one of the texts of an iteration has a word in it.
func (j *joins) anyText(q *query, word string) {
	q.add(`(`+contains(`iteration.name`)+` OR `+contains(`iteration.notes`)+
		` OR EXISTS (SELECT 1 FROM tag WHERE tag.iteration_num = iteration.num AND `+contains(`tag.value`)+`)`+
		` OR EXISTS (SELECT 1 FROM parameter WHERE parameter.iteration_num = iteration.num AND `+contains(`parameter.value`)+`))`,
		word, word, word, word)
}

// oneOf writes that the value of r is one of values.
func (j *joins) oneOf(q *query, r filter.Ref, values []filter.Literal) {
	value := j.value(r)
	var numbers, others []any
	var nan, lost bool
	for _, v := range values {
		switch {
		case r.Field == filter.Status && v.Text == filter.Lost:
			lost = true
		case r.Field == filter.Param && v.IsNumber:
			numbers = append(numbers, v.Text)
		case math.IsNaN(v.Number):
			nan = true
		default:
			others = append(others, bound(r.Field, v))
		}
	}
	q.add(value+` IN (`+marks(`?`, len(others))+`)`, others...)
	if lost {
		q.add(` OR iteration.status = 'RUNNING' AND `+j.lastSeen()+` < ?`, int64(j.lostBefore))
	}
	if len(numbers) > 0 {
		// SQLite reads both sides, so that the same digits are equal.
		q.add(` OR `+isNumber(value)+` AND CAST(`+value+` AS NUMERIC) IN (`+
			marks(`CAST(? AS NUMERIC)`, len(numbers))+`)`, numbers...)
	}
	if nan && r.Stat == "last" { // the other statistics leave NaN out
		q.add(` OR ` + value + ` IS NULL AND ` + j.isThere(r.Key))
	}
}

// less writes that the value of r is less or greater than v, as op says.
func (j *joins) less(q *query, r filter.Ref, op string, v filter.Literal) {
	value := j.value(r)
	if r.Field == filter.Param && v.IsNumber {
		q.add(`iif(`+isNumber(value)+`, CAST(`+value+` AS NUMERIC) `+op+` CAST(? AS NUMERIC), `+
			value+` `+op+` ?)`, v.Text, v.Text)
		return
	}
	q.add(value+` `+op+` ?`, bound(r.Field, v))
}

// bound returns the form in which v is bound in a comparison with f.
func bound(f filter.Field, v filter.Literal) any {
	switch f {
	case filter.Metric, filter.Duration:
		return v.Number
	case filter.Created, filter.Ended, filter.LastSeen, filter.Updated:
		return int64(v.Time)
	}
	return v.Text
}

func marks(mark string, n int) string {
	return strings.TrimPrefix(strings.Repeat(`, `+mark, n), `, `)
}

// datasetColumns has the column of each field of the datasets of an iteration.
var datasetColumns = map[filter.Field]string{
	filter.DatasetName:    "dataset.name",
	filter.DatasetDigest:  "dataset.digest",
	filter.DatasetContext: "iteration_dataset.context",
}

// compareEach writes a comparison with a field of which an iteration can have
// several values, in a column of another table: one of them must fit, and for !=
// none may be equal.
func compareEach(q *query, c filter.Comparison, table, column, joined string) {
	if c.Op == "!=" {
		q.add(`NOT `)
	}
	q.add(`EXISTS (SELECT 1 FROM ` + table + ` WHERE ` + joined + ` AND `)
	switch c.Op {
	case "contains":
		q.add(contains(column), c.Values[0].Text)
	case "like", "ilike":
		q.add(like(column, c.Op), c.Values[0].Text)
	case "exists":
		q.add(column + ` IS NOT NULL`)
	default:
		var values []any
		for _, v := range c.Values {
			values = append(values, v.Text)
		}
		q.add(column+` IN (`+marks(`?`, len(values))+`)`, values...)
	}
	q.add(`)`)
}

// textContains is the SQL function that calls filter.Contains.
const textContains = `text_contains`

// The SQL functions that call filter.Like, which minds case or not.
const (
	textLike  = `text_like`
	textILike = `text_ilike`
)

func init() {
	sqlite.RegisterPredicate(textContains, filter.Contains)
	sqlite.RegisterPredicate(textLike, func(text, pattern string) bool { return filter.Like(text, pattern, false) })
	sqlite.RegisterPredicate(textILike, func(text, pattern string) bool { return filter.Like(text, pattern, true) })
}

// like returns the SQL for column being like the bound pattern.
func like(column, op string) string {
	if op == "ilike" {
		return textILike + `(` + column + `, ?)`
	}
	return textLike + `(` + column + `, ?)`
}

// contains returns the SQL for column having the bound text in it, in upper or
// lower case.
func contains(column string) string { return textContains + `(` + column + `, ?)` }

// order returns the expressions to select in order to sort by r, the most
// significant first, and the direction of each. Rows without the value come last
// in both directions, and before them the NaNs of a metric or the texts of a
// parameter.
func (j *joins) order(r filter.Ref, descending bool) (expressions, directions []string) {
	value, direction := j.value(r), ` ASC NULLS LAST`
	if descending {
		direction = ` DESC NULLS LAST`
	}
	switch {
	case r.Field == filter.Param && r.Stat == filter.AsText, r.Field == filter.Property:
		return []string{`substr(` + value + `, 1, ` + sortedCharacters + `)`}, []string{direction}
	case r.Field == filter.Param:
		return []string{
			`CASE WHEN ` + isNumber(value) + ` THEN 0 WHEN ` + value + ` IS NOT NULL THEN 1 ELSE 2 END`,
			`iif(` + isNumber(value) + `, CAST(` + value + ` AS NUMERIC), substr(` + value + `, 1, ` + sortedCharacters + `))`,
		}, []string{``, direction}
	case r.Field == filter.CompactID: // dashes at the same places do not change the order
		return []string{j.value(filter.Ref{Key: filter.Key{Field: filter.ID}})}, []string{direction}
	case r.Field == filter.Metric && r.Stat == "last":
		return []string{value, j.isThere(r.Key)}, []string{direction, ` DESC`}
	}
	return []string{value}, []string{direction}
}

// sortedCharacters bounds how much of the text of a parameter is held for sorting.
const sortedCharacters = `1000`
