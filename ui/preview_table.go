package ui

import (
	"bufio"
	"encoding/csv"
	"errors"
	"io"

	"github.com/dustin/go-humanize"

	"tracker/store"
)

// What a page shows of a table.
const (
	tableRows    = 200
	tableColumns = 60
	cellLetters  = 200
)

// fillTable reads the first rows of CSV or TSV, and counts the others.
func (v *preview) fillTable(data io.Reader, r store.Resource) error {
	in := csv.NewReader(bufio.NewReaderSize(io.LimitReader(data, tableBytes), 64<<10))
	in.FieldsPerRecord, in.LazyQuotes, in.ReuseRecord = -1, true, true
	if mediaOf(r) == "text/tab-separated-values" {
		in.Comma = '\t'
	}
	rows, wide := -1, false
	for ; ; rows++ {
		record, err := in.Read()
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
		v.Note = "The first " + humanize.Comma(int64(len(v.Rows))) + " rows of " + size(r.SizeBytes)
	}
	if wide {
		v.Note += ", the first " + humanize.Comma(tableColumns) + " columns"
	}
	return nil
}

// addRow keeps a record: the first has the names of the columns.
func (v *preview) addRow(record []string) {
	row := make([]string, len(record))
	for i, cell := range record {
		row[i] = clip(readable(cell), cellLetters)
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
