//go:build unix

package cmd

import (
	"strings"
	"testing"
)

// Let the real program create the demo, because it is fast even if the test runs with the race
// detector.
func TestDemo(t *testing.T) {
	dir := seeded(t)
	runBinary(t, dir, nil, "", "seed", "--demo").must(t)
	t.Run("is believable", func(t *testing.T) { testDemoContent(t, dir) })
	t.Run("is not doubled", func(t *testing.T) { testDemoOnce(t, dir) })
}

func testDemoContent(t *testing.T, dir string) {
	for _, c := range []struct {
		what     string
		query    string
		min, max int
	}{
		{"projects", `SELECT count(*) FROM project`, 3, 3},
		{"iterations", `SELECT count(*) FROM iteration`, 100, 150},
		{"points", `SELECT count(*) FROM metric`, 100_000, 200_000},
		{"nested three deep", `SELECT count(*) FROM iteration c JOIN iteration p ON p.num = c.parent_num WHERE p.parent_num IS NOT NULL`, 1, 100},
		{"running", `SELECT count(*) FROM iteration WHERE status = 'RUNNING'`, 2, 5},
		{"failed with a reason", `SELECT count(*) FROM iteration WHERE status = 'FAILED' AND error_message <> ''`, 10, 20},
		{"killed", `SELECT count(*) FROM iteration WHERE status = 'KILLED'`, 1, 5},
		{"NaN", `SELECT count(*) FROM metric WHERE value IS NULL`, 10, 10_000},
		{"infinities", `SELECT count(*) FROM metric WHERE value = 9e999`, 1, 100},
		{"iterations with NaN", `SELECT count(DISTINCT iteration_id) FROM metric_points WHERE value IS NULL`, 10, 20},
		{"parameters", `SELECT count(*) FROM parameter`, 200, 2000},
		{"iterations with notes", `SELECT count(*) FROM iteration WHERE notes <> ''`, 3, 100},
		{"tagged iterations", `SELECT count(DISTINCT iteration_num) FROM tag WHERE iteration_num IS NOT NULL`, 5, 100},
		{"snapshots", `SELECT count(*) FROM snapshot`, 100, 150},
		{"models with five versions", `SELECT count(*) FROM model WHERE last_version = 5`, 1, 1},
		{"stages of versions", `SELECT count(DISTINCT stage) FROM model_version`, 4, 4},
		{"versions in production", `SELECT count(*) FROM model_version WHERE stage = 'PRODUCTION'`, 1, 1},
		{"versions older than their run", `SELECT count(*) FROM model_version JOIN iteration ON num = iteration_num
			WHERE model_version.created_date < coalesce(end_date, unixepoch('subsec') * 1000)`, 0, 0},
		{"versions out of order", `SELECT count(*) FROM model_version a JOIN model_version b USING (model_id)
			WHERE a.version < b.version AND a.created_date > b.created_date`, 0, 0},
		{"versions from the future", `SELECT count(*) FROM model_version WHERE updated_date > unixepoch('subsec') * 1000`, 0, 0},
		{"states of experiments", `SELECT count(DISTINCT status) FROM experiment`, 3, 3},
		{"accuracies out of range", `SELECT count(*) FROM metric_points WHERE key LIKE '%accuracy' AND NOT value BETWEEN 0 AND 1`, 0, 0},
		{"ends before the start", `SELECT count(*) FROM iteration WHERE end_date < created_date`, 0, 0},
		{"points outside of their run", `SELECT count(*) FROM metric_points JOIN iteration ON iteration.id = iteration_id
			WHERE recorded_at < created_date OR recorded_at > coalesce(end_date, last_seen)`, 0, 0},
		{"records from the future", `SELECT count(*) FROM iteration WHERE max(created_date, last_seen, coalesce(end_date, 0)) > unixepoch('subsec') * 1000`, 0, 0},
		{"children out of order", `SELECT count(*) FROM iteration a JOIN iteration b ON a.num < b.num AND a.experiment_id = b.experiment_id
			WHERE a.created_date > b.created_date`, 0, 0},
	} {
		if n := queryInt(t, "tracker.db", c.query); n < c.min || n > c.max {
			t.Errorf("%s: %d, want %d to %d", c.what, n, c.min, c.max)
		}
	}
	runBinary(t, dir, nil, "", "check").must(t)
}

func testDemoOnce(t *testing.T, dir string) {
	text := runBinary(t, dir, nil, "", "seed", "--demo").must(t)
	if strings.Count(text, "exists already") != 3 {
		t.Errorf("it does not say that the demo is there: %q", text)
	}
	if n := queryInt(t, "tracker.db", `SELECT count(*) FROM project`); n != 3 {
		t.Errorf("there are %d projects, want 3", n)
	}

	// Another project with the name of a demo project is not mistaken for the demo project.
	execSQL(t, "tracker.db", `DELETE FROM tag WHERE value = 'demo' AND project_id = (SELECT id FROM project WHERE name = 'House prices')`)
	text = runBinary(t, dir, nil, "", "seed", "--demo").must(t)
	if strings.Count(text, "exists already") != 2 || strings.Count(text, "Created the demo project") != 1 {
		t.Errorf("after one was taken over: %q", text)
	}
	if n := queryInt(t, "tracker.db", `SELECT count(*) FROM project`); n != 4 {
		t.Errorf("there are %d projects, want 4", n)
	}
}

// If a demo project can't be completed, it is removed.
func TestDemoLeavesNoHalfProject(t *testing.T) {
	t.Chdir(t.TempDir())
	runMain(t, nil, "", "seed").must(t)
	execSQL(t, "tracker.db", `CREATE TRIGGER full BEFORE INSERT ON parameter WHEN NEW.key = 'momentum'
		BEGIN SELECT raise(ABORT, 'no more'); END`)
	r := runMain(t, nil, "", "seed", "--demo")
	if r.code != 1 || !strings.Contains(r.stderr, "no more") {
		t.Fatalf("exit code %d, stderr %q", r.code, r.stderr)
	}
	for _, table := range []string{"project", "experiment", "iteration", "parameter", "series", "metric", "tag", "model", "model_version"} {
		if n := queryInt(t, "tracker.db", `SELECT count(*) FROM `+table); n != 0 {
			t.Errorf("%d rows of %s are left", n, table)
		}
	}
}
