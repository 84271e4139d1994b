package store

const (
	// DefaultLimit is the page size when a caller names none.
	DefaultLimit = 50
	// MaxLimit is the largest page; a larger limit is taken as this.
	MaxLimit = 1000
)

// Page is a part of a listing: up to Limit records from Offset on.
type Page struct {
	Limit  int
	Offset int
}

// FirstPage is the page of those who name none.
var FirstPage = Page{Limit: DefaultLimit}

func (p Page) clamp() Page {
	return Page{Limit: max(0, min(p.Limit, MaxLimit)), Offset: max(0, p.Offset)}
}

// List is one page of a listing, and how many records there are in all.
type List[T any] struct {
	Data   []T `json:"data"`
	Total  int `json:"total"`
	Limit  int `json:"limit"`
	Offset int `json:"offset"`
}

// list counts what from selects, and scans the wanted page of it. Columns and
// order are put around from, which begins with FROM.
func list[T any](tx *tx, p Page, columns, from, order string, args ...any) (List[T], error) {
	p = p.clamp()
	l := List[T]{Data: []T{}, Limit: p.Limit, Offset: p.Offset}
	if err := tx.row(`SELECT count(*) `+from, args...).Scan(&l.Total); err != nil {
		return l, err
	}
	args = append(args[:len(args):len(args)], p.Limit, p.Offset)
	err := tx.all(&l.Data, `SELECT `+columns+` `+from+` ORDER BY `+order+` LIMIT ? OFFSET ?`, args...)
	return l, err
}

// contains is true in SQL when column has the bound text in it, in upper or
// lower case of ASCII letters.
func contains(column string) string {
	return `instr(lower(` + column + `), lower(?)) > 0`
}

// Created is the answer to a create.
type Created struct {
	ID string `json:"id"`
	// Existing tells that the record was there before, and nothing was written.
	Existing bool `json:"existing,omitzero"`
}
