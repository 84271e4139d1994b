package store_test

import (
	"bytes"
	"database/sql"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/storetest"
	"tracker/store/transfer"
	"tracker/store/users"
	"tracker/store/wandb"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// dumpSchema returns the application ID and user version of a database, and the SQL of its schema.
func dumpSchema(t testing.TB, db *sql.DB) string {
	t.Helper()
	var b strings.Builder
	for _, pragma := range []string{"application_id", "user_version"} {
		fmt.Fprintf(&b, "PRAGMA %s = %d;\n", pragma, ask[int](t, db, `PRAGMA `+pragma))
	}
	rows := must(db.Query(`SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL
		ORDER BY type = 'view', tbl_name, type <> 'table', name`))(t)
	defer rows.Close()
	for rows.Next() {
		var text string
		wantOK(t, rows.Scan(&text))
		fmt.Fprintf(&b, "\n%s;\n", text)
	}
	wantOK(t, rows.Err())
	return b.String()
}

// The whole schema is stored in testdata, so that a diff shows every change. Use go test ./store
// -run TestSchema -update to update it.
func TestSchema(t *testing.T) {
	const golden = "../testdata/schema.sql"
	db := open(t, store.Options{})
	got := dumpSchema(t, raw(t, db.Path()))
	if *update {
		wantOK(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want := bytes.ReplaceAll(must(os.ReadFile(golden))(t), []byte("\r\n"), []byte("\n"))
	if got != string(want) {
		t.Errorf("the schema is not what %s says; if that is right, run this test with -update.\n%s", golden, got)
	}
	// The dumped schema creates the same database.
	copied := raw(t, filepath.Join(t.TempDir(), "copy.db"))
	for _, statement := range strings.SplitAfter(string(want), ";\n\n") {
		if !strings.Contains(statement, "TABLE sqlite_sequence") { // SQLite creates this table itself
			execSQL(t, copied, statement)
		}
	}
	if again := dumpSchema(t, copied); again != got {
		t.Errorf("the golden file makes another schema:\n%s", again)
	}
}

func TestEveryTableIsStrict(t *testing.T) {
	file := raw(t, open(t, store.Options{}).Path())
	for _, table := range tables(t, file) {
		if ask[int](t, file, `SELECT strict FROM pragma_table_list WHERE name = ?`, table) != 1 {
			t.Errorf("table %s is not STRICT", table)
		}
	}
}

// fillAll is storetest.Fill with an imported experiment.
func fillAll(t testing.TB, b *bed, user string) (project string) {
	t.Helper()
	project = storetest.Fill(t, b.Bed, user)
	name := "full " + uuid.NewString()
	wantOK(t, b.Projects.UpdateProject(ctx, domain.System, project, projects.ProjectPatch{Name: &name}))
	must(b.Imports.Sink(domain.System).Write(ctx, []*transfer.Batch{{
		Run:   transfer.Run{ID: uuid.New(), Project: name, Experiment: "imported", Created: b.clock.Time(), Status: transfer.Running},
		Files: []transfer.File{{ID: uuid.New(), Path: "events", Fingerprint: "f"}},
	}}))(t)
	fillSweep(t, b, project)
	wantOK(t, storetest.CopyForSearch(b.DB, "loss"))
	return project
}

// fillSweep creates a sweep with a run that was assigned to an agent.
func fillSweep(t testing.TB, b *bed, project string) {
	t.Helper()
	id := uuid.NewString()[:8]
	must(b.Wandb.SaveSweep(ctx, domain.System, wandb.SweepChange{NewID: id, Project: project,
		Config: new(`{"method": "grid", "parameters": {"lr": {"values": [0.1, 0.2]}}}`)}))(t)
	agent := must(b.Wandb.CreateAgent(ctx, domain.System, id, "a"))(t)
	if given := must(b.Wandb.Heartbeat(ctx, domain.System, agent, "first", nil))(t); len(given) != 1 {
		t.Fatalf("the agent is given %v", given)
	}
}

// Deleting a record deletes everything in it, and nothing else.
func TestDeletingLeavesNoOrphans(t *testing.T) {
	b := newPlainBed(t)
	file := raw(t, b.Path())
	user := must(b.Users.CreateUser(ctx, domain.System, users.NewUser{Username: "ada", Password: "correct horse"}))(t).ID
	must(b.Users.CreateAPIKey(ctx, domain.System, user, users.NewAPIKey{Name: "key"}))(t)
	kept := fillAll(t, b, user)
	before := countRows(t, file)
	for table, n := range before {
		if n == 0 && !slices.Contains([]string{"idempotency", "recent", "blob_pin", "owner", "checksum_due"}, table) {
			t.Errorf("the test has put nothing into %s", table)
		}
	}
	removeModels := func(project string) { // their versions would prevent the deletion
		for _, m := range must(b.Models.Models(ctx, domain.System, project, registry.ModelQuery{Page: domain.FirstPage}))(t).Data {
			wantOK(t, b.Models.DeleteModel(ctx, domain.System, m.ID))
		}
	}
	remove := map[string]func(project string){
		"project": func(project string) { wantOK(t, b.Projects.DeleteProject(ctx, domain.System, project)) },
		"experiments": func(project string) {
			removeModels(project)
			for _, e := range must(b.Projects.Experiments(ctx, domain.System, project, projects.ExperimentQuery{Page: domain.FirstPage}))(t).Data {
				wantOK(t, b.Projects.DeleteExperiment(ctx, domain.System, e.ID))
			}
			wantOK(t, b.Projects.DeleteProject(ctx, domain.System, project))
		},
		"iterations": func(project string) {
			removeModels(project)
			for _, e := range must(b.Projects.Experiments(ctx, domain.System, project, projects.ExperimentQuery{Page: domain.FirstPage}))(t).Data {
				for _, i := range must(b.Runs.Iterations(ctx, domain.System, e.ID, runs.IterationQuery{Page: domain.FirstPage}))(t).Data {
					wantOK(t, b.Runs.DeleteIteration(ctx, domain.System, i.ID))
				}
			}
			for table, want := range before {
				belongs := slices.Contains([]string{"iteration", "parameter", "snapshot", "series", "metric", "metric_moved", "rollup"}, table)
				if n := ask[int](t, file, `SELECT count(*) FROM `+table); belongs && n != want {
					t.Errorf("%d rows in %s after the iterations are gone, want %d", n, table, want)
				}
			}
			wantOK(t, b.Projects.DeleteProject(ctx, domain.System, project))
		},
	}
	for name, remove := range remove {
		t.Run(name, func(t *testing.T) {
			remove(fillAll(t, b, user))
			must(b.Collect(ctx))(t)
			for table, n := range countRows(t, file) {
				if n != before[table] {
					t.Errorf("%d rows in %s, want %d", n, table, before[table])
				}
			}
			wantClean(t, b.DB)
		})
	}
	wantOK(t, b.Users.DeleteUser(ctx, domain.System, user))
	if n := ask[int](t, file, `SELECT count(*) FROM user_permission`); n != 0 {
		t.Errorf("%d permissions of a user who is gone", n)
	}
	wantOK(t, b.Projects.DeleteProject(ctx, domain.System, kept))
	wantOK(t, b.Projects.DeleteProject(ctx, domain.System, b.project))
	must(b.Collect(ctx))(t)
	for table, n := range countRows(t, file) {
		if n != 0 && table != "counter" && table != "search_key" && table != "audit" {
			t.Errorf("%d rows left in %s", n, table)
		}
	}
	if n := ask[int](t, file, `SELECT count(*) FROM source`); n != 1+len(remove) {
		t.Errorf("%d imported files are known, want all %d", n, 1+len(remove))
	}
	wantClean(t, b.DB)
}

func TestDeletingAParentKeepsItsChildren(t *testing.T) {
	b := newBed(t)
	child := must(b.Runs.CreateIteration(ctx, domain.System, b.experiment, runs.NewIteration{ParentIterationID: &b.iteration}))(t).ID
	grandchild := must(b.Runs.CreateIteration(ctx, domain.System, b.experiment, runs.NewIteration{ParentIterationID: &child}))(t).ID
	must(b.Runs.CreateMetric(ctx, domain.System, child, points.Sample{Key: "loss", Value: 1}))(t)
	wantOK(t, b.Runs.DeleteIteration(ctx, domain.System, b.iteration))
	if i := must(b.Runs.Iteration(ctx, domain.System, child))(t); i.ParentIterationID != nil {
		t.Errorf("the parent of the child is %s, which is gone", *i.ParentIterationID)
	}
	if n := len(pointsOf(t, b.DB, child, nil)); n != 1 {
		t.Errorf("%d points of the child", n)
	}
	if i := must(b.Runs.Iteration(ctx, domain.System, grandchild))(t); i.ParentIterationID == nil || *i.ParentIterationID != child {
		t.Errorf("the grandchild has the parent %v", i.ParentIterationID)
	}
	wantClean(t, b.DB)
}

// The number of a deleted parent is not reused, so its child does not get another parent.
func TestNumbersOfIterationsAreNotUsedAgain(t *testing.T) {
	b := newBed(t)
	file := raw(t, b.Path())
	number := func(id string) int {
		return ask[int](t, file, `SELECT num FROM iteration WHERE id = ?`, id)
	}
	last := number(b.iteration)
	wantOK(t, b.Runs.DeleteIteration(ctx, domain.System, b.iteration))
	if n := number(b.newIteration(t)); n <= last {
		t.Errorf("number %d again after %d", n, last)
	}
}
