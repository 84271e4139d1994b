package preview

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"io"

	"github.com/dustin/go-humanize"

	"tracker/store/files"
	"tracker/ui/datatable"
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

// readTable shows a table in JSON. It returns false if body is not a table.
func (v *Preview) readTable(ctx context.Context, body []byte) (bool, error) {
	t, of, err := datatable.DecodeJSON(ctx, bytes.NewReader(body), datatable.Options{})
	if errors.Is(err, datatable.ErrNotTable) || of != nil {
		return false, nil
	}
	return err == nil && v.showTable(t), err
}

// showTable shows the first rows of a table. It returns false if the table has no columns.
func (v *Preview) showTable(t *datatable.Table) bool {
	columns := min(len(t.Columns), tableColumns)
	if columns == 0 {
		return false
	}
	v.Kind, v.Columns, v.Rows = Table, nil, nil
	record := make([]string, columns)
	for i := range record {
		record[i] = t.Columns[i].Name
	}
	v.addRow(record)
	for row := range min(t.Rows, tableRows) {
		for i := range record {
			record[i] = t.Cell(row, i).Text
		}
		v.addRow(record)
	}
	v.Note = humanize.Comma(int64(len(v.Rows))) + " of " + humanize.Comma(int64(t.Rows)) + " rows"
	if len(t.Columns) > tableColumns {
		v.Note += ", the first " + humanize.Comma(tableColumns) + " columns"
	}
	return true
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
