package store

import (
	"math"
	"strconv"
	"strings"
	"unicode"
)

// query is an SQL text with the values bound to it, in their order. Values
// never become part of the text.
type query struct {
	strings.Builder
	args []any
}

func (q *query) add(sql string, args ...any) {
	q.WriteString(sql)
	q.args = append(q.args, args...)
}

// joins says under which number each parameter and metric of a search is
// joined to its iterations: the row of a parameter as p0, of a metric as v0
// (table search_value) or, where there is none, as s0 (table series).
type joins struct {
	names      []name
	lostBefore Time // what is RUNNING and was last heard of earlier is lost
}

func (tx *tx) joins() joins {
	return joins{lostBefore: tx.now - Time(LostAfter.Milliseconds())}
}

func (j *joins) number(n name) string {
	for i, other := range j.names {
		if other == n {
			return strconv.Itoa(i)
		}
	}
	j.names = append(j.names, n)
	return strconv.Itoa(len(j.names) - 1)
}

// from writes the joined tables. Names that are not among known are not looked
// up: SQLite knows without a look that nothing equals NULL.
func (j *joins) from(q *query, known map[name]known) {
	// Without the hint SQLite takes the index by name, and with it the rows of
	// all other tables out of their order.
	q.add(` FROM iteration INDEXED BY iteration_by_experiment`)
	for i, n := range j.names {
		i := strconv.Itoa(i)
		var key, copies any
		if k, ok := known[n]; ok {
			key = n.key
			if k.SearchKey != nil {
				copies = *k.SearchKey << searchKeyShift
			}
		}
		if n.field == paramField {
			q.add(` LEFT JOIN parameter AS p`+i+
				` ON p`+i+`.iteration_num = iteration.num AND p`+i+`.key = ?`, key)
			continue
		}
		q.add(` LEFT JOIN search_value AS v`+i+` ON v`+i+`.id = ? + iteration.num`+
			` LEFT JOIN series AS s`+i+` ON s`+i+`.iteration_num = iif(v`+i+`.id IS NULL, iteration.num, NULL)`+
			` AND s`+i+`.key = ?`, copies, key)
	}
}

// seriesMean is the mean of a series, NULL when no value is finite or their
// sum is beyond a double.
const seriesMean = `iif(abs(series.sum) <= 1.7976931348623157e308, series.sum / series.finite, NULL)`

// value is the SQL of what a ref stands for, NULL where an iteration does not
// have it; a NaN is NULL too. For a tag it is the first one.
func (j *joins) value(r ref) string {
	switch r.field {
	case paramField:
		return `p` + j.number(r.name) + `.value`
	case metricField:
		i := j.number(r.name)
		series, kept := `s`+i+`.`+r.stat, `v`+i+`.`+r.stat
		switch r.stat {
		case "mean":
			series = strings.ReplaceAll(seriesMean, `series.`, `s`+i+`.`)
		case "count":
			kept = `nullif(` + kept + `, 0)`
		}
		return `coalesce(` + kept + `, ` + series + `)` // one of the two rows is not there
	case tagField:
		return `(SELECT min(tag.value) FROM tag WHERE tag.iteration_num = iteration.num)`
	case nameField:
		return `iteration.name`
	case statusField:
		return `iteration.status`
	case createdField:
		return `iteration.created_date`
	case endedField:
		return `iteration.end_date`
	case lastSeenField:
		return `iteration.last_seen`
	case durationField:
		return `((coalesce(iteration.end_date, iteration.last_seen) - iteration.created_date) / 1000.0)`
	}
	return `iteration.id`
}

// isThere is the SQL for an iteration having a metric, whose last value is NaN
// when it is NULL all the same.
func (j *joins) isThere(n name) string {
	i := j.number(n)
	return `coalesce(v` + i + `.count, s` + i + `.count, 0) > 0`
}

// isNumber is the SQL for a text being wholly a number. SQLite compares a text
// with a number as numbers when all of the text is one (spaces around it do
// not matter), and else holds the text for the greater one.
func isNumber(value string) string { return value + ` <= CAST(9e999 AS REAL)` }

// where writes n as a condition that is true or false, never NULL, so that not
// turns it around.
func (j *joins) where(q *query, n node) {
	switch n := n.(type) {
	case junction:
		op := ` AND `
		if n.or {
			op = ` OR `
		}
		j.parts(q, op, n.parts)
	case negation:
		q.add(`NOT (`)
		j.where(q, n.part)
		q.add(`)`)
	case comparison:
		j.compare(q, n)
	}
}

