package neptune

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"tracker/store/transfer"
	"tracker/store/transfer/parquet"
)

// exported returns the bytes of a part that contains one row.
func exported(t testing.TB, kind, path string, step int64) []byte {
	t.Helper()
	var out bytes.Buffer
	text := func(s string) parquet.Value { return parquet.Value{Kind: parquet.Text, Text: []byte(s)} }
	w, err := parquet.NewWriter(&out, parquet.Field{Name: "project_id", Kind: parquet.Text}, parquet.Field{Name: "run_id", Kind: parquet.Text},
		parquet.Field{Name: "attribute_path", Kind: parquet.Text}, parquet.Field{Name: "attribute_type", Kind: parquet.Text},
		parquet.Field{Name: "step", Kind: parquet.Int}, parquet.Field{Name: "timestamp", Kind: parquet.Time},
		parquet.Field{Name: "float_value", Kind: parquet.Float}, parquet.Field{Name: "string_value", Kind: parquet.Text},
		parquet.Field{Name: "file_value/path", Kind: parquet.Text})
	if err == nil {
		err = w.Write(text("p"), text("R-1"), text(path), text(kind), parquet.Value{Kind: parquet.Int, Int: step},
			parquet.Value{Kind: parquet.Time, Int: 1_700_000_000_000}, parquet.Value{Kind: parquet.Float, Float: 0.5}, text("x"), text("../../etc"))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// FuzzRun imports arbitrary files. The import must terminate. An unreadable file is a loss, not an
// error.
func FuzzRun(f *testing.F) {
	for _, kind := range []string{"float", "string", "float_series", "string_series", "file", "file_series", "string_set", "other"} {
		f.Add(exported(f, kind, "a/b", 1), uint32(0), byte(0))
	}
	f.Add(exported(f, "float_series", "", -1), uint32(100), byte(7))
	f.Fuzz(func(t *testing.T, text []byte, at uint32, change byte) {
		if len(text) > 0 {
			text = bytes.Clone(text)
			text[int(at)%len(text)] ^= change
		}
		path := filepath.Join(t.TempDir(), "R-1_part_0.parquet")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		src, err := find(path)
		if err != nil || len(src.runs) != 1 {
			t.Fatal(src, err)
		}
		im := transfer.New(transfer.Nowhere{}, transfer.Options{DryRun: true})
		if err := im.Run(t.Context(), src); err != nil {
			t.Fatalf("%v: %+v", err, im.Result)
		}
	})
}

// TestIncompleteRun checks that a run whose first part is missing is reported as a loss.
func TestIncompleteRun(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"R-1_part_0.parquet", "R-2_part_1.parquet"} {
		if err := os.WriteFile(filepath.Join(dir, name), exported(t, "float", "a/b", 1), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	src, err := find(dir)
	if err != nil {
		t.Fatal(err)
	}
	im := transfer.New(transfer.Nowhere{}, transfer.Options{DryRun: true})
	if err := im.Run(t.Context(), src); err != nil || im.Result.Found != 1 || im.Result.Lost != 2 || im.Result.Losses[0].Path != filepath.Join(dir, "R-2_part_1.parquet") {
		t.Errorf("%v, %+v", err, im.Result)
	}
}
