package domain

const (
	// DefaultLimit is the default page size.
	DefaultLimit = 50
	// MaxLimit is the maximum page size. A larger limit is reduced to it.
	MaxLimit = 1000
	// MaxPageBytes is the maximum size in bytes of the texts of a page. A page with
	// more than one record ends before the record that exceeds it; List.Limit is then
	// the number of records.
	MaxPageBytes = 2 << 20
)

// Page is a part of a listing: up to Limit records from Offset on.
type Page struct {
	Limit  int
	Offset int
}

// FirstPage is the default page.
var FirstPage = Page{Limit: DefaultLimit}

// Clamp returns the page with Limit from 0 to MaxLimit and Offset not below 0.
func (p Page) Clamp() Page {
	return Page{Limit: max(0, min(p.Limit, MaxLimit)), Offset: max(0, p.Offset)}
}

// List is one page of a listing, with the number of all records.
type List[T any] struct {
	Data   []T `json:"data"`
	Total  int `json:"total"`
	Limit  int `json:"limit"`
	Offset int `json:"offset"`
}

// sized is a record whose texts count for MaxPageBytes.
type sized interface {
	// TextBytes returns the length of the texts in bytes.
	TextBytes() int
}

// PageOf counts the rows of a query and scans one page of them. from is the query from the
// keyword FROM on, without ORDER BY. The time limit of searches applies.
func PageOf[T any](tx *Tx, p Page, columns, from, order string, args ...any) (List[T], error) {
	return WithinLimit(tx, SlowRead(tx, "offset"), func() (List[T], error) {
		return readPage[T](tx, p, columns, from, order, args)
	})
}

func readPage[T any](tx *Tx, p Page, columns, from, order string, args []any) (List[T], error) {
	p = p.Clamp()
	l := List[T]{Data: []T{}, Limit: p.Limit, Offset: p.Offset}
	if err := tx.Row(`SELECT count(*) `+from, args...).Scan(&l.Total); err != nil {
		return l, err
	}
	args = append(args[:len(args):len(args)], p.Limit, p.Offset)
	rows, err := tx.Rows(`SELECT `+columns+` `+from+` ORDER BY `+order+` LIMIT ? OFFSET ?`, args...)
	if err != nil {
		return l, err
	}
	defer rows.Close()
	size := 0
	for rows.Next() {
		var row T
		if err := rows.StructScan(&row); err != nil {
			return l, err
		}
		if r, ok := any(row).(sized); ok {
			size += r.TextBytes()
		}
		if size > MaxPageBytes && len(l.Data) > 0 {
			l.Limit = len(l.Data)
			break
		}
		l.Data = append(l.Data, row)
	}
	return l, rows.Err()
}

// Created is the result of a create.
type Created struct {
	ID string `json:"id"`
	// Existing is set if the record existed before and nothing was written.
	Existing bool `json:"existing,omitzero"`
}
