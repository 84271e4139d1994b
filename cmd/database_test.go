package cmd

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/runs"
)

// execSQL changes a database file without the program.
func execSQL(t *testing.T, path, script string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(script, args...); err != nil {
		t.Fatal(err)
	}
}

// queryInt returns the number in the only row of a query.
func queryInt(t *testing.T, path, query string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow(query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// addPoints logs a metric with three points and returns the name of its project.
func addPoints(t *testing.T, projectName string) {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: "tracker.db"})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	project, err := db.Projects.CreateProject(t.Context(), domain.System, domain.NewProject{Name: projectName})
	if err != nil {
		t.Fatal(err)
	}
	experiment, err := db.Projects.CreateExperiment(t.Context(), domain.System, project.ID, projects.NewExperiment{Name: "e"})
	if err != nil {
		t.Fatal(err)
	}
	iteration, err := db.Runs.CreateIteration(t.Context(), domain.System, experiment.ID, runs.NewIteration{})
	if err != nil {
		t.Fatal(err)
	}
	points := []points.Sample{{Key: "loss", Value: 3}, {Key: "loss", Value: 2}, {Key: "loss", Value: 1}}
	if err := db.Runs.CreateMetrics(t.Context(), domain.System, iteration.ID, points); err != nil {
		t.Fatal(err)
	}
}

func TestSeed(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	env := []string{"SERVICE_DB_FILE=" + filepath.Join("deep", "er", "lab.db")}

	r := runMain(t, env, "", "seed")
	r.must(t)
	_, after, _ := strings.Cut(r.stderr, "\n\n    ")
	password, _, _ := strings.Cut(after, "\n")
	if len(password) < 16 || strings.Count(r.stderr, password) != 1 || strings.Contains(r.stdout, password) {
		t.Fatalf("no password on stderr, once: %q, %q", r.stderr, r.stdout)
	}
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join("deep", "er", "lab.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if u, err := db.Users.SignIn(t.Context(), "default", password); err != nil || !u.IsAdmin {
		t.Errorf("signing in with the printed password gives %+v, %v", u, err)
	}

	again := runMain(t, append(env, "SERVICE_ADMIN_PASSWORD=another one"), "", "seed")
	again.must(t)
	if again.stderr != "" {
		t.Errorf("the second time says %q", again.stderr)
	}
	if _, err := db.Users.SignIn(t.Context(), "default", password); err != nil {
		t.Error("the second time has changed the password")
	}
}

func TestBackup(t *testing.T) {
	dir := seeded(t)
	addPoints(t, "kept")
	text := runMain(t, nil, "", "backup", "copy.db").must(t)
	if !strings.Contains(text, filepath.Join(dir, "copy.db")) {
		t.Errorf("it does not say where the copy is: %q", text)
	}
	if n := queryInt(t, "copy.db", `SELECT count(*) FROM metric_points`); n != 3 {
		t.Errorf("the copy has %d points, want 3", n)
	}
	runMain(t, nil, "", "check", "--db-file", "copy.db").must(t)

	before, err := os.ReadFile("copy.db")
	if err != nil {
		t.Fatal(err)
	}
	addPoints(t, "later")
	runMain(t, nil, "", "backup", "copy.db").refused(t, 1, "copy.db", "already exists")
	if after, err := os.ReadFile("copy.db"); err != nil || string(after) != string(before) {
		t.Errorf("the refused backup has changed the file (%v)", err)
	}
	runMain(t, nil, "", "backup", filepath.Join("no", "such", "folder.db")).refused(t, 1, "does not exist: create it", filepath.Join("no", "such"))
	if left, err := filepath.Glob("*partial*"); err != nil || len(left) > 0 {
		t.Errorf("something is left over: %v, %v", left, err)
	}
}

func TestRestore(t *testing.T) {
	seeded(t)
	addPoints(t, "kept")
	runMain(t, nil, "", "backup", "copy.db").must(t)
	addPoints(t, "later")

	runMain(t, nil, "", "restore", "copy.db").refused(t, 1, "already exists", "--force")
	if n := queryInt(t, "tracker.db", `SELECT count(*) FROM project`); n != 2 {
		t.Fatalf("the refused restore has left %d projects, want 2", n)
	}

	text := runMain(t, nil, "", "restore", "copy.db", "--force").must(t)
	if n := queryInt(t, "tracker.db", `SELECT count(*) FROM project`); n != 1 {
		t.Errorf("there are %d projects, want the 1 of the backup", n)
	}
	aside, err := filepath.Glob("tracker.db.before-restore-*")
	if err != nil || len(aside) != 1 || !strings.Contains(text, aside[0]) {
		t.Fatalf("what was there is at %v (%v), and the output says %q", aside, err, text)
	}
	if n := queryInt(t, aside[0], `SELECT count(*) FROM project`); n != 2 {
		t.Errorf("what was kept aside has %d projects, want 2", n)
	}
	runMain(t, nil, "", "check").must(t)
}

