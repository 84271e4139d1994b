package search

import (
	"math"
	"strconv"
	"strings"

	"tracker/store/filter"
	"tracker/store/points"
	"tracker/store/scalar"
)

// value returns the SQL expression of a field. The expression is NULL if the iteration does not
// have the field, and for NaN. For tags, the value is the first tag in alphabetical order.
func (j *joins) value(r filter.Ref) string {
	if _, there := texts[r.Field]; j.columns != nil && !there {
		return j.columns[r.Field]
	}
	switch r.Field {
	case filter.Param, filter.Property, filter.Summary:
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
	case filter.CreatedBy:
		return `iteration.created_by`
	case filter.User:
		return `coalesce((SELECT property.value FROM property WHERE property.iteration_num = iteration.num AND property.key = '` +
			filter.UserProperty + `'), iteration.created_by)`
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

// texts holds, for each field whose values are stored by key, the table and the prefix of the keys.
var texts = map[filter.Field]struct{ table, prefix string }{
	filter.Param:    {"parameter", ""},
	filter.Property: {"property", ""},
	filter.Summary:  {"property", scalar.SummaryPrefix},
}

// snapshotText returns the SQL expression of a column of the iteration's row in the snapshot
// table. The expression is NULL if the column is empty.
func snapshotText(column string) string {
	return `(SELECT nullif(snapshot.` + column + `, '') FROM snapshot WHERE snapshot.iteration_num = iteration.num)`
}

// metric returns the SQL expression of a metric's statistic.
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
		value = `coalesce(` + copied + `, ` + value + `)` // at least one of the two joined rows is missing
	}
	if late, ok := j.late.metrics[r.Name]; ok {
		value = `iif(` + j.late.column(late, "count") + ` IS NULL, ` + value + `, ` + j.late.column(late, r.Stat) + `)`
	}
	return value
}

// isThere returns the SQL condition that is true if the iteration has the metric k. If the
// condition is true, a last value of NULL means NaN.
func (j *joins) isThere(k filter.Key) string {
	return `coalesce(` + j.metric(filter.Ref{Key: k, Stat: "count"}) + `, 0) > 0`
}

// lastSeen returns the SQL expression of an iteration's last_seen time.
func (j *joins) lastSeen() string {
	j.timed = true
	if len(j.late.seen) == 0 {
		return `iteration.last_seen`
	}
	j.seen = true
	return `max(iteration.last_seen, coalesce(late.seen, 0))`
}

// isNumber returns an SQL condition that is true if the string value is numeric, apart from
// surrounding spaces. SQLite compares such a string with a number by its numeric value, and
// treats any other string as greater than all numbers.
func isNumber(value string) string { return value + ` <= CAST(9e999 AS REAL)` }

// where writes e as an SQL condition. The condition is true or false and never NULL, so NOT
// inverts it.
func (j *joins) where(q *SQL, e filter.Expr) {
	switch e := e.(type) {
	case filter.Junction:
		op := ` AND `
		if e.Or {
			op = ` OR `
		}
		j.parts(q, op, e.Parts)
	case filter.Negation:
		q.Add(`NOT (`)
		j.where(q, e.Part)
		q.Add(`)`)
	case filter.Comparison:
		j.compare(q, e)
	}
}

// parts writes a junction as a balanced tree, because SQLite limits the depth of expressions.
func (j *joins) parts(q *SQL, op string, parts []filter.Expr) {
	if len(parts) == 1 {
		j.where(q, parts[0])
		return
	}
	half := len(parts) / 2
	q.Add(`(`)
	j.parts(q, op, parts[:half])
	q.Add(op)
	j.parts(q, op, parts[half:])
	q.Add(`)`)
}

func (j *joins) compare(q *SQL, c filter.Comparison) {
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
	q.Add(`(`)
	switch c.Op {
	case "=", "in":
		j.oneOf(q, c.Ref, c.Values)
	case "!=":
		q.Add(value + ` IS NOT NULL AND NOT (`)
		j.oneOf(q, c.Ref, c.Values)
		q.Add(`)`)
	case "contains":
		q.Add(Contains(value), c.Values[0].Text)
	case "like", "ilike":
		q.Add(like(value, c.Op), c.Values[0].Text)
	case "exists":
		if c.Ref.Field == filter.Metric {
			value = j.isThere(c.Ref.Key)
		} else {
			value += ` IS NOT NULL`
		}
		q.Add(value)
	default:
		j.less(q, c.Ref, c.Op, c.Values[0])
	}
	q.Add(`) IS TRUE`)
}

// anyText writes the condition that the name, the notes, a tag or a parameter value of an iteration
// contains word.
func (j *joins) anyText(q *SQL, word string) {
	q.Add(`(`+Contains(`iteration.name`)+` OR `+Contains(`iteration.notes`)+
		` OR EXISTS (SELECT 1 FROM tag WHERE tag.iteration_num = iteration.num AND `+Contains(`tag.value`)+`)`+
		` OR EXISTS (SELECT 1 FROM parameter WHERE parameter.iteration_num = iteration.num AND `+Contains(`parameter.value`)+`))`,
		word, word, word, word)
}

