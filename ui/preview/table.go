package preview

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"io"

	"github.com/dustin/go-humanize"

	"tracker/store/files"
	"tracker/store/json"
	"tracker/ui/plain"
)

// These constants limit the preview of a table.
const (
	tableRows    = 200
	tableColumns = 60
	cellLetters  = 200
	recordBytes  = 256 << 10 // maximum bytes of one row
)

// errLongRecord means that a table row is longer than recordBytes.
var errLongRecord = errors.New("a row is too long")

// recordReader limits the number of bytes read for one row. Without this limit, csv.Reader
// would read any number of cells into memory.
type recordReader struct {
	io.Reader
	left int
}

func (r *recordReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, errLongRecord
	}
	n, err := r.Reader.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err
}

// fillTable reads the first rows of a CSV or TSV file and counts the remaining rows.
func (v *Preview) fillTable(ctx context.Context, data io.ReadSeeker, r files.Artifact) error {
	limited := &recordReader{Reader: io.LimitReader(data, tableBytes)}
	in := csv.NewReader(bufio.NewReaderSize(limited, 64<<10))
	in.FieldsPerRecord, in.LazyQuotes, in.ReuseRecord = -1, true, true
	if MediaType(r) == "text/tab-separated-values" {
		in.Comma = '\t'
	}
	rows, wide := -1, false
	for ; ; rows++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		limited.left = recordBytes
		record, err := in.Read()
		if errors.Is(err, errLongRecord) {
			return v.endTable(data, rows+1, r.SizeBytes)
		}
		var broken *csv.ParseError
		if err == io.EOF || errors.As(err, &broken) && in.InputOffset() >= tableBytes {
			break
		}
		if err != nil && !errors.As(err, &broken) {
			return err
		}
		wide = wide || len(record) > tableColumns
		if rows < tableRows {
			v.addRow(record[:min(len(record), tableColumns)])
		}
	}
	v.Note = humanize.Comma(int64(len(v.Rows))) + " of " + humanize.Comma(int64(max(rows, 0))) + " rows"
	if r.SizeBytes > tableBytes {
		v.Note = "The first " + humanize.Comma(int64(len(v.Rows))) + " rows of " + plain.Size(r.SizeBytes)
	}
	if wide {
		v.Note += ", the first " + humanize.Comma(tableColumns) + " columns"
	}
	return nil
}

// tableEnd is the file name suffix of tables that the W&B client writes as JSON.
const tableEnd = ".table.json"

// tableFile is a table that the W&B client wrote as JSON.
type tableFile struct {
	Columns []json.Value   `json:"columns"`
	Data    [][]json.Value `json:"data"`
}

// parseTable parses a table of the W&B client. The result ok reports whether body is a table of
// the W&B client.
func parseTable(body []byte) (t tableFile, ok bool) {
	err := json.Unmarshal(body, &t)
	return t, err == nil && len(t.Columns) > 0 && t.Data != nil
}

// readTable shows a table of the W&B client. readTable returns false if body is not a table of
// the W&B client.
func (v *Preview) readTable(body []byte) bool {
	t, ok := parseTable(body)
	return ok && v.showTable(t)
}

// showTable shows the first rows of a table. It returns false if the table can't be shown.
func (v *Preview) showTable(in tableFile) bool {
	v.Kind, v.Columns, v.Rows = Table, nil, nil
	for i, row := range append([][]json.Value{in.Columns}, in.Data[:min(len(in.Data), tableRows)]...) {
		record := make([]string, min(len(row), tableColumns))
		for at := range record {
			record[at] = plainJSON(row[at])
		}
		if v.addRow(record); i == 0 && v.Columns == nil {
			return false
		}
	}
	v.Note = humanize.Comma(int64(len(v.Rows))) + " of " + humanize.Comma(int64(len(in.Data))) + " rows"
	if len(in.Columns) > tableColumns {
		v.Note += ", the first " + humanize.Comma(tableColumns) + " columns"
	}
	return true
}

// plainJSON returns a JSON value as the text of a table cell. Strings are not quoted.
func plainJSON(value json.Value) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// endTable ends the preview of a table before the given row, which is too long. If row is 0,
// the header is too long, and endTable shows the file as text.
func (v *Preview) endTable(data io.ReadSeeker, row int, size int64) error {
	if row > 0 {
		v.Note = "The first " + humanize.Comma(int64(len(v.Rows))) + " rows; row " + humanize.Comma(int64(row)) + " is longer than " + humanize.IBytes(recordBytes)
		return nil
	}
	if _, err := data.Seek(0, io.SeekStart); err != nil {
		return err
	}
	v.Note = "The first row is longer than " + humanize.IBytes(recordBytes) + ", so it is shown as text."
	return v.fillText(data, size)
}

// addRow adds a record to the table. The first record holds the column names.
func (v *Preview) addRow(record []string) {
	row := make([]string, len(record))
	for i, cell := range record {
		row[i] = plain.Line(plain.Readable(cell), cellLetters)
	}
	if v.Columns == nil {
		v.Columns = row
		return
	}
	for len(row) < len(v.Columns) {
		row = append(row, "")
	}
	v.Rows = append(v.Rows, row)
}
