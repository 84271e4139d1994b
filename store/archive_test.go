package store_test

import (
	"archive/zip"
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tracker/blob"
	"tracker/store"
	"tracker/store/archive"
	"tracker/store/artifact"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/record"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/users"
)

// fullBed returns a bed whose project has rows in all tables that an archive contains.
func fullBed(t *testing.T) *bed {
	t.Helper()
	b := newBedWith(t, store.Options{Exclusive: true, Backends: folder(t)})
	b.fill(t)
	return b
}

// folder returns artifact backends with a new folder.
func folder(t *testing.T) artifact.Backends {
	t.Helper()
	fs := must(blob.NewFilesystem(t.TempDir()))(t)
	return artifact.Backends{Default: artifact.Filesystem, Open: map[artifact.Backend]func() (blob.Store, error){
		artifact.Filesystem: func() (blob.Store, error) { return fs, nil }}}
}

func (b *bed) fill(t *testing.T) {
	t.Helper()
	b.clock.Add(1000)
	for kind, id := range map[runs.TagKind]string{
		runs.ProjectTag: b.project, runs.ExperimentTag: b.experiment, runs.IterationTag: b.iteration} {
		must(b.Runs.CreateTag(ctx, domain.System, kind, id, "täg 🙂"))(t)
	}
	b.log(t, "loss", 5, 1)
	b.log(t, "loss", 3, math.NaN())
	b.log(t, "acc", 3, math.Inf(-1))
	b.log(t, "loss", 3, 0.25)
	var many []points.Sample
	for step := range int64(3000) {
		many = append(many, point("many/points", step*7, float64(step)/3))
	}
	wantOK(t, b.Runs.CreateMetrics(ctx, domain.System, b.iteration, many))
	must(b.Runs.CreateParameter(ctx, domain.System, b.iteration, "lr", "0.1"))(t)
	must(b.Runs.CreateParameter(ctx, domain.System, b.iteration, "text", scalar.Text(strings.Repeat("é", 10_000))))(t)
	must(b.Runs.CreateSnapshot(ctx, domain.System, b.iteration, runs.NewSnapshot{GitSHA: "abc", GitDirty: new(true), GitDiff: "+ a\n- b"}))(t)
	child := must(b.Runs.CreateIteration(ctx, domain.System, b.experiment, runs.NewIteration{
		Name: new("child"), ParentIterationID: &b.iteration, Notes: "# notes"}))(t).ID
	status, text := domain.Failed, "out of memory"
	wantOK(t, b.Runs.UpdateIteration(ctx, domain.System, child, runs.IterationPatch{Status: &status, ErrorMessage: &text}))
	weights := b.keep(t, b.experiment, files.NewArtifact{Name: "model/weights.bin", IterationID: b.iteration}, "weights")
	b.keep(t, b.experiment, files.NewArtifact{Name: "again.bin", IterationID: child, ContentType: "text/plain"}, "weights")
	b.keep(t, b.experiment, files.NewArtifact{Name: "data.csv", Description: "all data"}, "a,b\n1,2\n")
	must(b.Projects.CreateSavedView(ctx, domain.System, b.experiment, projects.NewSavedView{Name: "best", Query: "sort=loss",
		Panels: &projects.Layout{Sections: []projects.Section{{Name: "Losses", Panels: []projects.Panel{
			{ID: "p1", Type: projects.LinePanel, Metrics: []string{"loss", "val/loss"}}}}}}}))(t)
	m := must(b.Models.CreateModel(ctx, domain.System, b.project, registry.NewModel{Name: "resnet"}))(t).ID
	v1 := must(b.Models.CreateModelVersion(ctx, domain.System, m, registry.NewModelVersion{IterationID: b.iteration, ArtifactID: &weights}))(t).ID
	v2 := must(b.Models.CreateModelVersion(ctx, domain.System, m, registry.NewModelVersion{IterationID: child}))(t).ID
	must(b.Models.SetStage(ctx, domain.System, v1, registry.Production))(t)
	must(b.Models.SetStage(ctx, domain.System, v2, registry.Production))(t)
	wantOK(t, b.Models.AddAlias(ctx, domain.System, v2, "champion"))
	db := raw(t, b.Path())
	for _, query := range []string{
		`INSERT INTO console_line SELECT num, 7, 'epoch 1', 5 FROM iteration WHERE id = ?`,
		`INSERT INTO wandb_run SELECT num, 'abc', '{}', '{}', '{}' FROM iteration WHERE id = ?`,
		`INSERT INTO wandb_row SELECT num, 3, '{"a":"b"}' FROM iteration WHERE id = ?`,
		`INSERT INTO wandb_writer SELECT num, 'client', 3, 4, 1, '{"first":1}' FROM iteration WHERE id = ?`,
		`INSERT INTO wandb_row_sum SELECT num, -5 FROM iteration WHERE id = ?`,
		`INSERT INTO artifact_version (id, experiment_id, iteration_num, collection, version, type, digest, client_id, aliases, description,
				metadata, state, history_step, ttl, created_date, updated_date)
			SELECT '0192d3f4-5b6c-7d8e-9fa0-b1c2d3e4f5a6', experiment_id, num, 'net', 0, 'model', 'd', 'c', '["latest"]', '', '{}', 'COMMITTED', 3, 4, 1, 2
			FROM iteration WHERE id = ?`,
		`INSERT INTO artifact_alias SELECT experiment_id, 'net', 'latest', 1 FROM iteration WHERE id = ?`,
		`INSERT INTO artifact_use SELECT 1, num FROM iteration WHERE id = ?`,
		`INSERT INTO artifact_file SELECT 1, 'a.bin', 'x' FROM iteration WHERE id = ?`,
		`INSERT INTO artifact_collection SELECT experiment_id, 'net', 'A net.', '["vision"]', 9 FROM iteration WHERE id = ?`,
		`INSERT INTO artifact_tag SELECT 1, 'baseline' FROM iteration WHERE id = ?`,
		`INSERT INTO wandb_sweep (id, experiment_id, name, config, state, created_date, updated_date)
			SELECT 'abcd1234', experiment_id, '', '{"method": "grid", "parameters": {"lr": {"values": [1, 2]}}}', 'RUNNING', 5, 6
			FROM iteration WHERE id = ?`,
		`INSERT INTO wandb_trial SELECT 1, 1, 'first', 'abcd1234-a', '[0]', '{"lr":{"value":1}}', 'DONE', 7, '[]', 0.5
			FROM iteration WHERE id = ?`,
		`INSERT INTO report (id, project_id, name, text, created_date, updated_date)
			SELECT '0192d3f4-5b6c-7d8e-9fa0-b1c2d3e4f5a7', project_id, 'findings', '# Findings', 3, 4
			FROM iteration JOIN experiment ON experiment.id = experiment_id WHERE iteration.id = ?`,
	} {
		execSQL(t, db, query, b.iteration)
	}
	logged := must(b.Models.CreateLoggedModel(ctx, domain.System, b.experiment, registry.NewLoggedModel{
		Name: "net", Type: "LLM", IterationID: b.iteration, Params: []domain.Property{{Key: "k", Value: "v"}},
		Properties: []domain.Property{{Key: "p", Value: "q"}}}))(t).ID
	for kind, id := range map[runs.PropertyKind]string{runs.ExperimentProperty: b.experiment, runs.IterationProperty: child,
		runs.ModelProperty: m, runs.ModelVersionProperty: v1, runs.LoggedModelProperty: logged} {
		wantOK(t, b.Runs.SetProperties(ctx, domain.System, kind, id, []domain.Property{{Key: "some key", Value: "some\nvalue"}}))
	}
	wantOK(t, b.Runs.LogIteration(ctx, domain.System, b.iteration, runs.IterationLog{
		Datasets:     []runs.DatasetUse{{Name: "mnist", Digest: "d1", Context: new("training")}, {Name: "a", Digest: "d2"}},
		Models:       []registry.LoggedModelUse{{ModelID: logged, Role: "output", Step: 3}},
		ModelMetrics: []registry.LoggedModelMetric{{ModelID: logged, Key: "loss", Value: 0.5, Step: 3, RecordedAt: 7, DatasetName: "mnist"}},
	}))
}

