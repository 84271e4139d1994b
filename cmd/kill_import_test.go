//go:build unix

package cmd

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"tracker/store/transfertest"
)

// TestKillImport kills imports of event files and of an archive at random moments, 20 times each,
// and runs them again. The result must equal the result of an uninterrupted import.
func TestKillImport(t *testing.T) {
	inFullRuns(t)
	dir := t.TempDir()
	env := []string{"SERVICE_ADMIN_PASSWORD=" + adminPassword, "SERVICE_LOG_LEVEL=warn"}
	for i := range 30 {
		eventFile(t, filepath.Join(dir, "runs", fmt.Sprintf("run-%0*d", i+1, i)), 3000)
	}
	runBinary(t, dir, env, "", "import", "runs", "--project", "p").must(t)
	runBinary(t, dir, env, "", "export", "all.zip").must(t)
	seed := *killSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-kill-seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 11))

	killedImport(t, dir, env, random, "events.db", "import", "runs", "--project", "p")
	want := transfertest.Dump(t, filepath.Join(dir, "tracker.db"))
	if got := transfertest.Dump(t, filepath.Join(dir, "events.db")); got != want {
		t.Errorf("the event files: there are %d bytes of records, and should be %d", len(got), len(want))
	}

	killedImport(t, dir, env, random, "archive.db", "import", "all.zip")
	runBinary(t, dir, env, "", "export", "again.zip", "--db-file", "archive.db").must(t)
	first, second := bytesOf(t, filepath.Join(dir, "all.zip")), bytesOf(t, filepath.Join(dir, "again.zip"))
	if !bytes.Equal(first, second) {
		t.Error("the archive of the import differs")
	}
}

// killAtAnyMoment runs a command and kills it at a random moment of its normal duration lasts. If
// lasts is 0, it waits for the end of the command instead. It returns the elapsed time and whether
// the command ended by itself.
func killAtAnyMoment(t *testing.T, c *exec.Cmd, random *rand.Rand, lasts time.Duration) (took time.Duration, ended bool) {
	t.Helper()
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	begun := time.Now()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if lasts > 0 {
		time.Sleep(time.Duration(random.Int64N(int64(lasts)))) // the pause until the random moment
		_ = c.Process.Kill()                                   // returns an error if the process has ended
	}
	err := c.Wait()
	if c.ProcessState.ExitCode() > 0 {
		t.Fatalf("%v: %s", err, &out)
	}
	return time.Since(begun), err == nil
}

// killedImport kills a command 20 times at random moments, and then lets it complete.
func killedImport(t *testing.T, dir string, env []string, random *rand.Rand, db string, args ...string) {
	t.Helper()
	args = append(args, "--db-file", db)
	var lasts time.Duration
	killed := 0
	for range 20 {
		took, ended := killAtAnyMoment(t, command(t, dir, env, args...), random, lasts)
		if !ended {
			killed++
			continue
		}
		lasts = max(lasts, took)
		left, err := filepath.Glob(filepath.Join(dir, db+"*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range left { // start again from the beginning
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%v: %d of 20 killed, at most %v", args, killed, lasts)
	runBinary(t, dir, env, "", args...).must(t)
	runBinary(t, dir, env, "", "check", "--db-file", db).must(t)
}

func bytesOf(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
