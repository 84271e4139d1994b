//go:build reallibs

package transfertest_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tracker/store"
	"tracker/store/archive"
	"tracker/store/domain"
	"tracker/store/export"
	"tracker/store/transfer"
	"tracker/store/transfer/mlflow"
	"tracker/store/transfertest"
)

// TestRealMLflowRoundTrip exports an imported MLflow store. It checks that MLflow's client reads
// the same data and files from the export as from the original store, both directly and through
// MLflow's server.
func TestRealMLflowRoundTrip(t *testing.T) {
	dir := t.TempDir()
	transfertest.Python(t, "mlflow_make.py", dir, "db", "folder")
	for kind, uri := range map[string]string{"db": "sqlite:///" + filepath.Join(dir, "db", "mlflow.db"), "folder": "file://" + filepath.Join(dir, "folder", "mlruns")} {
		t.Run(kind, func(t *testing.T) {
			want := mlflowReads(t, "client", uri)
			db, _ := transfertest.Open(t)
			transfertest.Import(t, db, mlflow.Kind(), filepath.Join(dir, kind), transfer.Options{})
			out := filepath.Join(dir, "a folder of "+kind)
			r := exportMLflow(t, db, "MLflow", out)
			if r.Lost != 0 {
				t.Errorf("%+v", r.Losses)
			}
			for how, at := range map[string]string{"client": "file://" + strings.ReplaceAll(filepath.Join(out, "mlruns"), " ", "%20"), "server": filepath.Join(out, "mlruns")} {
				got := mlflowReads(t, how, at)
				for _, key := range slices.Sorted(maps.Keys(want)) {
					if got[key] != want[key] {
						t.Errorf("%s: %s is\n%s\nand was\n%s", how, key, got[key], want[key])
					}
				}
				if len(got) != len(want) {
					t.Errorf("%s: there are %d records, and were %d", how, len(got), len(want))
				}
			}

			// Importing the export results in the same data.
			back, path := transfertest.Open(t)
			if r := transfertest.Import(t, back, mlflow.Kind(), out, transfer.Options{}); r.Lost != 0 || r.Artifacts != 3 || r.Models != 3 {
				t.Errorf("%+v\n%s", r, transfertest.Dump(t, path))
			}
		})
	}
}

// exportMLflow exports a project to a new folder.
func exportMLflow(t *testing.T, db *store.DB, project, out string) *transfer.Result {
	t.Helper()
	id, err := db.Projects.ProjectNamed(t.Context(), domain.System, project)
	if err == nil {
		err = os.Mkdir(out, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := &transfer.Result{Path: out}
	for _, f := range export.Formats() {
		if f.Name != "mlflow" {
			continue
		}
		err := db.Archive.Extract(t.Context(), domain.System, archive.Query{ProjectID: id}, func(e *archive.Extract) error {
			return f.Write(t.Context(), e, out, r)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// mlflowReads returns the data that MLflow's client reads from a store, as JSON, by kind and id.
func mlflowReads(t *testing.T, how, at string) map[string]string {
	t.Helper()
	var all map[string]map[string]json.RawMessage
	text := strings.ReplaceAll(string(transfertest.Python(t, "mlflow_read.py", how, at)), "1.7976931348623157e+308", "inf") // MLflow returns infinity from a database in this form
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err)
	}
	records := map[string]string{}
	for kind, some := range all {
		for id, record := range some {
			records[kind+" "+id] = string(record)
		}
	}
	return records
}