// export returns the exported archive.
func (b *bed) export(t *testing.T, q archive.Query) []byte {
	t.Helper()
	return exported(t, b.DB, q)
}

func exported(t *testing.T, db *store.DB, q archive.Query) []byte {
	t.Helper()
	var out bytes.Buffer
	wantOK(t, db.Archive.Export(ctx, domain.System, q, archive.Options{}, &out))
	return out.Bytes()
}

// file writes bytes to a file and returns its path.
func file(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "archive.zip")
	wantOK(t, os.WriteFile(path, content, 0o600))
	return path
}

// archivedTables are the tables that an archive contains.
var archivedTables = []string{"project", "experiment", "iteration", "tag", "property", "parameter", "snapshot", "dataset",
	"iteration_dataset", "experiment_view", "series", "resource", "logged_model", "logged_model_use", "model", "model_version",
	"model_alias", "experiment_key", "console_line", "wandb_run", "wandb_row", "wandb_writer", "wandb_row_sum", "logged_model_metric",
	"artifact_version", "artifact_alias", "artifact_use", "artifact_file", "artifact_tag", "artifact_collection", "wandb_sweep", "wandb_trial", "report"}

// otherTables are computed from archivedTables, or belong to a server.
var otherTables = []string{"api_key", "audit", "blob", "blob_inline", "blob_piece", "blob_pin", "checksum_due", "counter", "idempotency", "metric", "metric_moved",
	"owner", "recent", "rollup", "search_key", "search_value", "source", "sqlite_sequence", "upload", "user", "user_permission"}

