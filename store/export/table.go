package export

import (
	"context"
	"encoding/csv"
	"io"
	"path/filepath"
	"strconv"

	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/transfer"
	"tracker/store/transfer/parquet"
)

// table is one output table. Each row contains the id of its run.
type table struct {
	name    string
	columns []parquet.Field
	// rows calls add with each row of a run.
	rows func(v *View, run run, add func(...parquet.Value) error) error
}

func tables(r *transfer.Result) []table {
	id := column("run_id", parquet.Text)
	return []table{
		{"runs", []parquet.Field{id, column("project", parquet.Text), column("experiment", parquet.Text), column("name", parquet.Text),
			column("status", parquet.Text), column("created", parquet.Time), optional("ended", parquet.Time), optional("parent_run_id", parquet.Text),
			column("error", parquet.Text), column("notes", parquet.Text), column("git_sha", parquet.Text), column("command", parquet.Text),
			column("hostname", parquet.Text)}, runRow},
		{"parameters", []parquet.Field{id, column("key", parquet.Text), column("value", parquet.Text)}, parameterRows},
		{"tags", []parquet.Field{id, optional("tag", parquet.Text), optional("property", parquet.Text), optional("value", parquet.Text)}, tagRows},
		{"points", []parquet.Field{id, column("metric", parquet.Text), column("step", parquet.Int), column("value", parquet.Float),
			column("time", parquet.Time)}, pointRows(r)},
		{"artifacts", []parquet.Field{id, column("artifact_id", parquet.Text), column("name", parquet.Text), column("content_type", parquet.Text),
			column("size", parquet.Int), column("sha256", parquet.Text), column("created", parquet.Time)}, artifactRows},
	}
}

func column(name string, kind parquet.Kind) parquet.Field {
	return parquet.Field{Name: name, Kind: kind}
}

func optional(name string, kind parquet.Kind) parquet.Field {
	return parquet.Field{Name: name, Kind: kind, Optional: true}
}

func textCell(s string) parquet.Value { return parquet.Value{Kind: parquet.Text, Text: []byte(s)} }

func timeCell(at scalar.Time) parquet.Value { return parquet.Value{Kind: parquet.Time, Int: int64(at)} }

func intCell(n int64) parquet.Value { return parquet.Value{Kind: parquet.Int, Int: n} }

func runRow(_ *View, run run, add func(...parquet.Value) error) error {
	var parent, ended parquet.Value
	if run.ParentIterationID != nil {
		parent = textCell(*run.ParentIterationID)
	}
	if run.EndDate != nil {
		ended = timeCell(*run.EndDate)
	}
	var code runs.NewSnapshot
	if run.Snapshot != nil {
		code = run.Snapshot.NewSnapshot
	}
	return add(textCell(run.ID), textCell(run.project.Name), textCell(run.experiment.Name), textCell(run.Name), textCell(string(run.Status)),
		timeCell(run.CreatedDate), ended, parent, textCell(run.ErrorMessage), textCell(run.Notes), textCell(code.GitSHA), textCell(code.Command),
		textCell(code.Hostname))
}

func parameterRows(_ *View, run run, add func(...parquet.Value) error) error {
	for _, p := range run.Parameters {
		if err := add(textCell(run.ID), textCell(p.Key), textCell(p.Value)); err != nil {
			return err
		}
	}
	return nil
}

func tagRows(_ *View, run run, add func(...parquet.Value) error) error {
	for _, tag := range run.Tags {
		if err := add(textCell(run.ID), textCell(tag), parquet.Value{}, parquet.Value{}); err != nil {
			return err
		}
	}
	for _, p := range run.Properties {
		if err := add(textCell(run.ID), parquet.Value{}, textCell(p.Key), textCell(p.Value)); err != nil {
			return err
		}
	}
	return nil
}

