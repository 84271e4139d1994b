//go:build unix

package cmd

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// waitForSQL waits until the result of a query equals want.
func waitForSQL(t *testing.T, db, query, want string) {
	t.Helper()
	got := ""
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		out, err := exec.CommandContext(t.Context(), "sqlite3", "-readonly", "-cmd", ".timeout 5000", db, query).CombinedOutput()
		if got = strings.TrimSpace(string(out)); err == nil && got == want {
			return
		}
	}
	t.Fatalf("%s is %q, want %q", query, got, want)
}

// A server follows a folder that is created after its start, and a command follows another folder
// into the same database.
func TestFollowWhileServing(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "tracker.db")
	const count = `SELECT count(*), coalesce(sum(points), 0) FROM (SELECT count(metric_points.step) AS points FROM iteration
		LEFT JOIN metric_points ON metric_points.iteration_id = iteration.id GROUP BY iteration.id)`
	p := startServer(t, dir, []string{"SERVICE_LOGDIR=" + filepath.Join(dir, "runs")})
	defer p.stop()
	eventFile(t, filepath.Join(dir, "runs", "a"), 3)
	waitForSQL(t, db, count, "1|3")
	eventFile(t, filepath.Join(dir, "runs", "a"), 5)
	waitForSQL(t, db, count, "1|5")

	other := filepath.Join(dir, "other")
	eventFile(t, filepath.Join(other, "b", "c"), 4)
	c := command(t, dir, nil, "follow", other)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	waitForSQL(t, db, `SELECT name FROM iteration ORDER BY num DESC LIMIT 1`, "b/c")
	_ = c.Process.Kill() // imported records stay
	_ = c.Wait()
	waitForSQL(t, db, `SELECT experiment.name FROM iteration JOIN experiment ON experiment.id = experiment_id ORDER BY num`, "runs\nother")
}
