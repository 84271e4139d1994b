package transfertest_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/transfer"
	"tracker/store/transfer/mlflow"
	"tracker/store/transfertest"
	"tracker/store/trash"
)

// TestMLflowUnreadableRows checks that unreadable values in MLflow's tables are reported as losses
// and do not silently become 0, NaN or a time in 1970.
func TestMLflowUnreadableRows(t *testing.T) {
	dir := t.TempDir()
	id := mlflowID(1)
	mlflowDB(t, filepath.Join(dir, "mlflow.db"),
		`INSERT INTO runs VALUES ('`+id+`', 'r', '', '', 'FINISHED', 'yesterday', 'today', 'active', '', 1)`,
		`INSERT INTO metrics VALUES ('a', 'text', 1700000000000, '`+id+`', 1, 0), ('b', NULL, 1700000000000, '`+id+`', 1, 0),
			('c', 1.5, 'text', '`+id+`', 1, 0), ('d', 1.5, NULL, '`+id+`', 1, 0), ('e', 1.5, 1700000000000, '`+id+`', 'text', 0),
			('f', 1.5, 1700000000000, '`+id+`', 1, 'text'), ('g', x'00ff', 1700000000000, '`+id+`', 1, 0), ('h', 1.5, 1700000000000, '`+id+`', 1.5, 0),
			('i', '2.5', '1700000000000', '`+id+`', '7', '0'), ('j', NULL, 1700000000000, '`+id+`', NULL, 1), ('k', '-inf', 1700000000000, '`+id+`', 1, NULL)`)
	db, path := transfertest.Open(t)
	r := transfertest.Import(t, db, mlflow.Kind(), dir, transfer.Options{})
	want := "point|r|i|7|2.5|1700000000000\npoint|r|j|0|NaN|1700000000000\npoint|r|k|1|-Inf|1700000000000\n"
	if got := transfertest.Dump(t, path, "point"); got != want || r.Lost != 10 {
		t.Errorf("%d losses: %+v\n%s", r.Lost, r.Losses, got)
	}
	for _, part := range []string{`its value, "text", is not a number`, `its value, <nil>, is not a number`, `its timestamp, "text", is not a time`,
		`its timestamp, <nil>, is not a time`, `its step, "text", is not a whole number`, `its is_nan, "text", is not a number`, `its step, 1.5, is not a whole number`,
		`The start of the run, "yesterday", is not a valid time`, `The end of the run, "today", is not a valid time`} {
		if !lists(r, part) {
			t.Errorf("%s is not in %+v", part, r.Losses)
		}
	}
	for _, l := range r.Losses {
		if !strings.HasPrefix(l.Path, filepath.Join(dir, "mlflow.db")) {
			t.Errorf("%+v", l)
		}
	}
}