// pointRows returns the function that writes the rows of the points table. The function counts
// the points in r.Points.
func pointRows(r *transfer.Result) func(*View, run, func(...parquet.Value) error) error {
	return func(v *View, run run, add func(...parquet.Value) error) error {
		id, metric, name := textCell(run.ID), "", parquet.Value{}
		return v.Runs.EachMetric(run.ID, func(key string, step scalar.Step, value scalar.Value, at scalar.Time) error {
			if r.Points++; key != metric || name.Kind == parquet.Null {
				metric, name = key, textCell(key)
			}
			return add(id, name, intCell(int64(step)), parquet.Value{Kind: parquet.Float, Float: float64(value)}, timeCell(at))
		})
	}
}

func artifactRows(_ *View, run run, add func(...parquet.Value) error) error {
	for _, a := range run.artifacts {
		err := add(textCell(run.ID), textCell(a.ID), textCell(a.Name), textCell(a.ContentType), intCell(a.SizeBytes), textCell(a.ContentHash), timeCell(a.CreatedDate))
		if err != nil {
			return err
		}
	}
	return nil
}

// rowWriter writes the rows of one table.
type rowWriter interface {
	Write(row ...parquet.Value) error
	Close() error
}

// writeTables writes each table to its own file in the folder path. format is the extension of
// the files.
func writeTables(ctx context.Context, e Source, path, format string, r *transfer.Result,
	begin func(io.Writer, ...parquet.Field) (rowWriter, error)) error {
	for _, t := range tables(r) {
		err := create(filepath.Join(path, t.name+"."+format), func(w io.Writer) error {
			out, err := begin(w, t.columns...)
			if err != nil {
				return err
			}
			err = eachRun(ctx, e, func(v *View, run run) error { return t.rows(v, run, out.Write) })
			if err != nil {
				return err
			}
			return out.Close()
		})
		if err != nil {
			return err
		}
	}
	r.Found = int(e.Count("iteration"))
	if n := e.Count("resource"); n > 0 {
		r.Lose("artifacts."+format, "The files of artifacts (%d) are not in the tables; export an archive to get them.", n)
	}
	if n := e.Count("model"); n > 0 {
		r.Lose(r.Path, "Registered models (%d) are not in the tables; export an archive to get them.", n)
	}
	return nil
}

// writeParquet writes each table to a Parquet file.
func writeParquet(ctx context.Context, e Source, path string, r *transfer.Result) error {
	return writeTables(ctx, e, path, "parquet", r, func(w io.Writer, columns ...parquet.Field) (rowWriter, error) {
		return parquet.NewWriter(w, columns...)
	})
}

// writeCSV writes each table to a CSV file.
func writeCSV(ctx context.Context, e Source, path string, r *transfer.Result) error {
	return writeTables(ctx, e, path, "csv", r, func(w io.Writer, columns ...parquet.Field) (rowWriter, error) {
		t := csvWriter{csv.NewWriter(w), make([]string, len(columns))}
		for i, c := range columns {
			t.cells[i] = c.Name
		}
		return t, t.out.Write(t.cells)
	})
}

type csvWriter struct {
	out   *csv.Writer
	cells []string
}

func (t csvWriter) Write(row ...parquet.Value) error {
	for i, v := range row {
		if t.cells[i] = v.String(); v.Kind == parquet.Float {
			t.cells[i] = number(scalar.Value(v.Float))
		}
	}
	return t.out.Write(t.cells)
}

func (t csvWriter) Close() error {
	t.out.Flush()
	return t.out.Error()
}

// number formats v with all its digits. It writes NaN, inf and -inf for non-finite values, as
// pandas expects.
func number(v scalar.Value) string {
	switch text := strconv.FormatFloat(float64(v), 'g', -1, 64); text {
	case "+Inf":
		return "inf"
	case "-Inf":
		return "-inf"
	default:
		return text
	}
}

// moment formats a time in UTC with milliseconds.
func moment(at scalar.Time) string { return timeCell(at).String() }
