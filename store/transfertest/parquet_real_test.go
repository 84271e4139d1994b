//go:build reallibs

package transfertest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracker/store/transfer"
	"tracker/store/transfer/neptune"
	"tracker/store/transfer/parquet"
	"tracker/store/transfer/table"
	"tracker/store/transfertest"
)

// TestRealParquet checks the values read from files that pyarrow wrote in all encodings.
func TestRealParquet(t *testing.T) {
	dir := t.TempDir()
	var want [][]any
	if err := json.Unmarshal(transfertest.Python(t, "parquet_make.py", dir), &want); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
	if err != nil || len(files) != 7 {
		t.Fatalf("%v, %q", err, files)
	}
	for _, path := range files {
		if err := sameRows(path, want); err != nil {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}

	db, file := transfertest.Open(t)
	r := transfertest.Import(t, db, table.Kind(), filepath.Join(dir, "history"), transfer.Options{})
	if got, want := pointsOf(t, file), "abc123: loss 0 0.5 1700000000500, loss 2 NaN 1700000002500, loss 3 -Inf 1700000003500, "+
		"val/acc 1 0.25 1700000001500, val/acc 3 0.5 1700000003500"; got != want || r.Lost != 1 {
		t.Errorf("W&B: got  %s\nwant %s\n%+v", got, want, r.Losses)
	}
}

// pointsOf returns all points of a database.
func pointsOf(t *testing.T, file string) string {
	t.Helper()
	run, all := "", []string{}
	for line := range strings.Lines(transfertest.Dump(t, file, "point")) {
		f := strings.Split(strings.TrimSpace(line), "|")
		run, all = f[1], append(all, strings.Join(f[2:], " "))
	}
	return run + ": " + strings.Join(all, ", ")
}

func sameRows(path string, want [][]any) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	f, err := parquet.Open(in, info.Size())
	if err != nil {
		return err
	}
	var columns []int
	for i, c := range f.Columns {
		if c.Unreadable != "" {
			return fmt.Errorf("%s: %s", c.Name, c.Unreadable)
		}
		columns = append(columns, i)
	}
	rows := f.Rows(columns...)
	for n, row := range want {
		got, err := rows.Next()
		if err != nil {
			return fmt.Errorf("row %d: %w", n, err)
		}
		for i, v := range got {
			if !sameValue(v, row[i]) {
				return fmt.Errorf("row %d, %s: %v, want %v", n, f.Columns[i].Name, v, row[i])
			}
		}
	}
	if _, err := rows.Next(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("at the end: %w", err)
	}
	return nil
}

func sameValue(got parquet.Value, want any) bool {
	switch want := want.(type) {
	case nil:
		return got.Kind == parquet.Null || got.Kind == parquet.List && len(got.List) == 0
	case float64:
		return got.Kind == parquet.Int && float64(got.Int) == want || got.Kind == parquet.Float && got.Float == want
	case bool:
		return got.Kind == parquet.Bool && (got.Int == 1) == want
	case []any:
		if got.Kind != parquet.List || len(got.List) != len(want) {
			return false
		}
		for i, v := range got.List {
			if !sameValue(v, want[i]) {
				return false
			}
		}
		return true
	}
	return got.Kind != parquet.Null && got.String() == want
}

// TestRealNeptune imports a run that neptune-exporter wrote. A second import changes nothing.
func TestRealNeptune(t *testing.T) {
	dir := t.TempDir()
	transfertest.Python(t, "parquet_make.py", dir)
	// The folder also contains a run whose first part is missing. The run is listed as a loss.
	for path, lost := range map[string]int{"exports": 5, "exports/data": 5, "exports/data/team_project-1a2b/SAN-1_part_1.parquet": 4} {
		db, file := transfertest.Open(t)
		r := transfertest.Import(t, db, neptune.Kind(), filepath.Join(dir, filepath.FromSlash(path)), transfer.Options{})
		got := transfertest.Dump(t, file, "run", "param", "tag", "property", "point", "artifact")
		for _, part := range []string{
			"|Neptune|team/project|fast büild|", "|SUCCEEDED||a note|1700000000000|1700000060000|-\n",
			"param|fast büild|parameters/amp|true\n", "param|fast büild|parameters/layers|3\n", "param|fast büild|parameters/lr|0.1\n",
			"tag|fast büild|one\n", "tag|fast büild|two\n", "property|fast büild|sys/owner|ann\n",
			"point|fast büild|metrics/loss|0|0.5|1700000000000\n", "point|fast büild|metrics/loss|1|NaN|1700000001000\n",
			"point|fast büild|metrics/loss|2|+Inf|1700000002000\n",
			"|dataset/a.txt|", "|dataset/b.txt|", "|images/1|", "|model|", "|monitoring/stdout.txt|",
		} {
			if !strings.Contains(got, part) {
				t.Errorf("%s: there is no %q in\n%s", path, part, got)
			}
		}
		if strings.Contains(got, "passwd") || strings.Contains(got, "|outside|") || strings.Contains(got, "|passwords|") || r.Lost != lost || r.Found != 1 {
			t.Errorf("%s: %+v\n%s", path, r, got)
		}
		before := transfertest.Dump(t, file)
		if again := transfertest.Import(t, db, neptune.Kind(), filepath.Join(dir, "exports"), transfer.Options{}); again.Unchanged != 1 || transfertest.Dump(t, file) != before {
			t.Errorf("again: %+v", again)
		}
	}
}