// TestArchivedTables fails if there is a new table. Its author must decide in record.Kinds
// whether archives contain it.
func TestArchivedTables(t *testing.T) {
	db := raw(t, open(t, store.Options{}).Path())
	rows := must(db.Query(`SELECT name FROM sqlite_schema WHERE type = 'table'`))(t)
	defer rows.Close()
	for rows.Next() {
		var name string
		wantOK(t, rows.Scan(&name))
		if !slices.Contains(archivedTables, name) && !slices.Contains(otherTables, name) {
			t.Errorf("does an archive carry the table %s?", name)
		}
	}
	wantOK(t, rows.Err())
}

func counts(t *testing.T, path string) map[string]int {
	t.Helper()
	db := raw(t, path)
	found := map[string]int{}
	for _, table := range append(archivedTables, "metric_points") {
		var n int
		wantOK(t, db.QueryRow(`SELECT count(*) FROM `+table).Scan(&n))
		found[table] = n
	}
	return found
}

// TestArchiveRoundTrip exports a project, imports it into another database, and exports it from
// there. Both archives must have the same bytes, for each scope.
func TestArchiveRoundTrip(t *testing.T) {
	b := fullBed(t)
	for table, n := range counts(t, b.Path()) {
		if n == 0 {
			t.Errorf("the fixture has nothing in table %s", table)
		}
	}
	first := b.export(t, archive.Query{ProjectID: b.project})
	if again := b.export(t, archive.Query{ProjectID: b.project}); !bytes.Equal(first, again) {
		t.Error("two exports differ")
	}
	other := open(t, store.Options{Exclusive: true, Backends: folder(t)})
	r := must(other.Archive.Import(ctx, domain.System, file(t, first), archive.ImportOptions{}))(t)
	if r.Found != 2 || r.Created != 2 || r.Points != 3004 || r.Artifacts != 3 || r.Lost != 0 {
		t.Errorf("imported: %+v", r)
	}
	if a, b := fmt.Sprint(counts(t, b.Path())), fmt.Sprint(counts(t, other.Path())); a != b {
		t.Errorf("there is %s, and then %s", a, b)
	}
	if again := exported(t, other, archive.Query{ProjectID: b.project}); !bytes.Equal(first, again) {
		t.Error("the export of the import differs:\n", differences(t, first, again))
	}
	samePoints(t, "points", pointsOf(t, b.DB, b.iteration, nil), pointsOf(t, other, b.iteration, nil))
	if problems := must(other.Check(ctx, false))(t); len(problems) > 0 {
		t.Errorf("after the import: %v", problems)
	}

	// Importing it again changes nothing.
	r = must(other.Archive.Import(ctx, domain.System, file(t, first), archive.ImportOptions{}))(t)
	if r.Unchanged != 2 || r.Created+r.Grown+r.LeftOut+r.Lost+r.Points+r.Artifacts != 0 {
		t.Errorf("again: %+v", r)
	}

	// Export an experiment and a run.
	for _, q := range []archive.Query{{ExperimentID: b.experiment}, {IterationIDs: []string{b.iteration}},
		{ExperimentID: b.experiment, Filter: `param.lr = 0.1`}} {
		part := b.export(t, q)
		other := open(t, store.Options{Exclusive: true, Backends: folder(t)})
		must(other.Archive.Import(ctx, domain.System, file(t, part), archive.ImportOptions{}))(t)
		if again := exported(t, other, q); !bytes.Equal(part, again) {
			t.Errorf("%+v: the export of the import differs:\n%s", q, differences(t, part, again))
		}
	}
}

