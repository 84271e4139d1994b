package datatable

import (
	"context"
	"encoding/csv"
	"io"

	"tracker/store/transfer/parquet"
	"tracker/ui/table"
)

// WriteCSV writes the given rows and columns as CSV. Texts that a spreadsheet would run as formulas
// are changed by table.Harmless.
func (t *Table) WriteCSV(ctx context.Context, w io.Writer, rows []int32, columns []int) error {
	out := csv.NewWriter(w)
	record := make([]string, len(columns))
	for i, c := range columns {
		record[i] = table.Harmless(t.Columns[c].Name)
	}
	err := out.Write(record)
	for _, row := range rows {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		for i, c := range columns {
			cell := t.Cell(int(row), c)
			if record[i] = cell.Text; cell.Kind > Bool {
				record[i] = table.Harmless(cell.Text)
			}
		}
		err = out.Write(record)
	}
	out.Flush()
	if err == nil {
		err = out.Error()
	}
	return err
}

// WriteParquet writes the given rows and columns as a Parquet file. A column that has only numbers
// or only booleans keeps its type; other columns are texts. Missing cells are null.
func (t *Table) WriteParquet(ctx context.Context, w io.Writer, rows []int32, columns []int) error {
	kinds := map[Kind]parquet.Kind{Number: parquet.Float, Bool: parquet.Bool}
	var fields []parquet.Field
	for _, c := range columns {
		kind, typed := kinds[t.Columns[c].Kind()]
		if !typed {
			kind = parquet.Text
		}
		fields = append(fields, parquet.Field{Name: t.Columns[c].Name, Kind: kind, Optional: true})
	}
	out, err := parquet.NewWriter(w, fields...)
	record := make([]parquet.Value, len(columns))
	for _, row := range rows {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		for i, c := range columns {
			cell := t.Cell(int(row), c)
			record[i] = parquet.Value{}
			switch {
			case cell.Kind == Missing:
			case fields[i].Kind == parquet.Float:
				record[i] = parquet.Value{Kind: parquet.Float, Float: cell.Number}
			case fields[i].Kind == parquet.Bool:
				record[i] = parquet.Value{Kind: parquet.Bool, Int: int64(cell.Number)}
			default:
				record[i] = parquet.Value{Kind: parquet.Text, Text: []byte(cell.Text)}
			}
		}
		err = out.Write(record...)
	}
	if err != nil {
		return err
	}
	return out.Close()
}
