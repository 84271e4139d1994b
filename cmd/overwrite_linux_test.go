package cmd

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A database file that is mounted into two containers has two paths, and so two lock files and two
// write-ahead logs. A second server and commands do not start on it.
func TestDatabaseInTwoContainers(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	p := startServer(t, first, nil)
	w := dial(t, p)
	w.create(t, "/project", `{"name": "first"}`)
	mounted := filepath.Join(second, "tracker.db")
	if err := os.WriteFile(mounted, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	inside := func(flags []string, args ...string) (string, error) {
		script := `mount --bind "$1" "$2" && shift 2 && exec timeout 60 "$@"`
		all := append(append([]string{"-m"}, flags...), "sh", "-ec", script, "sh", filepath.Join(first, "tracker.db"), mounted, buildBinary(t))
		c := exec.Command("unshare", append(all, args...)...)
		c.Dir = second
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		err := c.Run()
		return out.String(), err
	}
	if out, err := inside(nil, "version"); err != nil {
		t.Logf("this user can't mount: %v %s", err, out)
		return
	}
	serve := []string{"serve", "--port", "0", "--enable-ui=false"}
	for _, c := range []struct {
		flags, args []string
		says        string
	}{
		{nil, serve, fmt.Sprintf("is already being served by process %d, under another path", p.PID)},
		{[]string{"--pid", "--fork"}, serve, "is already being served by a process of another container or computer"},
		{nil, []string{"check"}, fmt.Sprintf("served by process %d", p.PID)},
		{nil, []string{"backup", "copy.db"}, fmt.Sprintf("served by process %d", p.PID)},
		{nil, []string{"restore", filepath.Join(first, "tracker.db"), "--force"}, ""},
	} {
		out, err := inside(c.flags, c.args...)
		if err == nil || !strings.Contains(out, c.says) {
			t.Errorf("%v %v: %v, %q, want %q", c.flags, c.args, err, out, c.says)
		}
	}
	w.create(t, "/project", `{"name": "later"}`)
	p.stop()
	if n := queryInt(t, filepath.Join(first, "tracker.db"), `SELECT count(*) FROM project`); n != 2 {
		t.Errorf("%d projects, want 2", n)
	}
}

// After another program has overwritten the database, the server acknowledges no writes and changes
// neither the file nor the write-ahead log. The next start does not apply the log to the file.
func TestOverwrittenDatabase(t *testing.T) {
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "tracker.db"), filepath.Join(dir, "backup.db")
	shell := func(script string) {
		t.Helper()
		if out, err := exec.Command("sh", "-ec", script, "sh", path, backup).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v %s", script, err, out)
		}
	}
	overwrite := func(p *process, script string) {
		t.Helper()
		w := dial(t, p)
		w.create(t, "/project", `{"name": "in the log"}`)
		shell(script)
		for range 3 {
			r := w.must(t, 503, "POST", "/project", `{"name": "lost"}`)
			if !strings.Contains(string(r.Body), "Another program overwrote the database") {
				t.Errorf("it answers %s", r)
			}
		}
		w.must(t, 503, "GET", "/health", "")
		p.waitFor("no more writes are accepted")
	}
	end := func(p *process) {
		t.Helper()
		p.signal(os.Interrupt)
		if code := p.wait(); code == 0 {
			t.Error("it ends as if nothing had happened")
		}
	}
	p := startServer(t, dir, nil)
	dial(t, p).create(t, "/project", `{"name": "in the backup"}`)
	runBinary(t, dir, nil, "", "backup", backup).must(t)
	overwrite(p, `cp "$2" "$1"`)
	runBinary(t, dir, nil, "", "check").refused(t, 1, "was overwritten")
	end(p)
	shell(`cmp "$1" "$2"`)
	for _, args := range [][]string{{"serve", "--port", "0", "--enable-ui=false"}, {"check"}, {"backup", "new.db"}} {
		runBinary(t, dir, nil, "", args...).refused(t, 1, "tracker.db-wal belongs to its previous contents: restore a backup")
	}
	shell(`cmp "$1" "$2"`)
	projects := func() (n int) { return queryInt(t, path, `SELECT count(*) FROM project`) }

	// Case: the user keeps the file that was copied over the database.
	shell(`rm "$1-wal" "$1-shm"`)
	p = startServer(t, dir, nil)
	overwrite(p, `: > "$1"`)
	p.kill()
	runBinary(t, dir, nil, "", "check").refused(t, 1, "empty")
	shell(`cp "$2" "$1"`)
	runBinary(t, dir, nil, "", "check").refused(t, 1, "was overwritten")

	// Case: the user restores a backup.
	runBinary(t, dir, nil, "", "restore", backup, "--force").must(t)
	p = startServer(t, dir, nil)
	dial(t, p).create(t, "/project", `{"name": "after"}`)
	p.kill()
	p = startServer(t, dir, nil)
	p.stop()
	if n := projects(); n != 2 {
		t.Errorf("%d projects, want 2", n)
	}
	if got := runBinary(t, dir, nil, "", "check").must(t); got != "ok\n" {
		t.Error(got)
	}
}
