//go:build unix

package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tracker/cmd/bench"
)

// smallBench is a run that measures everything in a few seconds.
var smallBench = []string{"bench", "--points", "20000", "--iterations", "50", "--series", "3", "--steady", "1s"}

// benchFolder returns a folder for temporary files and the environment that selects it. The folder
// must be empty at the end of the test.
func benchFolder(t *testing.T) (dir string, env []string) {
	t.Helper()
	dir = t.TempDir()
	return dir, []string{"TMPDIR=" + dir}
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left behind (%v)", left, err)
	}
}

func readBench(t *testing.T, text string) (r bench.Report) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return r
}

// rows counts the rows and the unknown rows of each part.
func rows(t *testing.T, r bench.Report) string {
	t.Helper()
	var text strings.Builder
	for _, part := range bench.Parts() {
		all, unknown := 0, 0
		for _, row := range r.Rows {
			if row.Part != part {
				continue
			}
			all++
			switch {
			case row.Unknown != "":
				unknown++
			case row.Value == nil && row.P50 == nil, row.Value != nil && *row.Value <= 0,
				row.P50 != nil && (*row.P50 <= 0 || *row.P95 < *row.P50):
				t.Errorf("%s: %s says nothing: %+v", part, row.What, row)
			}
		}
		fmt.Fprintf(&text, "%s %d-%d ", part, all, unknown)
	}
	return text.String()
}

func TestBench(t *testing.T) {
	dir, env := benchFolder(t)
	env = append(env, "SERVICE_PORT=no port", "SERVICE_BASE_PATH=/elsewhere") // the server that the benchmark starts must not use these settings
	text := runBinary(t, dir, env, "", smallBench...).must(t)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) != 22 || !strings.HasPrefix(lines[0], "part ") {
		t.Errorf("%d lines, want 22:\n%s", len(lines), text)
	}
	for _, part := range bench.Parts() {
		if !strings.Contains(text, "\n"+part+" ") {
			t.Errorf("no rows for %s:\n%s", part, text)
		}
	}
	wantEmpty(t, dir)
}

func TestBenchKeepsItsFile(t *testing.T) {
	dir, env := benchFolder(t)
	kept := filepath.Join(t.TempDir(), "new", "folder")
	args := append(smallBench, "--json", "--only", "ingest,series", "--dir", kept)
	r := readBench(t, runBinary(t, dir, env, "", args...).must(t))
	if got, want := rows(t, r), "ingest 3-0 disk 0-0 single 0-0 steady 0-0 listing 0-0 series 2-0 late 0-0 memory 0-0 "; got != want {
		t.Errorf("rows: %s\nwant: %s", got, want)
	}
	entries, err := os.ReadDir(kept)
	if err != nil || len(entries) != 3 || r.File != filepath.Join(kept, "tracker.db") { // the database, its lock file and its reserve file
		t.Errorf("%v is kept (%v), and %q is said to be", entries, err, r.File)
	}
	if n := queryInt(t, r.File, `SELECT count(*) FROM metric_points`); n != r.Points || n != 20_000+20_000+3*6666 {
		t.Errorf("the file has %d points, and is said to have %d", n, r.Points)
	}
	runBinary(t, kept, nil, "", "check").must(t)
	runBinary(t, dir, env, "", args...).refused(t, 1, kept, "not empty")
	wantEmpty(t, dir)
}