// samePoints compares two lists of points, ignoring their ids.
func samePoints(t *testing.T, what string, a, b []runs.Metric) {
	t.Helper()
	for _, all := range [][]runs.Metric{a, b} {
		for i := range all {
			all[i].ID = ""
		}
	}
	if fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("the %s differ", what)
	}
}

// differences returns the files in which two archives differ, and the rows that differ in the
// database.
func differences(t *testing.T, a, b []byte) string {
	t.Helper()
	x, y := unzip(t, a), unzip(t, b)
	var out strings.Builder
	for name := range x {
		if !bytes.Equal(x[name], y[name]) {
			fmt.Fprintln(&out, name)
		}
	}
	for _, table := range append(archivedTables, "metric", "blob", "counter", "rollup", "sqlite_sequence") {
		p, q := rowsOf(t, x["tracker.db"], table), rowsOf(t, y["tracker.db"], table)
		if p != q {
			fmt.Fprintf(&out, "%s:\n%.2000s\n---\n%.2000s\n", table, p, q)
		}
	}
	return out.String()
}

func unzip(t *testing.T, content []byte) map[string][]byte {
	t.Helper()
	z := must(zip.NewReader(bytes.NewReader(content), int64(len(content))))(t)
	all := map[string][]byte{}
	for _, f := range z.File {
		r := must(f.Open())(t)
		all[f.Name] = must(io.ReadAll(r))(t)
		r.Close()
	}
	return all
}

func rowsOf(t *testing.T, content []byte, table string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db")
	wantOK(t, os.WriteFile(path, content, 0o600))
	db := must(sql.Open("sqlite", path))(t)
	defer db.Close()
	rows := must(db.Query(`SELECT * FROM ` + table))(t)
	defer rows.Close()
	columns := must(rows.Columns())(t)
	var out strings.Builder
	for rows.Next() {
		row, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		wantOK(t, rows.Scan(into...))
		fmt.Fprintf(&out, "%v\n", row)
	}
	wantOK(t, rows.Err())
	return out.String()
}

