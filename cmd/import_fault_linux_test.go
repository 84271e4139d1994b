package cmd

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tracker/store/transfertest"
)

// Two concurrent imports of the same files import nothing twice. One of them can fail with a
// message about the other.
func TestTwoImportsAtOnce(t *testing.T) {
	inFullRuns(t)
	dir, env := t.TempDir(), []string{"SERVICE_ADMIN_PASSWORD=" + adminPassword, "SERVICE_LOG_LEVEL=warn"}
	for i := range 20 {
		eventFile(t, filepath.Join(dir, "runs", fmt.Sprintf("run-%0*d", i+1, i)), 20_000)
	}
	args := []string{"import", "runs", "--project", "p"}
	runBinary(t, dir, env, "", args...).must(t)
	args = append(args, "--db-file", "two.db")
	runBinary(t, dir, env, "", append(args, "--only", "nothing")...).must(t) // creates the database
	var both sync.WaitGroup
	results := make([]result, 2)
	for i := range results {
		both.Go(func() { results[i] = runBinary(t, dir, env, "", args...) })
	}
	both.Wait()
	failed := 0
	for _, r := range results {
		if r.code != 0 {
			failed++
			if r.code != 1 || !strings.Contains(r.stderr, "Another import of the same files is running") {
				t.Errorf("%+v", r)
			}
		}
	}
	if failed == 2 {
		t.Error("both have failed")
	}
	runBinary(t, dir, env, "", args...).must(t)
	want := transfertest.Dump(t, filepath.Join(dir, "tracker.db"))
	if got := transfertest.Dump(t, filepath.Join(dir, "two.db")); got != want {
		t.Errorf("there are %d bytes of records, and should be %d", len(got), len(want))
	}
}

// An import on a full disk reports that and continues once there is space.
func TestImportOnFullDisk(t *testing.T) {
	dir, env := t.TempDir(), []string{"SERVICE_ADMIN_PASSWORD=" + adminPassword, "SERVICE_LOG_LEVEL=warn"}
	for i := range 10 {
		eventFile(t, filepath.Join(dir, "runs", fmt.Sprintf("run-%0*d", i+1, i)), 20_000)
	}
	args := []string{"import", "runs", "--project", "p"}
	runBinary(t, dir, env, "", args...).must(t)
	args = append(args, "--db-file", "full.db")
	runBinary(t, dir, env, "", append(args, "--only", "nothing")...).must(t) // creates the database
	r := limited(t, 4000, dir, args...)
	if r.code != 1 || !strings.Contains(r.stderr, "Run the same command again to continue") || strings.Contains(r.stderr, "goroutine") {
		t.Errorf("%+v", r)
	}
	runBinary(t, dir, env, "", args...).must(t)
	want := transfertest.Dump(t, filepath.Join(dir, "tracker.db"))
	if got := transfertest.Dump(t, filepath.Join(dir, "full.db")); got != want {
		t.Errorf("there are %d bytes of records, and should be %d", len(got), len(want))
	}
}