// oneOf writes the condition that the value of r equals one of values.
func (j *joins) oneOf(q *SQL, r filter.Ref, values []filter.Literal) {
	value := j.value(r)
	var numbers, others []any
	var nan, lost bool
	for _, v := range values {
		switch {
		case r.Field == filter.Status && v.Text == filter.Lost:
			lost = true
		case r.Field.Mixed() && v.IsNumber:
			numbers = append(numbers, v.Text)
		case math.IsNaN(v.Number):
			nan = true
		default:
			others = append(others, bound(r.Field, v))
		}
	}
	q.Add(value+` IN (`+marks(`?`, len(others))+`)`, others...)
	if lost {
		q.Add(` OR iteration.status = 'RUNNING' AND `+j.lastSeen()+` < ?`, int64(j.lostBefore))
	}
	if len(numbers) > 0 {
		// SQLite converts both sides in the same manner, so equal digits are equal numbers.
		q.Add(` OR `+isNumber(value)+` AND CAST(`+value+` AS NUMERIC) IN (`+
			marks(`CAST(? AS NUMERIC)`, len(numbers))+`)`, numbers...)
	}
	if nan && r.Stat == "last" { // statistics other than last ignore NaN
		q.Add(` OR ` + value + ` IS NULL AND ` + j.isThere(r.Key))
	}
}

// less writes the condition that the value of r and v are in the order op: <, <=, > or >=.
func (j *joins) less(q *SQL, r filter.Ref, op string, v filter.Literal) {
	value := j.value(r)
	if r.Field.Mixed() && v.IsNumber {
		q.Add(`iif(`+isNumber(value)+`, CAST(`+value+` AS NUMERIC) `+op+` CAST(? AS NUMERIC), `+
			value+` `+op+` ?)`, v.Text, v.Text)
		return
	}
	q.Add(value+` `+op+` ?`, bound(r.Field, v))
}

// bound returns v with the Go type that statements bind for field f.
func bound(f filter.Field, v filter.Literal) any {
	switch f.Type() {
	case filter.NumberType:
		return v.Number
	case filter.TimeType:
		return int64(v.Time)
	}
	return v.Text
}

func marks(mark string, n int) string {
	return strings.TrimPrefix(strings.Repeat(`, `+mark, n), `, `)
}

// datasetColumns holds the column name of each dataset field.
var datasetColumns = map[filter.Field]string{
	filter.DatasetName:    "dataset.name",
	filter.DatasetDigest:  "dataset.digest",
	filter.DatasetContext: "iteration_dataset.context",
}

// compareEach writes a comparison with a field that can have several values for an iteration. The
// values are in a column of another table. The comparison is true if one value matches. The
// operator != is an exception for tags: it is true if no tag is equal. For datasets, it is true
// if at least one dataset differs.
func compareEach(q *SQL, c filter.Comparison, table, column, joined string) {
	in := ` IN (`
	switch {
	case c.Op != "!=":
	case c.Ref.Field == filter.Tag:
		q.Add(`NOT `)
	default:
		in = ` NOT IN (`
	}
	q.Add(`EXISTS (SELECT 1 FROM ` + table + ` WHERE ` + joined + ` AND `)
	switch c.Op {
	case "contains":
		q.Add(Contains(column), c.Values[0].Text)
	case "like", "ilike":
		q.Add(like(column, c.Op), c.Values[0].Text)
	case "exists":
		q.Add(column + ` IS NOT NULL`)
	default:
		var values []any
		for _, v := range c.Values {
			values = append(values, v.Text)
		}
		q.Add(column+in+marks(`?`, len(values))+`)`, values...)
	}
	q.Add(`)`)
}

// term is an SQL expression to sort by. NULL values come last in both directions.
type term struct {
	expression string
	descending bool
}

// direction returns the SQL text that follows the name of t in ORDER BY.
func (t term) direction() string {
	if t.descending {
		return ` DESC NULLS LAST`
	}
	return ` ASC NULLS LAST`
}

// order returns the terms to sort by r, most significant first. Rows without a value come last.
// NaN values of a metric and non-numeric values of a parameter come directly before rows without
// a value.
func (j *joins) order(r filter.Ref, descending bool) []term {
	value := j.value(r)
	switch {
	case r.Field == filter.Param && r.Stat == filter.AsText, r.Field == filter.Property, r.Field == filter.User:
		return []term{{`substr(` + value + `, 1, ` + sortedCharacters + `)`, descending}}
	case r.Field.Mixed():
		return []term{
			{`CASE WHEN ` + isNumber(value) + ` THEN 0 WHEN ` + value + ` IS NOT NULL THEN 1 ELSE 2 END`, false},
			{`iif(` + isNumber(value) + `, CAST(` + value + ` AS NUMERIC), substr(` + value + `, 1, ` + sortedCharacters + `))`, descending},
		}
	case r.Field == filter.CompactID: // all ids have dashes at the same positions, so dashes do not affect the order
		return []term{{j.value(filter.Ref{Key: filter.Key{Field: filter.ID}}), descending}}
	case r.Field == filter.Metric && r.Stat == "last":
		return []term{{value, descending}, {j.isThere(r.Key), true}}
	}
	return []term{{value, descending}}
}

// sortedCharacters is the number of leading characters by which searches sort strings.
const sortedCharacters = `1000`