// TestArchiveGrown imports an archive of a run that has grown and changed since the last archive.
// It then imports an archive of a run that was changed in both databases.
func TestArchiveGrown(t *testing.T) {
	b := fullBed(t)
	q := archive.Query{ProjectID: b.project}
	other := open(t, store.Options{Exclusive: true, Backends: folder(t)})
	must(other.Archive.Import(ctx, domain.System, file(t, b.export(t, q)), archive.ImportOptions{}))(t)

	b.log(t, "loss", 6, 0.125)
	b.log(t, "loss", 4, 0.5) // a late point
	status := domain.Succeeded
	wantOK(t, b.Runs.UpdateIteration(ctx, domain.System, b.iteration, runs.IterationPatch{Status: &status}))
	grown := b.export(t, q)
	r := must(other.Archive.Import(ctx, domain.System, file(t, grown), archive.ImportOptions{DryRun: true}))(t)
	if r.Grown != 1 {
		t.Errorf("dry run: %+v", r)
	}
	r = must(other.Archive.Import(ctx, domain.System, file(t, grown), archive.ImportOptions{}))(t)
	if r.Grown != 1 || r.Unchanged != 1 || r.Lost != 0 || r.Points != 3 || r.Dropped != 1 {
		t.Errorf("grown: %+v", r)
	}
	for _, key := range []string{"loss", "acc", "many/points"} {
		samePoints(t, "points of "+key, pointsOf(t, b.DB, b.iteration, &key), pointsOf(t, other, b.iteration, &key))
	}
	r = must(b.Archive.Import(ctx, domain.System, file(t, exported(t, other, q)), archive.ImportOptions{}))(t)
	if r.Unchanged != 2 || r.Lost != 0 {
		t.Errorf("back where it came from: %+v", r)
	}

	mine, theirs := "mine", "theirs"
	wantOK(t, b.Runs.UpdateIteration(ctx, domain.System, b.iteration, runs.IterationPatch{Notes: &mine}))
	wantOK(t, other.Runs.UpdateIteration(ctx, domain.System, b.iteration, runs.IterationPatch{Notes: &theirs}))
	r = must(other.Archive.Import(ctx, domain.System, file(t, b.export(t, q)), archive.ImportOptions{}))(t)
	if r.LeftOut != 1 || r.Lost != 1 || !strings.Contains(r.Losses[0].Reason, "changed on both sides") {
		t.Errorf("changed on both sides: %+v", r)
	}
	if it := must(other.Runs.Iteration(ctx, domain.System, b.iteration))(t); it.Notes != "theirs" {
		t.Errorf("the notes are %q", it.Notes)
	}
}

// TestArchiveStopped interrupts an import after each record and then resumes it.
func TestArchiveStopped(t *testing.T) {
	b := fullBed(t)
	q := archive.Query{ProjectID: b.project}
	content := b.export(t, q)
	path := file(t, content)
	other := open(t, store.Options{Exclusive: true, Backends: folder(t)})
	for stop := 1; ; stop++ {
		ctx, cancel := context.WithCancel(ctx)
		_, err := other.Archive.Import(ctx, domain.System, path, archive.ImportOptions{Progress: func(done, all int) {
			if done == stop {
				cancel()
			}
		}})
		cancel()
		if err == nil {
			break
		}
		if stop > 50 {
			t.Fatal(err)
		}
	}
	if again := exported(t, other, q); !bytes.Equal(content, again) {
		t.Error("the export of the import differs:\n", differences(t, content, again))
	}
}

// TestArchiveRights imports as users with and without rights.
func TestArchiveRights(t *testing.T) {
	b := fullBed(t)
	ada := must(b.Users.CreateUser(ctx, domain.System, users.NewUser{Username: "ada", Password: "secret123"}))(t).ID
	actor := domain.Actor{UserID: ada}
	q := archive.Query{ProjectID: b.project}
	wantCode(t, b.Archive.Export(ctx, actor, q, archive.Options{}, io.Discard), domain.CodeProjectPermissionRequired)
	path := file(t, b.export(t, q))
	_, err := b.Archive.Import(ctx, actor, path, archive.ImportOptions{})
	wantCode(t, err, domain.CodeProjectPermissionRequired)

	other := open(t, store.Options{Exclusive: true, Backends: folder(t)})
	eve := domain.Actor{UserID: must(other.Users.CreateUser(ctx, domain.System, users.NewUser{Username: "eve", Password: "secret123"}))(t).ID}
	r := must(other.Archive.Import(ctx, eve, path, archive.ImportOptions{}))(t)
	if r.Created != 2 {
		t.Errorf("imported: %+v", r)
	}
	must(other.Runs.Iteration(ctx, eve, b.iteration))(t) // she has all rights in the project
	adam := domain.Actor{UserID: must(other.Users.CreateUser(ctx, domain.System, users.NewUser{Username: "adam", Password: "secret123"}))(t).ID}
	_, err = other.Archive.Import(ctx, adam, path, archive.ImportOptions{})
	wantCode(t, err, domain.CodeProjectPermissionRequired)
}

