//go:build unix

package cmd

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// served starts a server on a new database with an experiment and artifacts. artifacts maps the
// name of each artifact to its content.
func served(t *testing.T, env []string, artifacts map[string]string) (p *process, dir string, ids map[string]string) {
	t.Helper()
	dir, ids = t.TempDir(), map[string]string{}
	p = startServer(t, dir, env)
	w := dial(t, p)
	experiment := w.create(t, "/experiment/project/"+w.create(t, "/project", `{"name": "p"}`), `{"name": "e"}`)
	for name, content := range artifacts {
		ids[name] = upload(t, p, experiment, name, []byte(content))
	}
	return p, dir, ids
}

func (p *process) wantData(id, want string) {
	p.t.Helper()
	if got := string(dial(p.t, p).must(p.t, http.StatusOK, "GET", "/resource/"+id+"/data", "").Body); got != want {
		p.t.Errorf("%s has %.30q, want %.30q", id, got, want)
	}
}

// The artifact commands work while the server runs.
func TestArtifactCommands(t *testing.T) {
	t.Parallel()
	env := []string{"SERVICE_LOG_LEVEL=warn"}
	p, dir, ids := served(t, env, map[string]string{"a": "same bytes", "b": "same bytes", "c": strings.Repeat("c", 1_000_000)})
	run := func(args ...string) result {
		return runBinary(t, dir, env, "", append([]string{"artifacts"}, args...)...)
	}
	wants := func(text string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("%q is not in\n%s", part, text)
			}
		}
	}
	wants(run("usage").must(t), "3 artifacts of 1.0 MB, stored in 1.0 MB.", "filesystem  2", "p                    3", "  e                  3", "10 B   10 B")
	var usage struct {
		Artifacts, Contents int
		Bytes               int64
		Shared              []struct{ Artifacts int }
	}
	if err := json.Unmarshal([]byte(run("usage", "--json").must(t)), &usage); err != nil ||
		usage.Artifacts != 3 || usage.Contents != 2 || usage.Bytes != 1_000_020 || len(usage.Shared) != 1 || usage.Shared[0].Artifacts != 2 {
		t.Errorf("%+v, %v", usage, err)
	}

	wants(run("migrate", "--to", "inline").must(t), "Moving 2 blobs (1.0 MB) to inline.", "Moved 2 blobs (1.0 MB) to inline.")
	wants(run("migrate", "--to", "inline").must(t), "All artifacts are in inline.")
	p.wantData(ids["a"], "same bytes")
	p.wantData(ids["c"], strings.Repeat("c", 1_000_000))
	run("migrate", "--to", "filesystem").must(t)
	p.wantData(ids["b"], "same bytes")
	run("migrate", "--to", "s3").refused(t, 1, "No bucket is configured", "SERVICE_S3_BUCKET")

	wants(run("gc").must(t), "There is nothing to remove.")
	staged := filepath.Join(dir, "artifacts", "staging", uuid.NewString())
	writeFile(t, staged, "half")
	stray := filepath.Join(dir, "artifacts", "ab", "ab"+strings.Repeat("0", 62))
	if err := os.MkdirAll(filepath.Dir(stray), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, stray, "stray")
	r := runBinary(t, dir, env, "", "check")
	wants(r.must(t), "ok\n")
	wants(r.stderr, "1 orphan (5 B) belongs to no artifact", "1 orphan (4 B) may belong to an upload or a command that is running", "lists them, and can remove them after 20")
	wants(run("gc").must(t), "1 orphan (5 B) can be removed", "Kept 1 orphan (4 B) for now:", "upload in progress or interrupted; until 20")
	if err := os.Chtimes(staged, time.Time{}, time.Now().Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	wants(run("gc").must(t), filepath.Base(stray), filepath.Base(staged), "2 orphans (9 B) can be removed", "--delete")
	wants(run("gc", "--older-than", "3h").must(t), "1 orphan (5 B)")
	wants(run("gc", "--delete").must(t), "Removed 2 orphans (9 B).")
	for _, path := range []string{staged, stray} {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
	p.stop()
}

// Bytes claimed by a killed command or server are listed, with the time after which they can be
// freed and the command that frees them.
func TestClaimedBytes(t *testing.T) {
	t.Parallel()
	env := []string{"SERVICE_LOG_LEVEL=warn"}
	p, dir, _ := served(t, env, map[string]string{"a": "a"})
	p.stop()
	until := time.Now().Add(time.Hour - time.Minute)
	command, server := strings.Repeat("a", 64), strings.Repeat("b", 64)
	execSQL(t, filepath.Join(dir, "tracker.db"), `INSERT INTO blob (id, backend, hash, size_bytes) VALUES (100, 'inline', ?, 5), (101, 'filesystem', ?, 7)`, command, server)
	execSQL(t, filepath.Join(dir, "tracker.db"), `INSERT INTO blob_pin (blob_id, expires_date) VALUES (100, ?), (101, NULL)`, until.UnixMilli())
	r := runBinary(t, dir, env, "", "check")
	at := until.Local().Format("2006-01-02 15:04:05")
	wantHint := "tracker: 2 orphans (12 B) may belong to an upload or a command that is running, or was killed; " +
		"`tracker artifacts gc` lists them, and can remove them after " + at + "; of these, 1 is claimed by the server until its next start\n"
	if r.code != 0 || r.stdout != "ok\n" || r.stderr != wantHint {
		t.Errorf("%v, want the hint\n%s", r, wantHint)
	}
	want := "There is nothing to remove.\nKept 2 orphans (12 B) for now:\n" +
		"inline           5 B  " + command + "  (claimed by a command that is running or was killed; until " + at + ")\n" +
		"filesystem       7 B  " + server + "  (claimed by the server; if it was killed, its next start releases it)\n"
	if got := runBinary(t, dir, env, "", "artifacts", "gc", "--delete").must(t); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := runBinary(t, dir, env, "", "artifacts", "gc", "--older-than", "30s").must(t); !strings.Contains(got, "1 orphan (5 B) can be removed") {
		t.Error(got)
	}
}

// A deep check finds damage that an ordinary check misses, and the commands name missing blobs.
func TestCheckOfArtifacts(t *testing.T) {
	t.Parallel()
	env := []string{"SERVICE_LOG_LEVEL=warn"}
	p, dir, ids := served(t, env, map[string]string{"a.bin": "bytes", "b.bin": "other"})
	p.stop()
	path := filepath.Join(dir, "artifacts", sha256Of([]byte("bytes"))[:2], sha256Of([]byte("bytes")))
	check := func(args ...string) result { return runBinary(t, dir, env, "", append([]string{"check"}, args...)...) }
	writeFile(t, path, "BYTES")
	check().must(t)
	r := check("--deep")
	r.refused(t, 1, "1 problem remains of 1 in")
	if !strings.Contains(r.stdout, `"a.bin" (`+ids["a.bin"]+`) in filesystem`) {
		t.Error(r.stdout)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	check().refused(t, 1, "1 problem remains of 1 in")
	r = runBinary(t, dir, env, "", "artifacts", "migrate", "--to", "inline")
	if r.refused(t, 1, "1 blob could not be moved"); !strings.Contains(r.stdout, "stays in filesystem") {
		t.Error(r.stdout)
	}
	r = check("--artifact-root", "elsewhere")
	if r.code != 1 || !strings.Contains(r.stdout, filepath.Join(dir, "elsewhere")) || !strings.Contains(r.stdout, "SERVICE_ARTIFACT_ROOT") {
		t.Errorf("%v", r)
	}
	if _, err := os.Stat(filepath.Join(dir, "elsewhere")); !os.IsNotExist(err) {
		t.Error("looking made a folder")
	}
}

// An interrupted migration reports the interrupt and continues when it is run again. If a migration
// ends before the interrupt, the test repeats it in the other direction.
func TestInterruptedMigration(t *testing.T) {
	t.Parallel()
	env := []string{"SERVICE_LOG_LEVEL=warn"}
	contents := map[string]string{}
	for _, name := range strings.Split("abcdefgh", "") {
		contents[name] = strings.Repeat(name, 2_000_000)
	}
	p, dir, ids := served(t, env, contents)
	migrate := func(to string) []string { return []string{"artifacts", "migrate", "--to", to} }
	interrupted := false
	for i := 0; !interrupted; i++ {
		if i == 50 {
			t.Fatalf("%d migrations have ended before they could be interrupted", i)
		}
		to := []string{"inline", "filesystem"}[i%2]
		c := command(t, dir, env, migrate(to)...)
		stdout, stderr := newGrowing(), newGrowing()
		c.Stdout, c.Stderr = stdout, stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if !stdout.waitFor("Moving 8 blobs") {
			t.Fatal(stderr)
		}
		_ = c.Process.Signal(os.Interrupt) // returns an error if the process has ended
		_ = c.Wait()                       // the process state has the details
		text := stdout.String()
		early := c.ProcessState.ExitCode() == 0
		if !early && (c.ProcessState.ExitCode() != 1 || !strings.Contains(text, "Run this command again") || !strings.HasSuffix(stderr.String(), "tracker: interrupted\n")) {
			t.Fatalf("%v: %s%s", c.ProcessState, text, stderr)
		}
		again := runBinary(t, dir, env, "", migrate(to)...).must(t)
		interrupted = !early && strings.Contains(again, "Moving ")
	}
	for name, id := range ids {
		p.wantData(id, contents[name])
	}
	p.stop()
	runBinary(t, dir, env, "", "check", "--deep").must(t)
}

// If its artifacts can't be stored, a server starts anyway and logs a warning. It removes files
// left behind by a killed server unless they are recent.
func TestServeLooksAtArtifacts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "artifacts"), "not a folder")
	p := startServer(t, dir, nil)
	p.waitFor("tracker: warning: artifacts in filesystem can't be stored or read now: The path of the artifacts folder is not a folder; set SERVICE_ARTIFACT_ROOT")
	p.stop()
	p = startServer(t, t.TempDir(), []string{"SERVICE_ARTIFACT_BACKEND=s3", "SERVICE_S3_BUCKET=bucket", "SERVICE_S3_ENDPOINT=http://127.0.0.1:1",
		"SERVICE_S3_ACCESS_KEY=a", "SERVICE_S3_SECRET_KEY=s"})
	p.waitFor("tracker: warning: artifacts in s3 can't be stored or read now: The object store at 127.0.0.1:1 does not answer")
	p.stop()

	dir = t.TempDir()
	old, young := filepath.Join(dir, "artifacts", "staging", uuid.NewString()), filepath.Join(dir, "artifacts", "staging", uuid.NewString())
	if err := os.MkdirAll(filepath.Dir(old), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{old, young} {
		writeFile(t, path, "half")
	}
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	p = startServer(t, dir, nil)
	p.waitFor("removed the remains of interrupted uploads")
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Error(err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Error(err)
	}
	p.stop()
}

// An empty file is not a valid database.
func TestCheckEmptyFile(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "tracker.db"), "")
	r := runBinary(t, dir, nil, "", "check")
	if r.code != 1 || !strings.Contains(r.stderr, "is an empty file") {
		t.Errorf("check of an empty file: %d, %s%s", r.code, r.stdout, r.stderr)
	}
}