func TestRestoreToWhereNothingIs(t *testing.T) {
	dir := seeded(t)
	addPoints(t, "kept")
	runMain(t, nil, "", "backup", "copy.db").must(t)
	target := filepath.Join(dir, "new", "lab.db")
	runMain(t, []string{"SERVICE_DB_FILE=" + target}, "", "restore", "copy.db").must(t)
	if n := queryInt(t, target, `SELECT count(*) FROM project`); n != 1 {
		t.Errorf("there are %d projects, want 1", n)
	}
}

func TestRestoreRefusesWhatIsNoBackup(t *testing.T) {
	seeded(t)
	writeFile(t, "noise.db", strings.Repeat("noise ", 5000))
	writeFile(t, "empty.db", "")
	execSQL(t, "other.db", `CREATE TABLE t (x)`)
	for _, name := range []string{"noise.db", "empty.db", "other.db", "nowhere.db"} {
		runMain(t, nil, "", "restore", name, "--force").refused(t, 1, name)
		runMain(t, nil, "", "restore", name, "--db-file", "fresh.db").refused(t, 1, name)
	}
	if _, err := os.Stat("fresh.db"); err == nil {
		t.Error("something was restored")
	}
	if !signsIn(t, "default", adminPassword) {
		t.Error("the database is not what it was")
	}
}

func TestCheck(t *testing.T) {
	seeded(t)
	addPoints(t, "p")
	if text := runMain(t, nil, "", "check").must(t); text != "ok\n" {
		t.Errorf("a sound database gives %q", text)
	}

	execSQL(t, "tracker.db", `UPDATE series SET count = count + 1, min = -1`)
	for range 2 { // a check changes nothing
		r := runMain(t, nil, "", "check")
		r.refused(t, 1, "1 problem remains of 1 in")
		if strings.Count(r.stdout, "\n") != 1 || !strings.Contains(r.stdout, `"loss"`) || !strings.Contains(r.stdout, "--repair") {
			t.Errorf("want a line for the one problem, got %q", r.stdout)
		}
	}
	text := runMain(t, nil, "", "check", "--repair").must(t)
	if lines := strings.Split(strings.TrimSpace(text), "\n"); len(lines) != 2 || !strings.HasSuffix(lines[0], "Repaired.") || lines[1] != "ok" {
		t.Errorf("the repair prints %q", text)
	}
	if text := runMain(t, nil, "", "check").must(t); text != "ok\n" {
		t.Errorf("after the repair: %q", text)
	}
}

// A changed point can't be restored. The check reports the change, and the repair accepts the point
// as it is.
func TestCheckOfAChangedPoint(t *testing.T) {
	seeded(t)
	addPoints(t, "p")
	execSQL(t, "tracker.db", `UPDATE metric SET recorded_at = recorded_at + 1 WHERE step = (SELECT min(step) FROM metric)`)
	r := runMain(t, nil, "", "check")
	r.refused(t, 1, "1 problem remains of 1 in")
	if !strings.Contains(r.stdout, `points of metric "loss"`) || !strings.Contains(r.stdout, "Restore a backup") {
		t.Errorf("got %q", r.stdout)
	}
	text := runMain(t, nil, "", "check", "--repair").must(t)
	if lines := strings.Split(strings.TrimSpace(text), "\n"); len(lines) != 2 || !strings.HasSuffix(lines[0], "Accepted unchanged.") || lines[1] != "ok" {
		t.Errorf("the repair prints %q", text)
	}
	if text := runMain(t, nil, "", "check").must(t); text != "ok\n" {
		t.Errorf("after the repair: %q", text)
	}
}

func TestCheckOfWhatCantBeRepaired(t *testing.T) {
	seeded(t)
	addPoints(t, "p")
	execSQL(t, "tracker.db", `PRAGMA foreign_keys = off; UPDATE iteration SET experiment_id = 'gone'; UPDATE series SET count = 9`)
	r := runMain(t, nil, "", "check", "--repair")
	// The third problem is the count of metric names in the old experiment, which includes the lost
	// metrics.
	r.refused(t, 1, "1 problem remains of 3 in")
	if !strings.Contains(r.stdout, "iteration") || !strings.Contains(r.stdout, "Repaired.") {
		t.Errorf("got %q", r.stdout)
	}
}
