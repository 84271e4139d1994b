package transfertest_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/transfer"
	"tracker/store/transfer/mlflow"
	"tracker/store/transfertest"
)

// mlflowTables holds SQL statements that create MLflow's tables with the columns that imports read.
const mlflowTables = `
CREATE TABLE experiments (experiment_id INTEGER PRIMARY KEY, name, lifecycle_stage);
CREATE TABLE runs (run_uuid PRIMARY KEY, name, source_name, source_version, status, start_time, end_time, lifecycle_stage, artifact_uri, experiment_id);
CREATE TABLE metrics (key, value, timestamp, run_uuid, step, is_nan);
CREATE TABLE params (key, value, run_uuid);
CREATE TABLE tags (key, value, run_uuid);
CREATE INDEX index_metrics_run_uuid ON metrics (run_uuid);
INSERT INTO experiments VALUES (1, 'e', 'active');`

// mlflowDB creates a database with MLflow's tables, executes the statements, and keeps it open
// until the test ends.
func mlflowDB(t testing.TB, path string, statements ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	for _, s := range append([]string{mlflowTables}, statements...) {
		execute(t, db, s)
	}
	return db
}

func execute(t testing.TB, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func mlflowID(n int) string { return fmt.Sprintf("%032x", n) }

// TestMLflowLog checks that a database is read together with a WAL that a running server has not
// checkpointed. The import must not create or change any file next to the database.
func TestMLflowLog(t *testing.T) {
	dir := t.TempDir()
	source := mlflowDB(t, filepath.Join(dir, "mlflow.db"), `PRAGMA journal_mode = wal`, `PRAGMA wal_autocheckpoint = 0`)
	execute(t, source, `INSERT INTO runs VALUES ('`+mlflowID(1)+`', 'r', '', '', 'RUNNING', 1700000000000, NULL, 'active', '', 1)`)
	execute(t, source, `INSERT INTO metrics VALUES ('loss', 0.5, 1700000000000, '`+mlflowID(1)+`', 0, 0), ('loss', 0, 1700000000001, '`+mlflowID(1)+`', 1, 1)`)
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	db, path := transfertest.Open(t)
	r := transfertest.Import(t, db, mlflow.Kind(), dir, transfer.Options{})
	if r.Created != 1 || r.Points != 2 || points(t, path) != "series|r|loss|2|NaN|1|0.5|0.5" {
		t.Errorf("%+v, %s", r, points(t, path))
	}
	after, err := os.ReadDir(dir)
	if err != nil || len(after) != len(before) {
		t.Errorf("%v; there were %v, and are %v", err, before, after)
	}

	// The run continues and ends, and a second run starts.
	execute(t, source, `INSERT INTO metrics VALUES ('loss', 0.25, 1700000000002, '`+mlflowID(1)+`', 2, 0)`)
	execute(t, source, `INSERT INTO params VALUES ('lr', '0.1', '`+mlflowID(1)+`')`)
	execute(t, source, `UPDATE runs SET status = 'FINISHED', end_time = 1700000000003`)
	execute(t, source, `INSERT INTO runs VALUES ('`+mlflowID(2)+`', 's', '', '', 'FAILED', 1700000000000, 1700000000009, 'active', '', 1)`)
	r = transfertest.Import(t, db, mlflow.Kind(), dir, transfer.Options{})
	if r.Created != 1 || r.Grown != 1 || r.Points != 1 || r.Parameters != 1 {
		t.Errorf("%+v", r)
	}
	runs := transfertest.Dump(t, path, "run")
	if !strings.Contains(runs, "|r|00000000-0000-0000-0000-000000000001|SUCCEEDED|||1700000000000|1700000000003|-") {
		t.Error(runs)
	}
}

// TestMLflowOddRows imports rows with values of types that MLflow does not write. Each such value
// is imported as text or reported as a loss. The other rows are imported.
func TestMLflowOddRows(t *testing.T) {
	dir := t.TempDir()
	id := mlflowID(1)
	mlflowDB(t, filepath.Join(dir, "mlflow.db"),
		`INSERT INTO runs VALUES ('`+id+`', x'ff00', NULL, 7, 'ODD', 'never', x'00', 'active', '/etc', 9)`,
		`INSERT INTO runs VALUES (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`,
		`INSERT INTO metrics VALUES ('loss', 'text', 'text', '`+id+`', 'text', 'text'), (NULL, NULL, NULL, '`+id+`', NULL, NULL),
			('inf', 1.7976931348623157e308, 1, '`+id+`', 9223372036854775807, 0), ('late', 1, 999999999999999999, '`+id+`', 0, 0)`,
		`INSERT INTO params VALUES (x'00', zeroblob(3000000), '`+id+`')`)
	db, path := transfertest.Open(t)
	r := transfertest.Import(t, db, mlflow.Kind(), dir, transfer.Options{})
	if r.Created != 2 || r.Points != 1 || r.Parameters != 1 || r.Lost < 5 {
		t.Errorf("%+v\n%s", r, transfertest.Dump(t, path))
	}
	checked(t, db)
	if again := transfertest.Import(t, db, mlflow.Kind(), dir, transfer.Options{}); again.Points+again.Parameters+again.Created != 0 {
		t.Errorf("%+v", again)
	}
}

// TestMLflowLinks checks that links out of the artifacts are not followed.
func TestMLflowLinks(t *testing.T) {
	dir := t.TempDir()
	id := mlflowID(1)
	mlflowDB(t, filepath.Join(dir, "mlflow.db"),
		`INSERT INTO runs VALUES ('`+id+`', 'r', '', '', 'FINISHED', 1, 2, 'active', '/gone/mlruns/1/`+id+`/artifacts', 1)`)
	artifacts := filepath.Join(dir, "mlruns", "1", id, "artifacts")
	write(t, filepath.Join(artifacts, "a", "in.txt"), []byte("in"))
	write(t, filepath.Join(dir, "out.txt"), []byte("out"))
	err := errors.Join(os.Symlink(filepath.Join(dir, "out.txt"), filepath.Join(artifacts, "out.txt")),
		os.Symlink(dir, filepath.Join(artifacts, "all")), os.Symlink("a/in.txt", filepath.Join(artifacts, "same.txt")))
	if err != nil {
		t.Fatal(err)
	}
	db, path := transfertest.Open(t)
	r := transfertest.Import(t, db, mlflow.Kind(), dir, transfer.Options{})
	got := transfertest.Dump(t, path, "artifact")
	if r.Artifacts != 2 || r.Lost != 2 || !strings.Contains(got, "|a/in.txt|") || !strings.Contains(got, "|same.txt|") {
		t.Errorf("%+v\n%s", r, got)
	}
}

func TestMLflowStopped(t *testing.T) {
	dir := t.TempDir()
	var statements []string
	for n := range 3 {
		id := mlflowID(n + 1)
		statements = append(statements, `INSERT INTO runs VALUES ('`+id+`', 'r`+fmt.Sprint(n)+`', '', '', 'FINISHED', 1, 2, 'active', '/x/`+id+`/artifacts', 1)`,
			`INSERT INTO metrics WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 12000) SELECT 'm' || (i % 3), i * 0.5, i, '`+id+`', i / 3, 0 FROM n`)
		write(t, filepath.Join(dir, id, "artifacts", "a.txt"), []byte(id))
	}
	mlflowDB(t, filepath.Join(dir, "mlflow.db"), statements...)
	db, path := transfertest.Open(t)
	transfertest.Import(t, db, mlflow.Kind(), dir, transfer.Options{})
	want := transfertest.Dump(t, path)
	stopAnywhere(t, mlflow.Kind(), dir, want, 6)
}

// stopAnywhere interrupts an import before and after each of its writes. It checks that the
// database then contains want after a second import, and that the import has at least the given
// number of writes.
func stopAnywhere(t *testing.T, kind transfer.Kind, source, want string, least int) {
	t.Helper()
	for nth := 1; ; nth++ {
		stopped := false
		for _, after := range []bool{false, true} {
			db, path := transfertest.Open(t)
			_, err := transfertest.Run(t, transfertest.Stop(db.Imports.Sink(domain.System), nth, after), kind, source, transfer.Options{})
			if err != nil && !errors.Is(err, transfertest.ErrStopped) {
				t.Fatal(err)
			}
			stopped = stopped || err != nil
			transfertest.Import(t, db, kind, source, transfer.Options{})
			if got := transfertest.Dump(t, path); got != want {
				t.Errorf("stopped at write %d, after it %v: the database differs", nth, after)
			}
		}
		if !stopped {
			if nth <= least {
				t.Errorf("there were only %d writes", nth-1)
			}
			return
		}
	}
}

// TestNotMLflow checks that other databases are not mistaken for MLflow databases, and that views
// are not mistaken for tables.
func TestNotMLflow(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mlflow.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	execute(t, db, `CREATE TABLE runs (x); CREATE TABLE experiments (x); CREATE TABLE params (x); CREATE TABLE tags (x);
		CREATE VIEW metrics AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n`)
	if src, err := mlflow.Kind().Find(dir); src != nil || err != nil {
		t.Errorf("%v, %v", src, err)
	}
}

// TestMLflowDeletedModels checks that a logged model, a registered model and a version that were
// deleted in tracker are not imported again.
func TestMLflowDeletedModels(t *testing.T) {
	dir := t.TempDir()
	id := "m-" + mlflowID(7)
	for path, text := range map[string]string{
		"1/meta.yaml":                           "experiment_id: '1'\nname: e\n",
		"1/models/" + id + "/meta.yaml":         "model_id: " + id + "\nname: logged\nstatus: 2\ncreation_timestamp: 5\nartifact_location: /x/mlruns/1/models/" + id + "/artifacts\n",
		"1/models/" + id + "/artifacts/MLmodel": "flavors: {}\n",
		"1/" + mlflowID(1) + "/meta.yaml":       "run_id: '" + mlflowID(1) + "'\nrun_name: r\nstatus: 3\nstart_time: 5\n",
		"models/one/meta.yaml":                  "name: one\ncreation_timestamp: 5\n",
		"models/one/version-1/meta.yaml":        "version: 1\nsource: a\ncreation_timestamp: 5\n",
		"models/two/meta.yaml":                  "name: two\ncreation_timestamp: 5\n",
		"models/two/version-1/meta.yaml":        "version: 1\nsource: a\ncreation_timestamp: 5\n",
		"models/two/version-2/meta.yaml":        "version: 2\nsource: b\ncreation_timestamp: 5\n",
	} {
		write(t, filepath.Join(dir, "mlruns", filepath.FromSlash(path)), []byte(text))
	}
	db, path := transfertest.Open(t)
	if r := transfertest.Import(t, db, mlflow.Kind(), dir, transfer.Options{}); r.Models != 4 || r.Artifacts != 1 {
		t.Fatalf("%+v\n%s", r, transfertest.Dump(t, path))
	}
	project, err := db.Projects.ProjectNamed(t.Context(), domain.System, "MLflow")
	if err != nil {
		t.Fatal(err)
	}
	models, err := db.Models.Models(t.Context(), domain.System, project, registry.ModelQuery{Page: domain.Page{Limit: 10}})
	if err != nil || len(models.Data) != 2 {
		t.Fatal(models, err)
	}
	for _, m := range models.Data {
		versions, err := db.Models.ModelVersions(t.Context(), domain.System, m.ID, registry.ModelVersionQuery{Page: domain.Page{Limit: 10}})
		if err == nil {
			err = db.Models.DeleteModelVersion(t.Context(), domain.System, versions.Data[0].ID)
		}
		if err == nil && m.Name == "one" {
			err = db.Models.DeleteModel(t.Context(), domain.System, m.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Models.DeleteLoggedModel(t.Context(), domain.System, id); err != nil {
		t.Fatal(err)
	}
	before := transfertest.Dump(t, path)
	r := transfertest.Import(t, db, mlflow.Kind(), dir, transfer.Options{})
	if after := transfertest.Dump(t, path); r.Models != 0 || r.Artifacts != 0 || r.Lost != 3 || after != before {
		t.Errorf("%+v\n%s", r, after)
	}
}

// TestMLflowHugeValue checks that a value of 100 MB is not read. The import returns an error and
// changes nothing.
func TestMLflowHugeValue(t *testing.T) {
	dir := t.TempDir()
	id := mlflowID(1)
	mlflowDB(t, filepath.Join(dir, "mlflow.db"), `INSERT INTO runs VALUES ('`+id+`', 'r', '', '', 'FINISHED', 1, 2, 'active', '', 1)`,
		`INSERT INTO params VALUES ('huge', zeroblob(100000000), '`+id+`')`)
	db, _ := transfertest.Open(t)
	_, err := transfertest.Run(t, db.Imports.Sink(domain.System), mlflow.Kind(), dir, transfer.Options{})
	if err == nil || !strings.Contains(err.Error(), "mlflow.db") || !strings.Contains(err.Error(), "too big") {
		t.Errorf("%v", err)
	}
}
