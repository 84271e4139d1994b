// Package datatable holds tables that runs have logged as columns in memory. It decodes them,
// searches, sorts and groups their rows, joins tables, and writes them as CSV and Parquet. Every
// table has a limited number of rows, columns and bytes. The content is not trusted.
package datatable

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"tracker/store/domain"
)

// These constants limit a table.
const (
	MaxRows    = 100_000
	MaxColumns = 200
	MaxBytes   = 48 << 20 // memory of the cells
	MaxFile    = 64 << 20 // bytes read of a file
	maxText    = 32 << 10 // bytes kept of the text of a cell
	maxName    = 200      // bytes kept of the name of a column, and of a caption
	maxPath    = 1 << 10  // bytes kept of the path of media
	maxCell    = 1 << 20  // bytes of a cell in a file
)

// Kind is the kind of a cell.
type Kind uint8

// The kinds of cells. Sorting puts cells of a smaller kind first.
const (
	Number Kind = iota
	Bool
	Text
	List  // JSON text of an array or an object
	Media // path of an image, sound or video
	Missing
)

// Cell is a cell of a table.
type Cell struct {
	Kind    Kind
	Text    string
	Number  float64 // value of a number; 1 for true
	Caption string  // caption of media
	From    string  // Part.From of the table that media belong to
}

// Column is a column of a table.
type Column struct {
	Name string

	kinds   []Kind
	numbers []float64 // nil if the column has neither numbers nor booleans
	text    strings.Builder
	ends    []uint32 // ends of the texts of the cells; nil if no cell has a text
	counts  [Missing + 1]int
}

// Kind returns the kind of the cells of the column that are not missing. For different kinds, it
// returns Text.
func (c *Column) Kind() Kind {
	kind := Missing
	for k, n := range c.counts[:Missing] {
		if n == 0 {
			continue
		}
		if kind != Missing {
			return Text
		}
		kind = Kind(k)
	}
	return kind
}

// Table is a table. It is not changed after it was built.
type Table struct {
	Columns []*Column
	Rows    int
	Cut     string      // sentence about omitted data, "" for none
	Pairs   map[int]int // columns that a comparison shows side by side

	size int64
}

// Size returns the approximate memory of the table in bytes.
func (t *Table) Size() int64 { return t.size }

// Column returns the index of the column with a name, or -1.
func (t *Table) Column(name string) int {
	for i, c := range t.Columns {
		if c.Name == name {
			return i
		}
	}
	return -1
}

// mediaMark separates path, caption and From in the text of a media cell.
const mediaMark = "\x00"

// Cell returns a cell.
func (t *Table) Cell(row, column int) Cell {
	c := t.Columns[column]
	cell := Cell{Kind: c.kinds[row], Text: c.textOf(row)}
	switch cell.Kind {
	case Number:
		if cell.Number = c.numbers[row]; cell.Text == "" {
			cell.Text = FormatNumber(cell.Number)
		}
	case Bool:
		if cell.Number, cell.Text = c.numbers[row], "false"; cell.Number == 1 {
			cell.Text = "true"
		}
	case Media:
		var rest string
		cell.Text, rest, _ = strings.Cut(cell.Text, mediaMark)
		cell.Caption, cell.From, _ = strings.Cut(rest, mediaMark)
	}
	return cell
}

func (c *Column) textOf(row int) string {
	if c.ends == nil {
		return ""
	}
	from := uint32(0)
	if row > 0 {
		from = c.ends[row-1]
	}
	return c.text.String()[from:c.ends[row]]
}

