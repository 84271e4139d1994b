package datatable

import (
	"math"

	"tracker/store/domain"
	"tracker/store/json"
)

// Page is a page of the rows of a table, in the format of the REST API. A cell is a number, a text,
// a boolean, a list, an object, or null. Media are an object with the members path and caption. A
// number that is not finite is an object with the member number.
type Page struct {
	Columns []string `json:"columns"`
	Data    [][]any  `json:"data"`
	Total   int      `json:"total"`
	Limit   int      `json:"limit"`
	Offset  int      `json:"offset"`
	Omitted string   `json:"omitted"` // sentence about omitted data, "" for none
}

// maxPage is the number of bytes of texts after which a page ends before its limit.
const maxPage = 8 << 20

// Page returns a page of the rows. It has at least one row if the table has a row at the offset.
func (t *Table) Page(p domain.Page) Page {
	out := Page{Columns: []string{}, Data: [][]any{}, Total: t.Rows, Limit: p.Limit, Offset: p.Offset, Omitted: t.Cut}
	for _, c := range t.Columns {
		out.Columns = append(out.Columns, c.Name)
	}
	size := 0
	for row := p.Offset; row < min(t.Rows, p.Offset+p.Limit) && size < maxPage; row++ {
		cells := make([]any, len(t.Columns))
		for i := range cells {
			c := t.Cell(row, i)
			cells[i] = c.value()
			size += len(c.Text)
		}
		out.Data = append(out.Data, cells)
	}
	return out
}

// value returns the cell as a value of Page.
func (c Cell) value() any {
	switch {
	case c.Kind == Missing:
		return nil
	case c.Kind == Number && (math.IsNaN(c.Number) || math.IsInf(c.Number, 0)):
		return map[string]string{"number": c.Text}
	case (c.Kind == Number || c.Kind == List) && json.Value(c.Text).IsValid():
		return json.Value(c.Text)
	case c.Kind == Number:
		return c.Number
	case c.Kind == Bool:
		return c.Number == 1
	case c.Kind == Media:
		return map[string]string{"path": c.Text, "caption": c.Caption}
	}
	return c.Text
}