// TestMLflowUnreadableFiles checks the same for the files of a file store. A run with unreadable
// times is imported.
func TestMLflowUnreadableFiles(t *testing.T) {
	dir := t.TempDir()
	run := func(n int, meta string) string {
		return "1/" + mlflowID(n) + "/meta.yaml|run_id: '" + mlflowID(n) + "'\nrun_name: r" + string(rune('0'+n)) + "\n" + meta
	}
	for _, file := range []string{
		"1/meta.yaml|experiment_id: '1'\nname: e\n",
		run(1, "status: 3\nstart_time: yesterday\nend_time: 1700000000009\n"),
		run(2, "status: 3\nstart_time: 1700000000000\nend_time: -4\n"),
		run(3, "status: 1\nstart_time: 1700000000000\n"),
		"1/" + mlflowID(1) + "/metrics/loss|1700000000000 0.5 1\nx 0.5 2\n1700000000002 y 3\n1700000000003 0.25 z\n-5 0.25 4\n1700000000004 0.125 5\n1700000000005 0.06",
		"1/" + mlflowID(3) + "/metrics/loss|1700000000000 0.5 1\n1700000000005 0.06",
		"1/" + mlflowID(4) + "/meta.yaml|",
		"1/" + mlflowID(4) + "/params/p|1",
		"1/" + mlflowID(5) + "/meta.yaml|{",
		"1/traces/tr-1/trace_info.yaml|",
		"2/meta.yaml|",
		"2/" + mlflowID(6) + "/meta.yaml|run_id: '" + mlflowID(6) + "'\nrun_name: r6\nstatus: 3\nstart_time: 1700000000000\n",
		"3/meta.yaml|{",
		"models/net/meta.yaml|name: net\ncreation_timestamp: never\n",
		"models/net/aliases/best|x",
		"models/net/version-1/meta.yaml|version: 1\nsource: s\ncreation_timestamp: never\n",
		"models/net/version-2/meta.yaml|version: x\nsource: s\n",
	} {
		name, text, _ := strings.Cut(file, "|")
		write(t, filepath.Join(dir, "mlruns", filepath.FromSlash(name)), []byte(text))
	}
	db, path := transfertest.Open(t)
	r := transfertest.Import(t, db, mlflow.Kind(), dir, transfer.Options{})
	want := "point|r1|loss|1|0.5|1700000000000\npoint|r1|loss|5|0.125|1700000000004\npoint|r3|loss|1|0.5|1700000000000\n"
	if got := transfertest.Dump(t, path, "point"); got != want || r.Created != 4 {
		t.Errorf("%+v\n%s", r, got)
	}
	if got := transfertest.Dump(t, path, "run"); !strings.Contains(got, "run|MLflow|2|r6|") {
		t.Errorf("the run of an experiment without a name: %s", got)
	}
	for _, part := range []string{`The start of the run, "yesterday", is not a valid time`, `The end of the run, -4, is not a valid time`,
		"The line at byte 20 was skipped", "The line at byte 28 was skipped", "The line at byte 46 was skipped", "The line at byte 67 was skipped",
		"The line at byte 99 is incomplete", "Its meta.yaml has no run_id", "Its meta.yaml can't be read: yaml", "It has 1 traces",
		"The meta.yaml of the experiment can't be read: it has no experiment_id", `The creation time of the registered model, "never", is not a valid time`,
		`The creation time of the version 1, "never", is not a valid time`, `its version, "x", is not a number`, `The alias "best" names the version "x"`} {
		if !lists(r, part) {
			t.Errorf("%s is not in %+v", part, r.Losses)
		}
	}
	if r.Lost != 16 {
		t.Errorf("%d losses: %+v", r.Lost, r.Losses)
	}
}

// TestMLflowExperimentTags checks that tags, descriptions and creation times of experiments are
// imported from both kinds of stores. This includes experiments without runs. Another import does
// not undo later changes in tracker.
func TestMLflowExperimentTags(t *testing.T) {
	id := mlflowID(1)
	base := t.TempDir()
	source := mlflowDB(t, filepath.Join(base, "mlflow.db"), `ALTER TABLE experiments ADD creation_time`, `CREATE TABLE experiment_tags (key, value, experiment_id)`,
		`UPDATE experiments SET creation_time = 1600000000000`, `INSERT INTO experiments VALUES (2, 'plans', 'active', 1600000000001), (0, 'Default', 'active', 1)`,
		`INSERT INTO experiment_tags VALUES ('mlflow.note.content', 'What it is about', 1), ('team', 'vision', 1), ('owner', 'ada', 2)`,
		`INSERT INTO runs VALUES ('`+id+`', 'r', '', '', 'FINISHED', 1, 2, 'active', '', 1)`)
	files := t.TempDir()
	for name, text := range map[string]string{
		"1/meta.yaml": "experiment_id: '1'\nname: e\ncreation_time: 1600000000000\n", "1/tags/mlflow.note.content": "What it is about", "1/tags/team": "vision",
		"2/meta.yaml": "experiment_id: '2'\nname: plans\ncreation_time: 1600000000001\n", "2/tags/owner": "ada", "0/meta.yaml": "experiment_id: '0'\nname: Default\n",
		"1/" + id + "/meta.yaml": "run_id: '" + id + "'\nrun_name: r\nstatus: 3\nstart_time: 1\nend_time: 2\n"} {
		write(t, filepath.Join(files, "mlruns", filepath.FromSlash(name)), []byte(text))
	}
	const want = "experiment|e|What it is about|1600000000000|team=vision|\nexperiment|plans||1600000000001|owner=ada|\n"
	for _, dir := range []string{base, files} {
		db, path := transfertest.Open(t)
		for range 2 {
			r := transfertest.Import(t, db, mlflow.Kind(), dir, transfer.Options{})
			if got := transfertest.Dump(t, path, "experiment"); got != want || r.Lost != 0 {
				t.Errorf("%+v\n%s", r, got)
			}
		}
		checked(t, db)
	}

	db, path := transfertest.Open(t)
	transfertest.Import(t, db, mlflow.Kind(), base, transfer.Options{})
	if r := transfertest.Import(t, db, mlflow.Kind(), base, transfer.Options{Project: "other"}); r.Lost != 1 {
		t.Errorf("into another project: %+v", r)
	}
	execute(t, raw(t, path), `UPDATE experiment SET description = 'mine' WHERE name = 'e'; UPDATE property SET value = 'mine' WHERE key = 'team'`)
	if r := transfertest.Import(t, db, mlflow.Kind(), base, transfer.Options{}); r.Lost != 0 {
		t.Errorf("changed here: %+v", r)
	}
	execute(t, source, `UPDATE experiment_tags SET value = 'nlp' WHERE key = 'team'; INSERT INTO experiment_tags VALUES ('new', 'x', 1)`)
	r := transfertest.Import(t, db, mlflow.Kind(), base, transfer.Options{})
	const changed = "experiment|e|mine|1600000000000|new=x,team=mine|\nexperiment|plans||1600000000001|owner=ada|\n"
	if got := transfertest.Dump(t, path, "experiment"); got != changed || !lists(r, `The tag "team" of the experiment "e" is not imported`) {
		t.Errorf("%+v\n%s", r, got)
	}
}

