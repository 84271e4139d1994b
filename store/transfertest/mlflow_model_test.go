package transfertest_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/transfer"
	"tracker/store/transfer/mlflow"
	"tracker/store/transfertest"
)

// modelStore writes a file store with a run and the registered model net. The model has a version
// for each creation time. Version 1 has the alias champion.
func modelStore(t *testing.T, run int, description string, created ...int64) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"1/meta.yaml":                       "experiment_id: '1'\nname: e\n",
		"1/" + mlflowID(run) + "/meta.yaml": "run_id: '" + mlflowID(run) + "'\nrun_name: r\nstatus: 3\nstart_time: 5\n",
		"models/net/meta.yaml":              fmt.Sprintf("name: net\ndescription: %s\ncreation_timestamp: %d\n", description, created[0]),
		"models/net/tags/owner":             description,
		"models/net/aliases/champion":       "1",
	}
	for i, at := range created {
		files[fmt.Sprintf("models/net/version-%d/meta.yaml", i+1)] = fmt.Sprintf("version: %d\nsource: runs:/x/%d\nrun_id: %s\ncreation_timestamp: %d\n",
			i+1, at, mlflowID(run), at)
	}
	for path, text := range files {
		write(t, filepath.Join(dir, "mlruns", filepath.FromSlash(path)), []byte(text))
	}
	return dir
}

// TestMLflowTwoStores imports the versions of two models with the same name from two stores. If the
// number of a version is taken, the version gets the next free number, and its origin is recorded.
// A repeated import changes nothing.
func TestMLflowTwoStores(t *testing.T) {
	a, b := modelStore(t, 1, "first", 100, 200), modelStore(t, 2, "second", 150, 250, 350)
	db, path := transfertest.Open(t)
	if r := transfertest.Import(t, db, mlflow.Kind(), a, transfer.Options{}); r.Models != 2 || r.Lost != 0 {
		t.Errorf("the first: %+v", r)
	}
	r := transfertest.Import(t, db, mlflow.Kind(), b, transfer.Options{})
	origin := func(n int) string {
		return fmt.Sprintf("imported.from=%s,imported.version=%d", filepath.Join(b, "mlruns", "models", "net"), n)
	}
	want := "registered|net|first|5|owner=first\n" +
		"version|1|r|runs:/x/100|NONE||champion|<nil>\n" +
		"version|2|r|runs:/x/200|NONE||-|<nil>\n" +
		"version|3|r|runs:/x/150|NONE||-|" + origin(1) + "\n" +
		"version|4|r|runs:/x/250|NONE||-|" + origin(2) + "\n" +
		"version|5|r|runs:/x/350|NONE||-|" + origin(3) + "\n"
	got := transfertest.Dump(t, path, "registered", "version")
	if got != want || r.Models != 3 {
		t.Errorf("%+v\n%swant\n%s", r, got, want)
	}
	for _, sentence := range []string{`Version 1 of the registered model "net" has the number 3 here`, `The alias "champion" of version 1`,
		`The description of the registered model "net"`, `The tag "owner" of the registered model "net"`} {
		if !lists(r, sentence) {
			t.Errorf("%q is not in %+v", sentence, r.Losses)
		}
	}
	before := transfertest.Dump(t, path)
	for _, from := range []string{b, a, b} {
		again := transfertest.Import(t, db, mlflow.Kind(), from, transfer.Options{})
		if again.Models != 0 || again.Lost != 0 || transfertest.Dump(t, path) != before {
			t.Errorf("again %s: %+v", from, again)
		}
	}
	checked(t, db)
}

// TestMLflowVersionsOfEarlierProgram checks that versions imported by an earlier version of
// tracker, which recorded no origin, are recognized. A version of another store with the same
// number is recognized as different.
func TestMLflowVersionsOfEarlierProgram(t *testing.T) {
	a, b := modelStore(t, 1, "first", 100), modelStore(t, 2, "second", 150)
	db, path := transfertest.Open(t)
	transfertest.Import(t, db, mlflow.Kind(), a, transfer.Options{})
	execute(t, raw(t, path), `UPDATE source SET fingerprint = '' WHERE path = 'version'; DELETE FROM source WHERE path NOT IN ('version', 'model') AND iteration_num IS NULL`)
	if r := transfertest.Import(t, db, mlflow.Kind(), a, transfer.Options{}); r.Models != 0 || r.Lost != 0 {
		t.Errorf("the same store: %+v", r)
	}
	r := transfertest.Import(t, db, mlflow.Kind(), b, transfer.Options{})
	if got := transfertest.Dump(t, path, "version"); r.Models != 1 || strings.Count(got, "\n") != 2 || !strings.Contains(got, "version|2|r|runs:/x/150|") {
		t.Errorf("another store: %+v\n%s", r, got)
	}
}

// TestMLflowAnotherProject checks that if the runs and models were already imported into another
// project, an import reports that project and creates no new one.
func TestMLflowAnotherProject(t *testing.T) {
	dir := modelStore(t, 1, "first", 100, 200)
	db, path := transfertest.Open(t)
	transfertest.Import(t, db, mlflow.Kind(), dir, transfer.Options{})
	before := transfertest.Dump(t, path)
	r := transfertest.Import(t, db, mlflow.Kind(), dir, transfer.Options{Project: "other"})
	if r.Models != 0 || r.Unchanged != 1 || r.Created != 0 || r.Lost != 2 || transfertest.Dump(t, path) != before {
		t.Errorf("%+v\n%s", r, transfertest.Dump(t, path))
	}
	for _, sentence := range []string{`1 run was imported before, into the project "MLflow"`, `The registered model "net" was imported before, into the project "MLflow"`} {
		if !lists(r, sentence) {
			t.Errorf("%q is not in %+v", sentence, r.Losses)
		}
	}
	all, err := db.Projects.Projects(t.Context(), domain.System, projects.ProjectQuery{Page: domain.Page{Limit: 10}})
	if err != nil || all.Total != 1 {
		t.Errorf("%d projects, %v", all.Total, err)
	}

	// A new version is imported into the same project as the existing versions.
	write(t, filepath.Join(dir, "mlruns", "models", "net", "version-3", "meta.yaml"), []byte("version: 3\nsource: s\ncreation_timestamp: 300\n"))
	r = transfertest.Import(t, db, mlflow.Kind(), dir, transfer.Options{Project: "other"})
	if got := transfertest.Dump(t, path, "version"); r.Models != 1 || strings.Count(got, "\n") != 3 {
		t.Errorf("%+v\n%s", r, got)
	}
	if all, err = db.Projects.Projects(t.Context(), domain.System, projects.ProjectQuery{Page: domain.Page{Limit: 10}}); err != nil || all.Total != 1 {
		t.Errorf("%d projects, %v", all.Total, err)
	}
}

// lists reports whether the reason of a loss contains text.
func lists(r *transfer.Result, text string) bool {
	for _, l := range r.Losses {
		if strings.Contains(l.Reason, text) {
			return true
		}
	}
	return false
}

// raw opens a database file until the test ends.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}
