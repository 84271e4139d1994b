package store

import (
	"path/filepath"
	"slices"
	"testing"

	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/sqlite"
)

// unannounced holds the tables whose changes are not announced by triggers, with the reasons.
var unannounced = map[string]string{
	"series": "points announces it", "metric": "points", "metric_moved": "points", "recent": "points", "rollup": "points",
	"console_line":   "WriteConsole announces it",
	"wandb_row":      "its points and wandb_run change with it",
	"wandb_writer":   "its points and wandb_run change with it",
	"wandb_row_sum":  "its points and wandb_run change with it",
	"experiment_key": "it changes with parameter, series and property",
	"search_key":     "a copy of series", "search_value": "a copy of series",

	"project": "not a record of a run", "experiment": "not a record of a run", "experiment_view": "not a record of a run",
	"report": "not a record of a run", "wandb_sweep": "not a record of a run",
	"wandb_trial": "its run changes with it", "artifact_file": "no page of a run shows it",
	"artifact_collection": "not a record of a run",
	"audit":               "no page shows it live", "user": "an account", "user_permission": "an account", "api_key": "an account",
	"source": "the progress of an import", "upload": "the progress of an upload",
	"blob": "bytes of artifacts", "blob_inline": "bytes of artifacts", "blob_piece": "bytes of artifacts", "blob_pin": "bytes of artifacts",
	"checksum_due": "internal", "counter": "internal", "idempotency": "internal", "owner": "internal", "sqlite_sequence": "internal",
}

// Triggers announce the changes to each table that is not in unannounced. The test fails if a new
// table is in neither list.
func TestEveryTableIsAnnounced(t *testing.T) {
	db, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "t.db"), BcryptCost: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var tables, announced []string
	err = db.base.Kernel.Write(t.Context(), sqlite.Change, func(tx *sqlite.Tx) error {
		if err := tx.Select(&tables, `SELECT name FROM main.sqlite_schema WHERE type = 'table'`); err != nil {
			return err
		}
		return tx.Select(&announced, `SELECT tbl_name FROM temp.sqlite_schema WHERE type = 'trigger'`)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		triggers := 0
		for _, a := range announced {
			if a == table {
				triggers++
			}
		}
		if reason := unannounced[table]; (reason == "") != (triggers >= 3) {
			t.Errorf("table %s has %d triggers that announce its changes, and the reason against them is %q", table, triggers, reason)
		}
	}
	for table := range unannounced {
		if !slices.Contains(tables, table) {
			t.Errorf("there is no table %s", table)
		}
	}
}

// A failed write announces nothing, and neither does an update of last_seen. A deletion without a
// trash is announced.
func TestWhatIsAnnounced(t *testing.T) {
	ctx := t.Context()
	db, err := Open(ctx, Options{Path: filepath.Join(t.TempDir(), "t.db"), BcryptCost: 4, Exclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	p, err := db.Projects.CreateProject(ctx, domain.System, domain.NewProject{Name: "p"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := db.Projects.CreateExperiment(ctx, domain.System, p.ID, projects.NewExperiment{Name: "e"})
	if err != nil {
		t.Fatal(err)
	}
	run, err := db.Runs.CreateIteration(ctx, domain.System, e.ID, runs.NewIteration{})
	if err != nil {
		t.Fatal(err)
	}
	child, err := db.Runs.CreateIteration(ctx, domain.System, e.ID, runs.NewIteration{ParentIterationID: &run.ID})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []struct {
		name             string
		write            func() error
		fails            bool
		changed, deleted int
	}{
		{name: "a failed write", fails: true, write: func() error {
			return db.Runs.UpdateIterations(ctx, domain.System, []string{run.ID, "nobody"}, runs.IterationPatch{Name: new("n")})
		}},
		{name: "a heartbeat", write: func() error { return db.Runs.Heartbeat(ctx, domain.System, run.ID) }},
		{name: "the row of the heartbeat", write: func() error {
			_, err := db.Projects.CreateProject(ctx, domain.System, domain.NewProject{Name: "other"})
			return err
		}},
		{name: "a name", write: func() error {
			return db.Runs.UpdateIteration(ctx, domain.System, run.ID, runs.IterationPatch{Name: new("n")})
		}, changed: 1},
		{name: "the name of a child", write: func() error {
			return db.Runs.UpdateIteration(ctx, domain.System, child.ID, runs.IterationPatch{Name: new("n")})
		}, changed: 2},
		{name: "a deletion", write: func() error { return db.Runs.DeleteIteration(ctx, domain.System, child.ID) }, changed: 1, deleted: 1},
	} {
		before, err := db.Runs.ExperimentChanges(ctx, domain.System, e.ID, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.write(); (err != nil) != s.fails {
			t.Fatalf("%s: %v", s.name, err)
		}
		c, err := db.Runs.ExperimentChanges(ctx, domain.System, e.ID, before.Cursor)
		if err != nil || len(c.Iterations) != s.changed || len(c.Deleted) != s.deleted {
			t.Errorf("after %s %d runs have changed and %d were deleted, want %d and %d (%v)", s.name, len(c.Iterations), len(c.Deleted), s.changed, s.deleted, err)
		}
	}
}