// TestMLflowDeleted checks that records deleted in MLflow are left out and counted. With
// Options.Deleted, they are imported into the trash once and can be restored.
func TestMLflowDeleted(t *testing.T) {
	base := t.TempDir()
	mlflowDB(t, filepath.Join(base, "mlflow.db"), `INSERT INTO experiments VALUES (2, 'gone', 'deleted'), (3, 'empty', 'deleted')`,
		`INSERT INTO runs VALUES ('`+mlflowID(1)+`', 'live', '', '', 'FINISHED', 1, 2, 'active', '', 1), ('`+mlflowID(2)+`', 'deleted', '', '', 'FINISHED', 1, 2, 'deleted', '', 1),
			('`+mlflowID(3)+`', 'within', '', '', 'FINISHED', 1, 2, 'deleted', '', 2)`,
		`INSERT INTO metrics SELECT 'loss', 0.5, 5, run_uuid, 1, 0 FROM runs`, `INSERT INTO tags VALUES ('mlflow.parentRunId', '`+mlflowID(2)+`', '`+mlflowID(1)+`')`)
	files := t.TempDir()
	for name, text := range map[string]string{
		"1/meta.yaml": "experiment_id: '1'\nname: e\n", ".trash/2/meta.yaml": "experiment_id: '2'\nname: gone\nlifecycle_stage: deleted\n",
		".trash/3/meta.yaml":                            "experiment_id: '3'\nname: empty\nlifecycle_stage: deleted\n",
		"1/" + mlflowID(1) + "/meta.yaml":               "run_id: '" + mlflowID(1) + "'\nrun_name: live\nstatus: 3\nstart_time: 1\nend_time: 2\n",
		"1/" + mlflowID(2) + "/meta.yaml":               "run_id: '" + mlflowID(2) + "'\nrun_name: deleted\nstatus: 3\nstart_time: 1\nend_time: 2\nlifecycle_stage: deleted\n",
		".trash/2/" + mlflowID(3) + "/meta.yaml":        "run_id: '" + mlflowID(3) + "'\nrun_name: within\nstatus: 3\nstart_time: 1\nend_time: 2\nlifecycle_stage: deleted\n",
		"1/" + mlflowID(1) + "/metrics/loss":            "5 0.5 1\n",
		"1/" + mlflowID(2) + "/metrics/loss":            "5 0.5 1\n",
		".trash/2/" + mlflowID(3) + "/metrics/loss":     "5 0.5 1\n",
		"1/" + mlflowID(1) + "/tags/mlflow.parentRunId": mlflowID(2),
		"1/" + mlflowID(2) + "/artifacts/a.txt":         "a",
	} {
		write(t, filepath.Join(files, "mlruns", filepath.FromSlash(name)), []byte(text))
	}
	for _, dir := range []string{base, files} {
		db, _ := transfertest.OpenWith(t, store.Options{TrashAge: time.Hour})
		r := transfertest.Import(t, db, mlflow.Kind(), dir, transfer.Options{})
		if r.Created != 1 || !lists(r, "MLflow has deleted 2 runs and 1 empty experiment, which are left out; --deleted imports them into the trash.") {
			t.Errorf("without them: %+v", r)
		}

		db, path := transfertest.OpenWith(t, store.Options{TrashAge: time.Hour})
		r = transfertest.Import(t, db, mlflow.Kind(), dir, transfer.Options{Deleted: true})
		if r.Created != 3 || r.Lost != 0 {
			t.Errorf("%+v", r)
		}
		trashed, err := db.Trash.List(t.Context(), domain.System, trash.Query{Page: domain.Page{Limit: 10}})
		if err != nil || trashed.Total != 3 {
			t.Errorf("the trash has %+v, %v", trashed, err)
		}
		before := transfertest.Dump(t, path)
		if again := transfertest.Import(t, db, mlflow.Kind(), dir, transfer.Options{Deleted: true}); again.Unchanged != 3 || again.Lost != 0 || transfertest.Dump(t, path) != before {
			t.Errorf("again: %+v", again)
		}
		restoreAll(t, db, "experiment empty, experiment gone, iteration deleted")
		want := "point|live|loss|1|0.5|5\npoint|deleted|loss|1|0.5|5\npoint|within|loss|1|0.5|5\n"
		if got := transfertest.Dump(t, path, "point"); got != want {
			t.Errorf("the points are %s", got)
		}
		if got := transfertest.Dump(t, path, "run"); !strings.Contains(got, "run|MLflow|gone|within|") || !strings.Contains(got, "|1|2|deleted\n") {
			t.Errorf("the runs are %s", got)
		}
		transfertest.Import(t, db, mlflow.Kind(), dir, transfer.Options{Deleted: true})
		if trashed, err = db.Trash.List(t.Context(), domain.System, trash.Query{Page: domain.Page{Limit: 10}}); err != nil || trashed.Total != 0 {
			t.Errorf("what was restored went to the trash again: %+v, %v", trashed, err)
		}
		checked(t, db)

		db, _ = transfertest.Open(t) // a database without a trash
		if r := transfertest.Import(t, db, mlflow.Kind(), dir, transfer.Options{Deleted: true}); r.Created != 1 || r.LeftOut != 2 || !lists(r, "this database has no trash") {
			t.Errorf("without a trash: %+v", r)
		}
	}
}