// FormatNumber returns a number as text without loss.
func FormatNumber(v float64) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	if size := math.Abs(v); size != 0 && (size < 1e-5 || size >= 1e16) {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// parseNumber parses a number as JSON and CSV files contain it.
func parseNumber(text string) (float64, bool) {
	switch text {
	case "NaN", "nan":
		return math.NaN(), true
	case "Infinity", "inf":
		return math.Inf(1), true
	case "-Infinity", "-inf":
		return math.Inf(-1), true
	}
	if len(text) == 0 || len(text) > 40 || strings.Trim(text, "0123456789+-.eE") != "" || strings.ContainsAny(text[:1], "eE") {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}

// builder adds rows to a table within the limits.
type builder struct {
	ctx   context.Context
	t     *Table
	asked int64 // bytes that were charged to the budget of ctx
	full  bool
	short bool // whether texts of cells were shortened
}

// budgetStep is the number of bytes that are charged to the memory budget at once.
const budgetStep = 256 << 10

func newBuilder(ctx context.Context) *builder { return &builder{ctx: ctx, t: &Table{}} }

// widen adds columns until the table has n columns, at most MaxColumns.
func (b *builder) widen(n int) {
	if n > MaxColumns {
		b.cut(fmt.Sprintf("Only the first %d columns are shown.", MaxColumns))
	}
	for len(b.t.Columns) < min(n, MaxColumns) {
		c := &Column{kinds: make([]Kind, b.t.Rows)}
		for i := range c.kinds {
			c.kinds[i] = Missing
		}
		c.counts[Missing] = b.t.Rows
		b.t.size += int64(b.t.Rows)
		b.t.Columns = append(b.t.Columns, c)
	}
}

// cut records that the table omits data.
func (b *builder) cut(sentence string) {
	if !strings.Contains(b.t.Cut, sentence) {
		b.t.Cut = strings.TrimSpace(b.t.Cut + " " + sentence)
	}
}

// add adds a row. The result more is false if the table is full.
func (b *builder) add(row []Cell) (more bool, err error) {
	if b.full {
		return false, nil
	}
	if b.t.Rows == MaxRows || b.t.size > MaxBytes {
		b.full = true
		b.cut("Only the first " + humanize.Comma(int64(b.t.Rows)) + " rows are shown.")
		return false, nil
	}
	b.widen(len(row))
	for i, c := range b.t.Columns {
		cell := Cell{Kind: Missing}
		if i < len(row) {
			cell = row[i]
		}
		b.t.size += c.add(cell, b.t.Rows, &b.short)
	}
	b.t.Rows++
	if b.t.size-b.asked < budgetStep {
		return true, nil
	}
	if err := b.ctx.Err(); err != nil {
		return false, err
	}
	step := b.t.size - b.asked
	b.asked = b.t.size
	return true, domain.Take(b.ctx, step)
}

// add appends a cell to a column with the given number of rows. It returns the number of bytes
// that the cell takes.
func (c *Column) add(cell Cell, rows int, short *bool) int64 {
	size := int64(1)
	c.kinds = append(c.kinds, cell.Kind)
	c.counts[cell.Kind]++
	text := cell.Text
	if cell.Kind == Number && text == FormatNumber(cell.Number) || cell.Kind == Bool || cell.Kind == Missing {
		text = ""
	}
	if cell.Kind == Media && cell.Caption+cell.From != "" {
		caption := strings.ReplaceAll(cell.Caption[:min(len(cell.Caption), maxName)], mediaMark, "")
		text = strings.ReplaceAll(text[:min(len(text), maxPath)], mediaMark, "") + mediaMark + strings.ToValidUTF8(caption, "") + mediaMark + cell.From
	}
	if cell.Kind == Number || cell.Kind == Bool {
		if c.numbers == nil {
			c.numbers = make([]float64, rows, max(16, 2*rows))
			size += 8 * int64(rows)
		}
	}
	if c.numbers != nil {
		c.numbers = append(c.numbers, cell.Number)
		size += 8
	}
	if text != "" && c.ends == nil {
		c.ends = make([]uint32, rows, max(16, 2*rows))
		size += 4 * int64(rows)
	}
	if c.ends != nil {
		if len(text) > maxText {
			*short = true
			text = strings.ToValidUTF8(text[:maxText], "")
		}
		c.text.WriteString(text)
		c.ends = append(c.ends, uint32(c.text.Len()))
		size += 4 + int64(len(text))
	}
	return size
}

// finish names the columns and returns the table.
func (b *builder) finish(names []string) *Table {
	b.widen(len(names))
	used := map[string]bool{}
	for i, c := range b.t.Columns {
		name := "column " + strconv.Itoa(i+1)
		if i < len(names) && names[i] != "" {
			name = names[i]
		}
		if len(name) > maxName {
			name = strings.ToValidUTF8(name[:maxName], "")
		}
		c.Name = name
		for n := 2; used[c.Name]; n++ {
			c.Name = fmt.Sprintf("%s (%d)", name, n)
		}
		used[c.Name] = true
	}
	if b.short {
		b.cut("Long texts are shortened to " + humanize.IBytes(maxText) + ".")
	}
	return b.t
}
