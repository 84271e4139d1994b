package mlflow

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	_ "tracker/store/sqlite" // the driver

	"tracker/store/transfer"
)

// FuzzDatabase imports databases with arbitrary values. The import must terminate. An unreadable
// row is a loss, not an error.
func FuzzDatabase(f *testing.F) {
	f.Add("0123456789abcdef0123456789abcdef", "run", "FINISHED", "1700000000000", "loss", "0.5", "1", "mlflow.parentRunId", "x")
	f.Add("", "\xff", "ODD", "-1", "", "1.7976931348623157e308", "9223372036854775808", "mlflow.runName", "\x00")
	f.Add("..", "../..", "3", "x", "a/../b", "nan", "", "mlflow.source.git.commit", "file:///etc/passwd")
	f.Fuzz(func(t *testing.T, id, name, status, at, key, value, step, tag, text string) {
		path := filepath.Join(t.TempDir(), "mlflow.db")
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.Exec(`CREATE TABLE experiments (experiment_id INTEGER PRIMARY KEY, name, lifecycle_stage);
			CREATE TABLE runs (run_uuid, name, source_name, source_version, status, start_time, end_time, lifecycle_stage, artifact_uri, experiment_id);
			CREATE TABLE metrics (key, value, timestamp, run_uuid, step, is_nan);
			CREATE TABLE params (key, value, run_uuid);
			CREATE TABLE tags (key, value, run_uuid);
			CREATE TABLE registered_models (name, creation_time, last_updated_time, description);
			CREATE TABLE model_versions (name, version, creation_time, last_updated_time, description, user_id, current_stage, source, run_id)`)
		for _, row := range [][]any{
			{`INSERT INTO experiments VALUES (1, ?, 'active')`, text},
			{`INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, 'active', ?, 1)`, id, name, text, text, status, at, value, text},
			{`INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)`, key, value, at, id, step, step},
			{`INSERT INTO params VALUES (?, ?, ?)`, key, []byte(value), id},
			{`INSERT INTO tags VALUES (?, ?, ?)`, tag, text, id},
		} {
			if err == nil {
				_, err = db.Exec(row[0].(string), row[1:]...)
			}
		}
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		im := transfer.New(transfer.Nowhere{}, transfer.Options{DryRun: true, Deleted: true})
		if err := im.Run(t.Context(), source{database: path}); err != nil {
			t.Fatalf("%v: %+v", err, im.Result)
		}
	})
}