// parts writes a junction as a tree that is balanced, because SQLite limits
// the depth of an expression.
func (j *joins) parts(q *query, op string, parts []node) {
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

func (j *joins) compare(q *query, c comparison) {
	if c.ref.field == tagField {
		compareTag(q, c)
		return
	}
	value := j.value(c.ref)
	q.add(`(`)
	switch c.op {
	case "=", "in":
		j.oneOf(q, c.ref, c.values)
	case "!=":
		q.add(value + ` IS NOT NULL AND NOT (`)
		j.oneOf(q, c.ref, c.values)
		q.add(`)`)
	case "contains":
		q.addContains(value, c.values[0].text)
	default:
		j.less(q, c.ref, c.op, c.values[0])
	}
	q.add(`) IS TRUE`)
}

// oneOf writes that the value of r is one of values.
func (j *joins) oneOf(q *query, r ref, values []operand) {
	value := j.value(r)
	var numbers, others []any
	var nan, silent bool
	for _, o := range values {
		switch {
		case r.field == statusField && o.text == lostStatus:
			silent = true
		case r.field == paramField && o.isNumber:
			numbers = append(numbers, o.text)
		case math.IsNaN(o.number):
			nan = true
		default:
			others = append(others, o.bound(r.field))
		}
	}
	q.add(value+` IN (`+marks(`?`, len(others))+`)`, others...)
	if silent {
		q.add(` OR iteration.status = 'RUNNING' AND iteration.last_seen < ?`, int64(j.lostBefore))
	}
	if len(numbers) > 0 {
		// Both sides are read by SQLite, so that the same digits are equal.
		q.add(` OR `+isNumber(value)+` AND CAST(`+value+` AS NUMERIC) IN (`+
			marks(`CAST(? AS NUMERIC)`, len(numbers))+`)`, numbers...)
	}
	if nan && r.stat == "last" { // the other statistics leave NaN out
		q.add(` OR ` + value + ` IS NULL AND ` + j.isThere(r.name))
	}
}

// less writes that the value of r is less or greater than o, as op says.
func (j *joins) less(q *query, r ref, op string, o operand) {
	value := j.value(r)
	if r.field == paramField && o.isNumber {
		q.add(`iif(`+isNumber(value)+`, CAST(`+value+` AS NUMERIC) `+op+` CAST(? AS NUMERIC), `+
			value+` `+op+` ?)`, o.text, o.text)
		return
	}
	q.add(value+` `+op+` ?`, o.bound(r.field))
}

// bound is what o is bound as in a comparison with f.
func (o operand) bound(f field) any {
	switch f {
	case metricField, durationField:
		return o.number
	case createdField, endedField, lastSeenField:
		return int64(o.time)
	}
	return o.text
}

func marks(mark string, n int) string {
	return strings.TrimPrefix(strings.Repeat(`, `+mark, n), `, `)
}

func compareTag(q *query, c comparison) {
	if c.op == "!=" {
		q.add(`NOT `)
	}
	q.add(`EXISTS (SELECT 1 FROM tag WHERE tag.iteration_num = iteration.num AND `)
	if c.op == "contains" {
		q.addContains(`tag.value`, c.values[0].text)
	} else {
		var values []any
		for _, o := range c.values {
			values = append(values, o.text)
		}
		q.add(`tag.value IN (`+marks(`?`, len(values))+`)`, values...)
	}
	q.add(`)`)
}

// addContains writes that value has s somewhere, in any case. SQLite's lower
// knows ASCII only; beyond it, a GLOB names the variants of each character.
func (q *query) addContains(value, s string) {
	if strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) {
		q.add(value+` GLOB ?`, glob(s))
	} else {
		q.add(contains(value), s)
	}
}

// glob returns a pattern for GLOB that finds s anywhere, in any case.
func glob(s string) string {
	var b strings.Builder
	b.WriteByte('*')
	for _, r := range s {
		variants := foldings(r)
		if len(variants) == 1 && !strings.ContainsRune(`*?[`, r) {
			b.WriteRune(r)
			continue
		}
		b.WriteByte('[')
		for _, v := range variants {
			b.WriteRune(v)
		}
		b.WriteByte(']')
	}
	b.WriteByte('*')
	return b.String()
}

// foldings are the characters that are r in another case, and r itself. An
// ASCII letter has ASCII ones only.
func foldings(r rune) []rune {
	all := []rune{r}
	for v := unicode.SimpleFold(r); v != r; v = unicode.SimpleFold(v) {
		if r > unicode.MaxASCII || v <= unicode.MaxASCII {
			all = append(all, v)
		}
	}
	return all
}

// order returns what to sort by for r, the weightiest first: the expressions to
// select and how each is ordered. Rows without the value come last in both
// directions, and before them a metric's NaN or a parameter's texts.
func (j *joins) order(r ref, descending bool) (expressions, directions []string) {
	value, direction := j.value(r), ` ASC NULLS LAST`
	if descending {
		direction = ` DESC NULLS LAST`
	}
	switch {
	case r.field == paramField:
		return []string{
			`CASE WHEN ` + isNumber(value) + ` THEN 0 WHEN ` + value + ` IS NOT NULL THEN 1 ELSE 2 END`,
			`iif(` + isNumber(value) + `, CAST(` + value + ` AS NUMERIC), substr(` + value + `, 1, ` + sortedCharacters + `))`,
		}, []string{``, direction}
	case r.field == metricField && r.stat == "last":
		return []string{value, j.isThere(r.name)}, []string{direction, ` DESC`}
	}
	return []string{value}, []string{direction}
}

// sortedCharacters bounds how much of a parameter's text is held for sorting.
const sortedCharacters = `1000`
