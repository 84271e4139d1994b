package domain

const (
	// DefaultLimit is the default page size.
	DefaultLimit = 50
	// MaxLimit is the maximum page size. Larger limits are reduced to MaxLimit.
	MaxLimit = 1000
	// MaxPageBytes is the maximum total size in bytes of the text fields on a page. A page ends
	// before the record that would exceed MaxPageBytes, but always contains the first record.
	// List.Limit of a shortened page is the number of records on it.
	MaxPageBytes = 2 << 20
)

// Page selects up to Limit records of a listing, after skipping Offset records.
type Page struct {
	Limit  int
	Offset int
}

// FirstPage selects the first DefaultLimit records.
var FirstPage = Page{Limit: DefaultLimit}

// Clamp returns p with Limit between 0 and MaxLimit, and Offset at least 0.
func (p Page) Clamp() Page {
	return Page{Limit: max(0, min(p.Limit, MaxLimit)), Offset: max(0, p.Offset)}
}

// List is one page of a listing. Total is the number of records in the whole listing.
type List[T any] struct {
	Data   []T `json:"data"`
	Total  int `json:"total"`
	Limit  int `json:"limit"`
	Offset int `json:"offset"`
}

// sized is a record whose text fields count towards MaxPageBytes.
type sized interface {
	// TextBytes returns the total length of the text fields in bytes.
	TextBytes() int
}

// PageOf counts the rows of a query and scans one page of them. from is the part of the query
// from FROM on, without an ORDER BY clause. The search time limit applies.
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

// Created is the result of a create method.
type Created struct {
	ID string `json:"id"`
	// Existing is set if the record already existed and nothing was written.
	Existing bool `json:"existing,omitzero"`
}