// TestArchiveOfEarlierVersion imports an archive whose database has small pages and uses a
// write-ahead log, as in archives from earlier versions of the program.
func TestArchiveOfEarlierVersion(t *testing.T) {
	b := fullBed(t)
	files := unzip(t, b.export(t, archive.Query{ProjectID: b.project}))
	path := filepath.Join(t.TempDir(), "tracker.db")
	wantOK(t, os.WriteFile(path, files["tracker.db"], 0o600))
	db := raw(t, path)
	for _, s := range []string{`PRAGMA journal_mode = delete`, `PRAGMA page_size = 1024`, `VACUUM`, `PRAGMA journal_mode = wal`} {
		execSQL(t, db, s)
	}
	wantOK(t, db.Close())
	other := open(t, store.Options{Exclusive: true, Backends: folder(t)})
	r := must(other.Archive.Import(ctx, domain.System, file(t, repacked(t, files, path)), archive.ImportOptions{}))(t)
	if r.Created != 2 || r.Points != 3004 || r.Lost != 0 {
		t.Errorf("imported: %+v", r)
	}
	if again := exported(t, other, archive.Query{ProjectID: b.project}); !bytes.Equal(unzip(t, again)["tracker.db"], files["tracker.db"]) {
		t.Error("the export of the import has another database")
	}
}

// TestArchiveStates compares the states that an export reports with the states of Records.
func TestArchiveStates(t *testing.T) {
	b := fullBed(t)
	order, want, err := b.Archive.AllRecords(ctx, domain.System, b.project, func(string) bool { return true })
	wantOK(t, err)
	got := map[string]archive.RecordState{}
	wantOK(t, b.Archive.Export(ctx, domain.System, archive.Query{ProjectID: b.project, Records: order}, archive.Options{
		State: func(name string, s record.State) { got[name] = archive.RecordState{Record: name, State: s} },
	}, io.Discard))
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the export reports %v, and the records are %v", got, want)
	}
	_, some, err := b.Archive.AllRecords(ctx, domain.System, b.project, func(name string) bool { return name == order[0] })
	wantOK(t, err)
	for _, name := range order {
		s := archive.RecordState{Record: name}
		if name == order[0] {
			s = want[name]
		}
		if !reflect.DeepEqual(some[name], s) {
			t.Errorf("%s is %v, not %v", name, some[name], s)
		}
	}
}

// TestArchiveLongRun copies a run with too many points for a buffer, and then the points that
// were added to it.
func TestArchiveLongRun(t *testing.T) {
	if testing.Short() {
		t.Skip("logs 150,000 points")
	}
	b := fullBed(t)
	other := open(t, store.Options{Exclusive: true, Backends: folder(t)})
	next := int64(0)
	add := func(steps int64) {
		var batch []points.Sample
		for end := next + steps; next < end; next++ {
			for _, key := range []string{"long/a", "long/b", "long/c"} {
				batch = append(batch, point(key, next, float64(next)/7))
			}
			if len(batch) > 9000 || next == end-1 {
				wantOK(t, b.Runs.CreateMetrics(ctx, domain.System, b.iteration, batch))
				batch = batch[:0]
			}
		}
	}
	for _, steps := range []int64{50_000, 20} {
		add(steps)
		r := must(other.Archive.Import(ctx, domain.System, file(t, b.export(t, archive.Query{ProjectID: b.project})), archive.ImportOptions{}))(t)
		if steps == 20 && (r.Points != 60 || r.Dropped != 0) || r.Lost != 0 {
			t.Errorf("imported: %+v", r)
		}
		all := func(string) bool { return true }
		_, want, err := b.Archive.AllRecords(ctx, domain.System, b.project, all)
		wantOK(t, err)
		_, got, err := other.Archive.AllRecords(ctx, domain.System, b.project, all)
		wantOK(t, err)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("the records are %v, not %v", got, want)
		}
		if problems := must(other.Check(ctx, false))(t); len(problems) > 0 {
			t.Errorf("after the import: %v", problems)
		}
	}
}
