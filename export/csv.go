package export

import (
	"context"
	"encoding/csv"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"tracker/store"
	"tracker/store/transfer"
)

// writeCSV writes five tables. Each row names its run by id.
func writeCSV(ctx context.Context, e *store.Extract, path string, r *transfer.Result) error {
	tables := []struct {
		name   string
		header []string
		rows   func(t *csv.Writer, v *store.View, run run) error
	}{
		{"runs.csv", []string{"run_id", "project", "experiment", "name", "status", "created", "ended", "parent_run_id", "error", "notes",
			"git_sha", "command", "hostname"}, runRow},
		{"parameters.csv", []string{"run_id", "key", "value"}, func(t *csv.Writer, _ *store.View, run run) error {
			for _, p := range run.Parameters {
				if err := t.Write([]string{run.ID, p.Key, p.Value}); err != nil {
					return err
				}
			}
			return nil
		}},
		{"tags.csv", []string{"run_id", "tag", "property", "value"}, func(t *csv.Writer, _ *store.View, run run) error {
			for _, tag := range run.Tags {
				if err := t.Write([]string{run.ID, tag, "", ""}); err != nil {
					return err
				}
			}
			for _, p := range run.Properties {
				if err := t.Write([]string{run.ID, "", p.Key, p.Value}); err != nil {
					return err
				}
			}
			return nil
		}},
		{"points.csv", []string{"run_id", "metric", "step", "value", "time"}, func(t *csv.Writer, v *store.View, run run) error {
			return v.EachMetric(run.ID, func(key string, step store.Step, value store.Value, at store.Time) error {
				r.Points++
				return t.Write([]string{run.ID, key, strconv.FormatInt(int64(step), 10), number(value), moment(at)})
			})
		}},
		{"artifacts.csv", []string{"run_id", "artifact_id", "name", "content_type", "size", "sha256", "created"},
			func(t *csv.Writer, _ *store.View, run run) error {
				for _, a := range run.artifacts {
					err := t.Write([]string{run.ID, a.ID, a.Name, a.ContentType, strconv.FormatInt(a.SizeBytes, 10), a.ContentHash, moment(a.CreatedDate)})
					if err != nil {
						return err
					}
				}
				return nil
			}},
	}
	for _, table := range tables {
		err := create(filepath.Join(path, table.name), func(w io.Writer) error {
			t := csv.NewWriter(w)
			if err := t.Write(table.header); err != nil {
				return err
			}
			err := eachRun(ctx, e, func(v *store.View, run run) error { return table.rows(t, v, run) })
			t.Flush()
			if err == nil {
				err = t.Error()
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	r.Found = int(e.Counts["iteration"])
	if n := e.Counts["resource"]; n > 0 {
		r.Lose("artifacts.csv", "The bytes of artifacts (%d) are not in tables; an archive has them.", n)
	}
	if n := e.Counts["model"]; n > 0 {
		r.Lose(r.Path, "The models of the registry (%d) are not in tables; an archive has them.", n)
	}
	return nil
}

func runRow(t *csv.Writer, _ *store.View, run run) error {
	parent, ended := "", ""
	if run.ParentIterationID != nil {
		parent = *run.ParentIterationID
	}
	if run.EndDate != nil {
		ended = moment(*run.EndDate)
	}
	var code store.NewSnapshot
	if run.Snapshot != nil {
		code = run.Snapshot.NewSnapshot
	}
	return t.Write([]string{run.ID, run.project.Name, run.experiment.Name, run.Name, string(run.Status), moment(run.CreatedDate), ended,
		parent, run.ErrorMessage, run.Notes, code.GitSHA, code.Command, code.Hostname})
}

// number returns a value with all of its digits, and NaN, inf and -inf as pandas
// reads them.
func number(v store.Value) string {
	switch text := strconv.FormatFloat(float64(v), 'g', -1, 64); text {
	case "+Inf":
		return "inf"
	case "-Inf":
		return "-inf"
	default:
		return text
	}
}

// moment returns a time as text, in UTC with milliseconds.
func moment(at store.Time) string {
	return time.UnixMilli(int64(at)).UTC().Format("2006-01-02T15:04:05.000Z")
}