// TestMLflowServedArtifacts checks that the artifacts of MLflow's server are found next to the
// store and in Options.ArtifactFolder. If they are in neither place, a loss is reported.
func TestMLflowServedArtifacts(t *testing.T) {
	id, model := mlflowID(1), "m-"+mlflowID(2)
	dir, kept := t.TempDir(), t.TempDir()
	mlflowDB(t, filepath.Join(dir, "mlflow.db"),
		`INSERT INTO runs VALUES ('`+id+`', 'r', '', '', 'FINISHED', 1, 2, 'active', 'mlflow-artifacts:/1/`+id+`/artifacts', 1), ('`+mlflowID(3)+`', 'none', '', '',
			'FINISHED', 1, 2, 'active', 'mlflow-artifacts:/1/`+mlflowID(3)+`/artifacts', 1)`,
		`CREATE TABLE logged_models (model_id, experiment_id, name, model_type, source_run_id, artifact_location, status, creation_timestamp_ms, lifecycle_stage)`,
		`INSERT INTO logged_models VALUES ('`+model+`', 1, 'net', '', '', 'mlflow-artifacts:/1/models/`+model+`/artifacts', 2, 5, 'active')`)
	write(t, filepath.Join(kept, "1", id, "artifacts", "a.txt"), []byte("a"))
	write(t, filepath.Join(kept, "1", "models", model, "artifacts", "MLmodel"), []byte("m"))

	db, _ := transfertest.Open(t)
	r := transfertest.Import(t, db, mlflow.Kind(), dir, transfer.Options{})
	if r.Artifacts != 0 || r.Lost != 1 || !lists(r, "stores the artifacts of 3 runs and logged models") || !lists(r, "--mlflow-artifacts") || !lists(r, "next to the store as mlartifacts") {
		t.Errorf("%+v", r)
	}
	if r := transfertest.Import(t, db, mlflow.Kind(), dir, transfer.Options{NoArtifacts: true}); r.Lost != 0 {
		t.Errorf("without artifacts: %+v", r)
	}
	if r := transfertest.Import(t, db, mlflow.Kind(), dir, transfer.Options{ArtifactFolder: kept}); r.Artifacts != 2 || r.Lost != 0 {
		t.Errorf("from the folder: %+v", r)
	}
	if err := os.Rename(kept, filepath.Join(dir, "mlartifacts")); err != nil {
		t.Fatal(err)
	}
	db, _ = transfertest.Open(t)
	if r := transfertest.Import(t, db, mlflow.Kind(), dir, transfer.Options{}); r.Artifacts != 2 || r.Lost != 0 {
		t.Errorf("from beside the store: %+v", r)
	}
}

