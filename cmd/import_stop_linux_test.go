package cmd

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tracker/store/transfer"
	"tracker/store/transfer/tensorboard"
	"tracker/store/transfertest"
)

// An interrupted import reports the interrupt and the imported records. The same command imports
// the rest. Flags that choose names, artifacts and steps apply to both imports. If the import ends
// before the interrupt, the test repeats it from the beginning.
func TestInterruptedImport(t *testing.T) {
	inFullRuns(t)
	dir, env := t.TempDir(), []string{"SERVICE_ADMIN_PASSWORD=" + adminPassword, "SERVICE_LOG_LEVEL=warn"}
	for i := range 40 {
		eventFile(t, filepath.Join(dir, "runs", fmt.Sprintf("run-%0*d", i+1, i)), 20_000)
	}
	args := []string{"import", "runs", "--project", "p", "--experiment", "e", "--no-artifacts", "--steps", "all"}
	runBinary(t, dir, env, "", args...).must(t)
	want := transfertest.Dump(t, filepath.Join(dir, "tracker.db"))
	interrupted := false
	for i := 0; !interrupted; i++ {
		if i == 20 {
			t.Fatalf("%d imports have ended before they could be interrupted", i)
		}
		db := fmt.Sprintf("stopped-%d.db", i)
		args := append(slices.Clone(args), "--db-file", db)
		runBinary(t, dir, env, "", append(args, "--only", "nothing")...).must(t) // creates the database
		c := command(t, dir, env, args...)
		stdout, stderr := newGrowing(), newGrowing()
		c.Stdout, c.Stderr = stdout, stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		waitForSources(t, filepath.Join(dir, db))
		_ = c.Process.Signal(os.Interrupt) // returns an error if the process has ended
		_ = c.Wait()                       // the process state has the details
		text := stdout.String()
		early := c.ProcessState.ExitCode() == 0
		if !early && (c.ProcessState.ExitCode() != 1 || !strings.Contains(text, "Stopped before the end; the imported data is kept. Run the same command again to continue.\nFound ") ||
			!strings.HasSuffix(stderr.String(), "tracker: interrupted\n")) {
			t.Fatalf("%v: %s%s", c.ProcessState, text, stderr)
		}
		again := runBinary(t, dir, env, "", args...).must(t)
		interrupted = !early && !strings.Contains(again, "40 new") && !strings.Contains(again, "Imported 0 points")
		if got := transfertest.Dump(t, filepath.Join(dir, db)); got != want || !strings.Contains(got, "run|p|e|") {
			t.Errorf("there are %d bytes of records, and should be %d", len(got), len(want))
		}
	}
}

// waitForSources waits until a database has a source file.
func waitForSources(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=ro&_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for begun := time.Now(); time.Since(begun) < 5*time.Minute; time.Sleep(time.Millisecond) {
		var n int
		if err := db.QueryRow(`SELECT count(*) FROM source`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			return
		}
	}
	t.Fatal("nothing was imported for five minutes")
}

// --name sets the name of the only run, --no-artifacts omits files, and --steps all keeps the
// points that a restart repeats.
func TestImportFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	env := []string{"SERVICE_ADMIN_PASSWORD=" + adminPassword}
	writeFile(t, "wide.csv", "step,loss\n0,1\n1,0.5\n")
	runMain(t, env, "", "import", "wide.csv", "--name", "my run", "--project", "p").must(t)
	if runs := transfertest.Dump(t, "tracker.db", "run"); !strings.Contains(runs, "|my run|") {
		t.Error(runs)
	}
	for dir := range 2 {
		if err := os.MkdirAll(fmt.Sprintf("two/%d", dir), 0o755); err != nil {
			t.Fatal(err)
		}
		writeFile(t, fmt.Sprintf("two/%d/metrics.csv", dir), "step,loss\n0,1\n")
	}
	runMain(t, env, "", "import", "two", "--name", "my run").refused(t, 3, "1 thing was left out or changed")
	if runs := transfertest.Dump(t, "tracker.db", "run"); strings.Count(runs, "|my run|") != 2 || !strings.Contains(runs, "|1|") {
		t.Error(runs)
	}

	live := filepath.Join("live", "plots", "metrics")
	if err := os.MkdirAll(live, 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(live, "loss.tsv"), "step\tloss\n0\t1\n")
	writeFile(t, filepath.Join("live", "report.md"), "# hello")
	runMain(t, env, "", "import", "live", "--no-artifacts", "--db-file", "live.db").must(t)
	if got := transfertest.Dump(t, "live.db", "artifact"); got != "" {
		t.Errorf("there are artifacts: %s", got)
	}
	runMain(t, env, "", "import", "live", "--db-file", "live.db").must(t)
	if got := transfertest.Dump(t, "live.db", "artifact"); !strings.Contains(got, "|report.md|") {
		t.Errorf("the artifacts are not imported later: %q", got)
	}

	for file, steps := range [][2]transfer.Step{{0, 10}, {5, 12}} { // the second file begins before the last step of the first file
		if err := os.MkdirAll("runs/a", 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(fmt.Sprintf("runs/a/events.out.tfevents.%d", file))
		if err != nil {
			t.Fatal(err)
		}
		w, err := tensorboard.NewWriter(f, transfer.Time(1_700_000_000_000+file))
		for step := steps[0]; step < steps[1] && err == nil; step++ {
			err = w.Scalar("loss", step, 0.5, 1_700_000_000_000)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for steps, want := range map[string]string{"rewind": "|12|", "all": "|17|"} {
		out := runMain(t, env, "", "import", "runs", "--steps", steps, "--db-file", steps+".db").must(t)
		if got := transfertest.Dump(t, steps+".db", "series"); !strings.Contains(got, want) || strings.Contains(out, "--steps all keeps them") != (steps == "rewind") {
			t.Errorf("%s: %s\n%s", steps, got, out)
		}
	}
}
