package trackio

import (
	"database/sql"
	"path/filepath"
	"testing"

	_ "tracker/store/sqlite" // the driver

	"tracker/store/transfer"
)

// FuzzProject imports arbitrary files. The import must terminate. An unreadable file is a loss, not
// an error.
func FuzzProject(f *testing.F) {
	f.Add("0123456789abcdef0123456789abcdef", "run", `{"loss": 0.5, "odd": "NaN", "x": {"y": [1]}}`, "2026-11-22T12:35:12.137928+00:00", `{"lr": 0.1, "_Created": "x", "_Group": null}`)
	f.Add("", "../..", `{`, "", ``)
	f.Fuzz(func(t *testing.T, id, name, metrics, at, config string) {
		path := filepath.Join(t.TempDir(), "p.db")
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.Exec(`CREATE TABLE metrics (id INTEGER PRIMARY KEY, run_id TEXT, timestamp TEXT, run_name TEXT, step INTEGER, metrics TEXT);
			CREATE TABLE configs (id INTEGER PRIMARY KEY, run_id TEXT, run_name TEXT, config TEXT)`)
		if err == nil {
			_, err = db.Exec(`INSERT INTO metrics (run_id, timestamp, run_name, step, metrics) VALUES (?, ?, ?, ?, ?), (?, ?, ?, 'x', ?)`,
				id, at, name, 1, []byte(metrics), id, at, name, metrics)
		}
		if err == nil {
			_, err = db.Exec(`INSERT INTO configs (run_id, run_name, config) VALUES (?, ?, ?)`, id, name, []byte(config))
		}
		if err == nil {
			err = db.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		src, err := find(path)
		if err != nil || len(src.files) != 1 {
			t.Fatal(src, err)
		}
		im := transfer.New(transfer.Nowhere{}, transfer.Options{DryRun: true})
		if err := im.Run(t.Context(), src); err != nil {
			t.Fatalf("%v: %+v", err, im.Result)
		}
	})
}
