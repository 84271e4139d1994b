package datatable

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Op is the condition of a filter.
type Op string

// The conditions of filters.
const (
	Contains Op = "contains" // ignores case
	Equals   Op = "equals"
	AtLeast  Op = "min"
	AtMost   Op = "max"
	IsEmpty  Op = "missing"
	HasValue Op = "present"
)

// Filter is a condition on the cells of a column. A filter with an unknown condition matches no
// rows.
type Filter struct {
	Column int
	Op     Op
	Value  string
}

// Query selects and sorts rows.
type Query struct {
	Search     string // part of any text, without case; "" for all rows
	Filters    []Filter
	Sort       int // index of a column, or -1
	Descending bool
}

// Select returns the rows that match q, in its order. Numbers are sorted by value and before
// texts. Missing cells and NaN are always last. Rows with equal cells keep their order.
func (t *Table) Select(q Query) []int32 {
	match := t.matcher(q)
	rows := []int32{}
	for row := range t.Rows {
		if match(row) {
			rows = append(rows, int32(row))
		}
	}
	if q.Sort < 0 || q.Sort >= len(t.Columns) {
		return rows
	}
	column := t.Columns[q.Sort]
	slices.SortStableFunc(rows, func(a, b int32) int { return column.compare(int(a), int(b), q.Descending) })
	return rows
}

// last reports whether a cell is sorted after all others.
func (c *Column) last(row int) bool {
	return c.kinds[row] == Missing || c.kinds[row] == Number && math.IsNaN(c.numbers[row])
}

func (c *Column) compare(a, b int, descending bool) int {
	switch lastA, lastB := c.last(a), c.last(b); {
	case lastA && lastB:
		return 0
	case lastA:
		return 1
	case lastB:
		return -1
	}
	order := cmp.Compare(c.kinds[a], c.kinds[b])
	if order == 0 {
		if c.kinds[a] <= Bool {
			order = cmp.Compare(c.numbers[a], c.numbers[b])
		} else {
			order = strings.Compare(c.textOf(a), c.textOf(b))
		}
	}
	if descending {
		return -order
	}
	return order
}

// matcher returns a function that reports whether a row matches q.
func (t *Table) matcher(q Query) func(row int) bool {
	search := strings.ToLower(q.Search)
	type condition func(row int) bool
	var all []condition
	for _, f := range q.Filters {
		if f.Column < 0 || f.Column >= len(t.Columns) {
			return func(int) bool { return false }
		}
		column, want := t.Columns[f.Column], strings.ToLower(f.Value)
		limit, isNumber := parseNumber(strings.TrimSpace(f.Value))
		number := func(row int) (float64, bool) {
			if column.kinds[row] > Bool {
				return 0, false
			}
			return column.numbers[row], true
		}
		all = append(all, map[Op]condition{
			Contains: func(row int) bool {
				return column.kinds[row] != Missing && foldContains(t.Cell(row, f.Column).Text, want)
			},
			Equals: func(row int) bool {
				if v, ok := number(row); ok && isNumber && column.kinds[row] == Number {
					return v == limit || v != v && limit != limit
				}
				return column.kinds[row] != Missing && t.Cell(row, f.Column).Text == f.Value
			},
			AtLeast:  func(row int) bool { v, ok := number(row); return ok && isNumber && v >= limit },
			AtMost:   func(row int) bool { v, ok := number(row); return ok && isNumber && v <= limit },
			IsEmpty:  func(row int) bool { return column.kinds[row] == Missing },
			HasValue: func(row int) bool { return column.kinds[row] != Missing },
		}[f.Op])
	}
	return func(row int) bool {
		for _, c := range all {
			if c == nil || !c(row) {
				return false
			}
		}
		if search == "" {
			return true
		}
		for i, c := range t.Columns {
			switch c.kinds[row] {
			case Text, List:
				if foldContains(c.textOf(row), search) {
					return true
				}
			case Media:
				if cell := t.Cell(row, i); foldContains(cell.Text, search) || foldContains(cell.Caption, search) {
					return true
				}
			}
		}
		return false
	}
}

// foldContains reports whether text contains part without regard to case. part is in lower case.
func foldContains(text, part string) bool {
	return strings.Contains(strings.ToLower(text), part)
}

// Value is a value of a column and the number of its cells.
type Value struct {
	Text  string
	Count int
}

// Summary describes the cells of a column.
type Summary struct {
	Kind           Kind
	Count, Missing int
	Numbers        int // number of finite numbers
	Min, Max, Mean float64
	Frequent       []Value // the most frequent values, at most maxFrequent
	Distinct       int     // number of different values, at most maxDistinct
}

// These constants limit a Summary and the groups of a table.
const (
	maxFrequent = 10
	maxDistinct = 10_000
	MaxGroups   = 10_000
)

// Summarize returns the summary of a column in the given rows.
func (t *Table) Summarize(rows []int32, column int) Summary {
	c := t.Columns[column]
	s := Summary{Kind: c.Kind(), Count: len(rows)}
	counts := map[string]int{}
	sum := 0.0
	for _, r := range rows {
		row := int(r)
		if c.kinds[row] == Missing {
			s.Missing++
			continue
		}
		if c.kinds[row] == Number {
			if v := c.numbers[row]; v-v == 0 {
				if s.Numbers == 0 {
					s.Min, s.Max = v, v
				}
				s.Numbers++
				sum += v
				s.Min, s.Max = min(s.Min, v), max(s.Max, v)
			}
		}
		text := t.Cell(row, column).Text
		if _, known := counts[text]; known || len(counts) < maxDistinct {
			counts[text]++
		}
	}
	if s.Numbers > 0 {
		s.Mean = sum / float64(s.Numbers)
	}
	s.Distinct = len(counts)
	for text, n := range counts {
		s.Frequent = append(s.Frequent, Value{text, n})
	}
	slices.SortFunc(s.Frequent, func(a, b Value) int { return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Text, b.Text)) })
	s.Frequent = s.Frequent[:min(len(s.Frequent), maxFrequent)]
	return s
}
