package datatable

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"strings"

	"github.com/dustin/go-humanize"

	"tracker/store/json"
)

// ErrNotTable means that a file is not a table.
var ErrNotTable = errors.New("the file is not a table")

// errLong means that a cell or a row of a file is too long.
var errLong = errors.New("a cell is too long")

// stepReader limits the number of bytes that are read for one cell or row. Without this limit, a
// decoder would read a value of any size into memory. It also limits the whole file.
type stepReader struct {
	in    io.Reader
	left  int   // bytes until errLong
	total int64 // bytes until the end of the file is reported
	ended bool  // whether the file has more than total bytes
}

func (r *stepReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, errLong
	}
	if r.total <= 0 {
		r.ended = true
		return 0, io.ErrUnexpectedEOF
	}
	n, err := r.in.Read(p[:min(int64(len(p)), int64(r.left), r.total)])
	r.left -= n
	r.total -= int64(n)
	return n, err
}

// Parts describes a table that consists of other tables of the same W&B artifact.
type Parts struct {
	Folder string   // folder of the parts of a partitioned table
	Tables []string // paths of the two tables of a joined table
	Keys   [2]string
}

// Options specifies what a function reads of a table.
type Options struct {
	Rows   int    // maximum number of rows; 0 for MaxRows
	Folder string // folder of the images and other media of a CSV file, "" if it has none
}

func (o Options) full(rows int) bool { return o.Rows > 0 && rows >= o.Rows }

// DecodeJSON decodes a table in JSON: an object with the members columns and data, which W&B's
// client and MLflow write. For a partitioned or joined table of W&B, it returns the Parts. It
// returns ErrNotTable for other files. If the file is damaged after its first row or is too large,
// the table has the rows before, and the field Cut says so.
func DecodeJSON(ctx context.Context, in io.Reader, o Options) (*Table, *Parts, error) {
	limit := &stepReader{in: in, left: maxCell, total: MaxFile}
	d := json.NewDecoder(&bareReader{in: bufio.NewReaderSize(limit, 16<<10)}, json.AllowDuplicateNames(true), json.AllowInvalidUTF8(true))
	if d.PeekKind() != '{' {
		return nil, nil, ErrNotTable
	}
	b := newBuilder(ctx)
	var names []string
	var about struct {
		kind, folder, one, two string
		keys                   [2]string
	}
	hasData, stopped := false, false
	err := json.EachMember(d, func(name string) error {
		limit.left = maxCell
		switch kind := d.PeekKind(); {
		case name == "columns" && kind == '[' && names == nil:
			return json.EachElement(d, func() error {
				limit.left = maxCell
				value, err := d.ReadValue()
				if err == nil && len(names) < 10*MaxColumns {
					names = append(names, cellOf(value).Text)
				}
				return err
			})
		case name == "data" && kind == '[' && !hasData:
			hasData = true
			return json.EachElement(d, func() error {
				if d.PeekKind() != '[' {
					return ErrNotTable
				}
				if o.full(b.t.Rows) {
					stopped = true
					return io.EOF
				}
				var row []Cell
				err := json.EachElement(d, func() error {
					limit.left = maxCell
					value, err := d.ReadValue()
					if err == nil && len(row) <= MaxColumns {
						row = append(row, cellOf(value))
					}
					return err
				})
				if err != nil {
					return err
				}
				more, err := b.add(row)
				if err == nil && !more && names != nil {
					stopped = true
					return io.EOF
				}
				return err
			})
		case (name == "_type" || name == "parts_path" || name == "table1" || name == "table2") && kind == '"':
			value, err := d.ReadValue()
			text := cellOf(value).Text
			*map[string]*string{"_type": &about.kind, "parts_path": &about.folder, "table1": &about.one, "table2": &about.two}[name] = text
			return err
		case name == "join_key":
			value, err := d.ReadValue()
			var keys []string
			if json.Unmarshal(value, &keys) == nil && len(keys) == 2 {
				about.keys = [2]string{keys[0], keys[1]}
			} else {
				about.keys = [2]string{cellOf(value).Text, cellOf(value).Text}
			}
			return err
		}
		return skip(d, limit)
	})
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	switch {
	case about.kind == "partitioned-table" && err == nil:
		return nil, &Parts{Folder: about.folder}, nil
	case about.kind == "joined-table" && err == nil && about.one != "" && about.two != "":
		return nil, &Parts{Tables: []string{about.one, about.two}, Keys: about.keys}, nil
	}
	var syntax *json.SyntacticError
	damaged := errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF)
	switch {
	case stopped, err == nil:
	case errors.Is(err, errLong) && b.t.Rows > 0:
		b.cut("The table ends at a cell of more than " + humanize.IBytes(maxCell) + ".")
	case limit.ended && b.t.Rows > 0:
		b.cut("Only the first " + humanize.IBytes(MaxFile) + " of the file are shown.")
	case damaged && hasData && len(names) > 0 && b.t.Rows > 0:
		b.cut("The file is damaged after row " + humanize.Comma(int64(b.t.Rows)) + ".")
	case errors.Is(err, ErrNotTable), errors.Is(err, errLong), damaged:
		return nil, nil, ErrNotTable
	default:
		return nil, nil, err
	}
	if !hasData || len(names) == 0 && !stopped {
		return nil, nil, ErrNotTable
	}
	return b.finish(names), nil, nil
}

