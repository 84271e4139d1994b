package parquet

import (
	"errors"
	"fmt"
	"io"
)

// maxList is the maximum number of values in a list.
const maxList = 100_000

// Rows reads the rows of a file.
type Rows struct {
	file    *File
	columns []int
	group   int   // index of the next row group
	left    int64 // unread rows of the current row group
	cursors []*listCursor
	row     []Value
}

// listCursor reads the values of one column row by row.
type listCursor struct {
	*cursor
	ahead    Value // first value of the next row, if hasAhead is set
	hasAhead bool
}

// Rows returns a reader of the given columns for all rows of the file. If no columns are given,
// the reader returns no rows.
func (f *File) Rows(columns ...int) *Rows {
	return &Rows{file: f, columns: columns, row: make([]Value, len(columns))}
}

// Next returns the values of the next row. The values are valid until the next call of Next.
// After the last row, Next returns io.EOF. After any other error, no more rows can be read.
func (r *Rows) Next() ([]Value, error) {
	for r.left <= 0 {
		r.end()
		if r.group == len(r.file.groups) || len(r.columns) == 0 {
			return nil, io.EOF
		}
		for _, column := range r.columns {
			r.cursors = append(r.cursors, &listCursor{cursor: r.file.cursor(r.group, column)})
		}
		r.left = r.file.groups[r.group].rows
		r.group++
	}
	r.left--
	for i, c := range r.cursors {
		var err error
		if r.row[i], err = c.value(); err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("it has fewer values than rows")
			}
			r.end()
			r.group = len(r.file.groups)
			return nil, fmt.Errorf("the column %q: %w", c.column.Name, err)
		}
	}
	return r.row, nil
}

// end closes the cursors of the current row group.
func (r *Rows) end() {
	for _, c := range r.cursors {
		c.end()
	}
	r.cursors, r.left = nil, 0
}

// value returns the column's value in the next row. For a list column, the value has the kind
// List.
func (c *listCursor) value() (Value, error) {
	if !c.column.List {
		v, _, err := c.next()
		return v, err
	}
	v, hasValue := c.ahead, c.hasAhead
	c.hasAhead = false
	if !hasValue {
		var err error
		if v, _, err = c.next(); err != nil {
			return v, err
		}
	}
	list := Value{Kind: List}
	for {
		if v.Kind != Null {
			list.List = append(list.List, v)
		}
		if len(list.List) > maxList {
			return list, fmt.Errorf("a list has more than %d values", maxList)
		}
		next, rep, err := c.next()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		if rep == 0 {
			c.ahead, c.hasAhead = next, true
			return list, nil
		}
		v = next
	}
}
