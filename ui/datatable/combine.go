package datatable

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/dustin/go-humanize"
)

// Group returns a table with a row for each value of a column in the given rows: the value, the
// number of rows, and the mean of each column that has only numbers. Values with more rows are
// first. Means ignore missing cells, NaN and infinities.
func (t *Table) Group(ctx context.Context, rows []int32, column int) (*Table, error) {
	type group struct {
		first  int
		count  int
		sums   []float64
		counts []int
	}
	var means []int
	names := []string{t.Columns[column].Name, "count"}
	for i, c := range t.Columns {
		if i != column && c.Kind() == Number && len(names) < MaxColumns {
			means, names = append(means, i), append(names, "mean of "+c.Name)
		}
	}
	type value struct {
		kind Kind
		text string
	}
	index := map[value]*group{}
	var all []*group
	left := 0
	for _, r := range rows {
		row := int(r)
		cell := t.Cell(row, column)
		key := value{cell.Kind, cell.Text}
		if cell.Kind == Number {
			key.text = FormatNumber(cell.Number)
		}
		g := index[key]
		if g == nil {
			if len(all) == MaxGroups {
				left++
				continue
			}
			g = &group{first: row, sums: make([]float64, len(means)), counts: make([]int, len(means))}
			index[key] = g
			all = append(all, g)
		}
		g.count++
		for i, of := range means {
			if c := t.Columns[of]; c.kinds[row] == Number {
				if v := c.numbers[row]; v-v == 0 {
					g.sums[i] += v
					g.counts[i]++
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *group) int { return cmp.Compare(b.count, a.count) })
	b := newBuilder(ctx)
	for _, g := range all {
		row := []Cell{t.Cell(g.first, column), {Kind: Number, Number: float64(g.count)}}
		for i := range means {
			if g.counts[i] == 0 {
				row = append(row, Cell{Kind: Missing})
				continue
			}
			row = append(row, Cell{Kind: Number, Number: g.sums[i] / float64(g.counts[i])})
		}
		if _, err := b.add(row); err != nil {
			return nil, err
		}
	}
	out := b.finish(names)
	if out.Cut = t.Cut; left > 0 {
		b.cut(fmt.Sprintf("Only the first %s values are shown; %s rows have other values.", humanize.Comma(MaxGroups), humanize.Comma(int64(left))))
	}
	return out, nil
}

// Part is a table of a run at a step.
type Part struct {
	Table *Table
	Run   string
	Step  *int64 // nil if the step is unknown
	From  string // identifies the source of media in the cells
}

// Concat returns the rows of all parts, with the columns run and step in front. Columns with the
// same name are one column.
func Concat(ctx context.Context, parts []Part) (*Table, error) {
	return stack(ctx, parts, 2)
}

// Append returns the rows of all parts, without the columns run and step.
func Append(ctx context.Context, parts []Part) (*Table, error) { return stack(ctx, parts, 0) }

// stack returns the rows of all parts. The first front columns are the run and the step.
func stack(ctx context.Context, parts []Part, front int) (*Table, error) {
	names, at := union(front, parts...)
	copy(names, []string{"run", "step"}[:front])
	b := newBuilder(ctx)
	for _, p := range parts {
		if p.Table.Cut != "" {
			b.cut(p.Table.Cut)
		}
		for r := range p.Table.Rows {
			row := make([]Cell, len(names))
			for i := range row {
				row[i].Kind = Missing
			}
			if front > 0 {
				row[0] = Cell{Kind: Text, Text: p.Run}
				if p.Step != nil {
					row[1] = Cell{Kind: Number, Number: float64(*p.Step), Text: strconv.FormatInt(*p.Step, 10)}
				}
			}
			for i, c := range p.Table.Columns {
				if to := at[c.Name]; to < len(row) {
					row[to] = p.Table.Cell(r, i)
					if row[to].Kind == Media && row[to].From == "" {
						row[to].From = p.From
					}
				}
			}
			if more, err := b.add(row); err != nil || !more {
				return b.finish(names), err
			}
		}
	}
	return b.finish(names), nil
}

func blank(n int) []Cell {
	row := make([]Cell, n)
	for i := range row {
		row[i].Kind = Missing
	}
	return row
}

// union returns the names of the columns of all parts after front empty names, and the index of
// each name. It returns at most MaxColumns names.
func union(front int, parts ...Part) (names []string, at map[string]int) {
	names, at = make([]string, front), map[string]int{}
	for _, p := range parts {
		for _, c := range p.Table.Columns {
			if _, known := at[c.Name]; !known {
				at[c.Name] = len(names)
				if len(names) < MaxColumns {
					names = append(names, c.Name)
				}
			}
		}
	}
	return names, at
}

// Join returns the full outer join of two tables on a column of each. If a value occurs several
// times, its n-th row in a is joined with its n-th row in b. For each other column, the result has
// a column of a and a column of b, which Pairs relates. The column differing has the number of
// columns in which the rows differ.
func Join(ctx context.Context, a, b *Table, keys [2]string, names [2]string) (*Table, error) {
	keyA, keyB := a.Column(keys[0]), b.Column(keys[1])
	if keyA < 0 || keyB < 0 {
		return nil, ErrNoColumn
	}
	type side struct{ a, b int } // columns; -1 if the table has no such column
	var sides []side
	heads := []string{keys[0], "differing"}
	pairs := map[int]int{}
	pair := func(s side, name string) {
		if len(heads)+2 > MaxColumns {
			return
		}
		sides = append(sides, s)
		pairs[len(heads)], pairs[len(heads)+1] = len(heads)+1, len(heads)
		heads = append(heads, name+" · "+names[0], name+" · "+names[1])
	}
	for i, c := range a.Columns {
		if i != keyA {
			s := side{i, b.Column(c.Name)}
			if s.b == keyB {
				s.b = -1
			}
			pair(s, c.Name)
		}
	}
	for i, c := range b.Columns {
		if other := a.Column(c.Name); i != keyB && (other < 0 || other == keyA) {
			pair(side{-1, i}, c.Name)
		}
	}
	waiting := map[string][]int32{}
	for row := range b.Rows {
		key := joinKey(b.Cell(row, keyB))
		waiting[key] = append(waiting[key], int32(row))
	}
	matched := make([]bool, b.Rows)
	out := newBuilder(ctx)
	out.t.Pairs = pairs
	for _, t := range []*Table{a, b} {
		if t.Cut != "" {
			out.cut(t.Cut)
		}
	}
	add := func(rowA, rowB int) (bool, error) {
		row := blank(len(heads))
		differing := 0
		for i, s := range sides {
			if s.a >= 0 && rowA >= 0 {
				row[2+2*i] = a.Cell(rowA, s.a)
			}
			if s.b >= 0 && rowB >= 0 {
				row[3+2*i] = b.Cell(rowB, s.b)
			}
			if !SameCell(row[2+2*i], row[3+2*i]) {
				differing++
			}
		}
		if row[0] = (Cell{Kind: Missing}); rowA >= 0 {
			row[0] = a.Cell(rowA, keyA)
		} else {
			row[0] = b.Cell(rowB, keyB)
		}
		row[1] = Cell{Kind: Number, Number: float64(differing)}
		return out.add(row)
	}
	for rowA := range a.Rows {
		key, rowB := joinKey(a.Cell(rowA, keyA)), -1
		if rows := waiting[key]; len(rows) > 0 {
			rowB = int(rows[0])
			matched[rowB] = true
			waiting[key] = rows[1:]
		}
		if more, err := add(rowA, rowB); err != nil || !more {
			return out.finish(heads), err
		}
	}
	for rowB, done := range matched {
		if done {
			continue
		}
		if more, err := add(-1, rowB); err != nil || !more {
			return out.finish(heads), err
		}
	}
	return out.finish(heads), nil
}

// ErrNoColumn means that a table has no column with the name by which it is to be joined.
var ErrNoColumn = fmt.Errorf("a table does not have the key column")

// SameCell reports whether two cells have the same value.
func SameCell(a, b Cell) bool {
	if a.Kind != b.Kind {
		return false
	}
	if a.Kind <= Bool {
		return a.Number == b.Number || a.Number != a.Number && b.Number != b.Number
	}
	return a.Kind == Missing || a.Text == b.Text
}

func joinKey(c Cell) string {
	if c.Kind == Number {
		return FormatNumber(c.Number)
	}
	return c.Text
}