// On a running server, with or without sign-in, the benchmark creates a project and deletes it at
// the end.
func TestBenchOfARunningServer(t *testing.T) {
	dir, env := benchFolder(t)
	secret := "SERVICE_JWT_SECRET=" + strings.Repeat("s", 32)
	served := t.TempDir()
	p := startServer(t, served, []string{secret}, "--enable-auth", "--base-path", "/tracker")
	args := append(smallBench, "--json", "--url", p.API)
	token := strings.TrimSpace(runBinary(t, served, []string{secret}, "", "token", "--user", "default").must(t))
	file := filepath.Join(served, "tracker.db")

	runBinary(t, dir, env, "", args...).refused(t, 1, "TOKEN_MISSING")
	r := readBench(t, runBinary(t, dir, env, "", append(args, "--token", token)...).must(t))
	if got, want := rows(t, r), "ingest 3-2 disk 1-1 single 3-2 steady 3-2 listing 3-0 series 2-0 late 3-2 memory 3-3 "; got != want {
		t.Errorf("rows: %s\nwant: %s", got, want)
	}
	if n := queryInt(t, file, `SELECT count(*) FROM project`); n != 0 {
		t.Errorf("%d projects are left", n)
	}

	r = readBench(t, runBinary(t, dir, env, "", append(args, "--token", token, "--keep", "--only", "single,steady")...).must(t))
	if n := queryInt(t, file, `SELECT count(*) FROM metric_points`); n != r.Points || n == 0 {
		t.Errorf("the project that was to be kept has %d points, want %d", n, r.Points)
	}
	p.stop()
	runBinary(t, dir, env, "", args...).refused(t, 1, p.API, "tracker serve")
	wantEmpty(t, dir)
}

// longBench is a benchmark run by the real program that would take an hour.
type longBench struct {
	cmd    *exec.Cmd
	log    *growing
	ended  chan struct{}
	server int // process id of the measured server
}

func startLongBench(t *testing.T, dir string, env []string) *longBench {
	t.Helper()
	b := &longBench{cmd: command(t, dir, env, "bench", "--only", "steady", "--steady", "1h"), log: newGrowing(), ended: make(chan struct{})}
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // to find processes that the benchmark leaves running
	b.cmd.Stderr = b.log
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = b.cmd.Wait() // the process state has the details
		close(b.ended)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-b.cmd.Process.Pid, syscall.SIGKILL) // returns an error if all processes have ended
		<-b.ended
	})
	// The second server is the measured one. The lock file of a server names its process.
	for b.server == 0 {
		locks, err := filepath.Glob(filepath.Join(dir, "*", "beside", "*", "tracker.db.lock"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range locks {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			b.server, _ = strconv.Atoi(strings.TrimSpace(string(text))) // empty at first
		}
		select {
		case <-b.ended:
			t.Fatalf("it ended by itself: %s", b.log)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return b
}

// wantEnd checks that the benchmark ends with code 1 and this error, and leaves no server running.
func (b *longBench) wantEnd(t *testing.T, says string) {
	t.Helper()
	<-b.ended
	result{b.cmd.ProcessState.ExitCode(), "", b.log.String()}.refused(t, 1, says)
	if err := syscall.Kill(-b.cmd.Process.Pid, 0); err != syscall.ESRCH {
		t.Errorf("a server is left running (%v)", err)
	}
}

func TestBenchInterrupted(t *testing.T) {
	dir, env := benchFolder(t)
	b := startLongBench(t, dir, env)
	if err := b.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	b.wantEnd(t, "interrupted")
	wantEmpty(t, dir)
}

func TestBenchOfADyingServer(t *testing.T) {
	dir, env := benchFolder(t)
	b := startLongBench(t, dir, env)
	if err := syscall.Kill(b.server, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.wantEnd(t, "the server stopped unexpectedly: signal: killed")
	wantEmpty(t, dir)
}

func TestBenchWrongUse(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"now"}, "unknown command"},
		{[]string{"--points", "many"}, "--points"},
		{[]string{"--points", "999"}, "--points must be from 1000"},
		{[]string{"--iterations", "0"}, "--iterations must be"},
		{[]string{"--series", "1001"}, "--series must be"},
		{[]string{"--steady", "10ms"}, "--steady must be"},
		{[]string{"--only", "ingest,speed"}, `no part "speed"`},
		{[]string{"--token", "t"}, "--url"},
		{[]string{"--keep"}, "--dir"},
		{[]string{"--url", "http://127.0.0.1:1", "--dir", "d"}, "leave out"},
		{[]string{"--url", "localhost:9000"}, "--url must be the address"},
		{[]string{"--url", "ftp://localhost"}, "--url must be the address"},
		{[]string{"--url", "http://localhost/?a=b"}, "--url must be the address"},
	} {
		runMain(t, nil, "", append([]string{"bench"}, c.args...)...).refused(t, 2, c.says)
	}
	wantEmpty(t, ".")
}