// TestMLflowArtifactsElsewhere checks that a loss is reported if a store was moved from another
// machine without its artifacts.
func TestMLflowArtifactsElsewhere(t *testing.T) {
	dir := t.TempDir()
	mlflowDB(t, filepath.Join(dir, "mlflow.db"),
		`INSERT INTO runs VALUES ('`+mlflowID(1)+`', 'r', '', '', 'FINISHED', 1, 2, 'active', '/another/machine/mlruns/1/`+mlflowID(1)+`/artifacts', 1)`)
	db, _ := transfertest.Open(t)
	if r := transfertest.Import(t, db, mlflow.Kind(), dir, transfer.Options{}); r.Lost != 1 || !lists(r, "The artifacts of 1 run or logged model, if they have any, were at /another/machine") {
		t.Errorf("%+v", r)
	}
	here := t.TempDir()
	mlflowDB(t, filepath.Join(here, "mlflow.db"),
		`INSERT INTO runs VALUES ('`+mlflowID(1)+`', 'r', '', '', 'FINISHED', 1, 2, 'active', '`+here+`/mlruns/1/`+mlflowID(1)+`/artifacts', 1)`)
	if r := transfertest.Import(t, db, mlflow.Kind(), here, transfer.Options{}); r.Lost != 0 {
		t.Errorf("a run without artifacts: %+v", r)
	}
}

// restoreAll restores everything in the trash and compares the names of the restored records with
// want.
func restoreAll(t *testing.T, db *store.DB, want string) {
	t.Helper()
	trashed, err := db.Trash.List(t.Context(), domain.System, trash.Query{Page: domain.Page{Limit: 100}})
	var names, ids []string
	for _, r := range trashed.Data {
		names, ids = append(names, string(r.Kind)+" "+r.Name), append(ids, r.ID)
	}
	if got := strings.Join(slices.Sorted(slices.Values(names)), ", "); err != nil || got != want {
		t.Errorf("the trash has %s, %v", got, err)
	}
	if err := db.Trash.Restore(t.Context(), domain.System, ids...); err != nil {
		t.Error(err)
	}
}

// TestMLflowDeletedStopped interrupts an import of deleted runs at each write. After a repeated
// import, the runs must be in the trash.
func TestMLflowDeletedStopped(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"1/meta.yaml":                            "experiment_id: '1'\nname: e\n",
		".trash/2/meta.yaml":                     "experiment_id: '2'\nname: gone\nlifecycle_stage: deleted\n",
		"1/" + mlflowID(2) + "/artifacts/a.txt":  "a",
		"1/" + mlflowID(2) + "/artifacts/b.txt":  "b",
		".trash/2/" + mlflowID(3) + "/meta.yaml": "run_id: '" + mlflowID(3) + "'\nrun_name: within\nstatus: 3\nstart_time: 1\nend_time: 2\n",
	} {
		write(t, filepath.Join(dir, "mlruns", filepath.FromSlash(name)), []byte(text))
	}
	write(t, filepath.Join(dir, "mlruns", "1", mlflowID(2), "meta.yaml"), []byte("run_id: '"+mlflowID(2)+"'\nrun_name: deleted\nstatus: 3\nstart_time: 1\nend_time: 2\n"+
		"lifecycle_stage: deleted\nartifact_uri: file:///gone/1/"+mlflowID(2)+"/artifacts\n"))
	nth := 1
	for stopped := true; stopped; nth++ {
		db, path := transfertest.OpenWith(t, store.Options{TrashAge: time.Hour})
		_, err := transfertest.Run(t, transfertest.Stop(db.Imports.Sink(domain.System), nth, true), mlflow.Kind(), dir, transfer.Options{Deleted: true})
		stopped = err != nil
		r := transfertest.Import(t, db, mlflow.Kind(), dir, transfer.Options{Deleted: true})
		if r.Lost != 0 || strings.Count(transfertest.Dump(t, path, "artifact"), "\n") != 2 {
			t.Errorf("stopped after write %d: %+v", nth, r)
		}
		restoreAll(t, db, "experiment gone, iteration deleted")
	}
	if nth < 4 {
		t.Errorf("there were only %d writes", nth)
	}
}
