//go:build reallibs

package transfertest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"tracker/store/archive"
	"tracker/store/domain"
	"tracker/store/export"
	"tracker/store/transfer"
	"tracker/store/transfer/table"
	"tracker/store/transfertest"
)

// TestRealExport reads the exported runs, parameters and points with MLflow, pyarrow and
// TensorBoard.
func TestRealExport(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "logs", "run 1", "metrics.csv")
	write(t, source, []byte("step,loss,val/acc\n0,0.5,0.25\n1,NaN,0.5\n5,-inf,\n"))
	db, path := transfertest.Open(t)
	transfertest.Import(t, db, table.Kind(), filepath.Join(dir, "logs"), transfer.Options{Project: "p"})
	project, err := db.Projects.ProjectNamed(t.Context(), domain.System, "p")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range export.Formats() {
		if f.Name != "mlflow" && f.Name != "tensorboard" && f.Name != "parquet" {
			continue
		}
		out := filepath.Join(dir, f.Name)
		if err := os.Mkdir(out, 0o755); err != nil {
			t.Fatal(err)
		}
		err := db.Archive.Extract(t.Context(), domain.System, archive.Query{ProjectID: project}, func(e *archive.Extract) error {
			return f.Write(t.Context(), e, out, &transfer.Result{})
		})
		if err != nil {
			t.Fatal(err)
		}
		var got map[string][][]any
		if err := json.Unmarshal(transfertest.Python(t, "export_read.py", f.Name, out), &got); err != nil {
			t.Fatal(err)
		}
		if len(got["loss"]) != 3 || len(got["val/acc"]) != 2 || got["loss"][0][1] != 0.5 || got["loss"][1][1] != "nan" || got["loss"][2][1] != "-inf" ||
			got["loss"][2][0] != 5.0 {
			t.Errorf("%s: %v of\n%s", f.Name, got, transfertest.Dump(t, path, "point"))
		}
	}
}