// skip skips a value of any size.
func skip(d *json.Decoder, limit *stepReader) error {
	for depth := 0; ; {
		limit.left = maxCell
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		switch token.Kind() {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// cellOf returns a JSON value as a cell.
func cellOf(value json.Value) Cell {
	switch value.Kind() {
	case 'n':
		return Cell{Kind: Missing}
	case 't':
		return Cell{Kind: Bool, Number: 1}
	case 'f':
		return Cell{Kind: Bool}
	case '"':
		var text string
		if json.Unmarshal(value, &text, json.AllowInvalidUTF8(true)) != nil {
			text = string(value)
		}
		if v, ok := parseNumber(text); ok && (v != v || v-v != 0) { // NaN and infinities; bareReader quotes them
			return Cell{Kind: Number, Number: v}
		}
		return Cell{Kind: Text, Text: text}
	case '0':
		text := string(value)
		if v, ok := parseNumber(text); ok {
			return Cell{Kind: Number, Number: v, Text: text}
		}
		return Cell{Kind: Text, Text: text}
	case '{':
		if media, ok := mediaOf(value); ok {
			return media
		}
	}
	return Cell{Kind: List, Text: string(value)}
}

// mediaOf returns the cell of an image, sound or other file, as W&B's client and MLflow write it.
func mediaOf(value json.Value) (Cell, bool) {
	var of struct {
		Kind    string `json:"_type"`
		Path    string `json:"path"`
		Caption string `json:"caption"`
		Type    string `json:"type"` // MLflow
		File    string `json:"filepath"`
	}
	if json.Unmarshal(value, &of, json.AllowDuplicateNames(true), json.AllowInvalidUTF8(true)) != nil {
		return Cell{}, false
	}
	switch {
	case len(of.Kind) > 5 && of.Kind[len(of.Kind)-5:] == "-file" && of.Path != "":
		return Cell{Kind: Media, Text: of.Path, Caption: of.Caption}, true
	case of.Type == "image" && of.File != "":
		return Cell{Kind: Media, Text: of.File}, true
	}
	return Cell{}, false
}

// DecodeCSV decodes a table in CSV, or another format with the delimiter comma. The first row has
// the names of the columns. Cells are numbers, booleans, or texts; empty cells are missing.
func DecodeCSV(ctx context.Context, in io.Reader, comma rune, o Options) (*Table, error) {
	limit := &stepReader{in: in, left: maxCell, total: MaxFile}
	r := csv.NewReader(bufio.NewReaderSize(limit, 64<<10))
	r.Comma, r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = comma, -1, true, true
	b := newBuilder(ctx)
	var names []string
	var row []Cell
	for at := 0; ; at++ {
		limit.left = maxCell
		record, err := r.Read()
		var broken *csv.ParseError
		switch {
		case errors.Is(err, errLong) && at > 0:
			b.cut("Row " + humanize.Comma(int64(at)) + " is longer than " + humanize.IBytes(maxCell) + ", so the table ends before it.")
		case errors.Is(err, errLong), err == io.EOF && at == 0:
			return nil, ErrNotTable
		case limit.ended:
			b.cut("Only the first " + humanize.IBytes(MaxFile) + " of the file are shown.")
		case err != nil && err != io.EOF && !errors.As(err, &broken):
			return nil, err
		}
		if at == 0 {
			names = append(names, record[:min(len(record), MaxColumns+1)]...)
			if err == nil {
				continue
			}
		}
		if err != nil && broken == nil || o.full(b.t.Rows) {
			return b.finish(names), ctx.Err()
		}
		row = row[:0]
		for _, text := range record[:min(len(record), MaxColumns+1)] {
			row = append(row, plainCell(text, o.Folder))
		}
		more, err := b.add(row)
		if err != nil {
			return nil, err
		}
		if !more {
			return b.finish(names), nil
		}
	}
}

// plainCell returns the cell of a text without a type. A path in the folder is the path of media.
func plainCell(text, folder string) Cell {
	switch text {
	case "":
		return Cell{Kind: Missing}
	case "true", "True", "TRUE":
		return Cell{Kind: Bool, Number: 1}
	case "false", "False", "FALSE":
		return Cell{Kind: Bool}
	}
	if v, ok := parseNumber(text); ok {
		return Cell{Kind: Number, Number: v, Text: text}
	}
	if folder != "" && strings.HasPrefix(text, folder) {
		return Cell{Kind: Media, Text: text}
	}
	return Cell{Kind: Text, Text: text}
}

// bareReader quotes NaN, Infinity and -Infinity, which Python writes but JSON does not allow.
type bareReader struct {
	in       *bufio.Reader
	inString bool
	escaped  bool
	pending  []byte
}

func (r *bareReader) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(r.pending) > 0 {
			k := copy(p[n:], r.pending)
			r.pending = r.pending[k:]
			n += k
			continue
		}
		if n > 0 && r.in.Buffered() == 0 {
			return n, nil
		}
		c, err := r.in.ReadByte()
		if err != nil {
			if n > 0 && err == io.EOF {
				return n, nil
			}
			return n, err
		}
		if r.inString {
			switch {
			case r.escaped:
				r.escaped = false
			case c == '\\':
				r.escaped = true
			case c == '"':
				r.inString = false
			}
			p[n] = c
			n++
			continue
		}
		if c == '"' {
			r.inString = true
		}
		if c != 'N' && c != 'I' && c != '-' {
			p[n] = c
			n++
			continue
		}
		rest := ""
		if c == 'N' {
			rest = "aN"
		} else if c == 'I' {
			rest = "nfinity"
		} else {
			rest = "Infinity"
		}
		if next, _ := r.in.Peek(len(rest)); string(next) == rest {
			_, _ = r.in.Discard(len(rest))
			r.pending = []byte(`"` + string(c) + rest + `"`)
			continue
		}
		p[n] = c
		n++
	}
	return n, nil
}
