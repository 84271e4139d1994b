package cmd

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// tightDisk is a folder with little free space.
type tightDisk struct {
	dir   string
	limit func(p *process) // reduces the free space for a running server
	free  func(p *process) // restores the free space
}

const ballast = "ballast"

// mountTight mounts a file system of size bytes. It returns nil if the user lacks the right to mount.
func mountTight(t *testing.T, size int) *tightDisk {
	t.Helper()
	dir := t.TempDir()
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+strconv.Itoa(size))
	if errors.Is(err, unix.EPERM) {
		t.Logf("this user may not mount: %v", err)
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return &tightDisk{dir: dir,
		limit: func(*process) { writeFile(t, filepath.Join(dir, ballast), strings.Repeat("x", size/8*5)) },
		free: func(*process) {
			if err := os.Remove(filepath.Join(dir, ballast)); err != nil {
				t.Fatal(err)
			}
		},
	}
}

// limitFiles returns a folder for a server whose files can't grow beyond size bytes.
func limitFiles(t *testing.T, size uint64) *tightDisk {
	set := func(p *process, size uint64) {
		if err := unix.Prlimit(p.PID, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY}, nil); err != nil {
			t.Fatal(err)
		}
	}
	return &tightDisk{dir: t.TempDir(),
		limit: func(p *process) { set(p, size) },
		free:  func(p *process) { set(p, unix.RLIM_INFINITY) },
	}
}

// On a full disk, only requests that do not fit are rejected. Acknowledged writes stay, reads
// continue, and writes succeed once there is space again.
func TestFullDisk(t *testing.T) {
	t.Run("file system", func(t *testing.T) {
		if d := mountTight(t, 16<<20); d != nil {
			testFullDisk(t, d)
		}
	})
	t.Run("file size limit", func(t *testing.T) { testFullDisk(t, limitFiles(t, 5<<20)) })
}

func testFullDisk(t *testing.T, d *tightDisk) {
	env := []string{"SERVICE_LOG_LEVEL=warn"}
	p := startServer(t, d.dir, env)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	clients := newClients(t, dial(t, p), seed, 4)
	each := func(do func(c *client, w *conn) error) {
		t.Helper()
		var group sync.WaitGroup
		for _, c := range clients {
			w := dial(t, p)
			group.Go(func() {
				if err := do(c, w); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if t.Failed() {
			t.Fatal(p.log)
		}
	}
	verify := func() {
		t.Helper()
		w := dial(t, p)
		for _, c := range clients {
			for _, b := range c.books {
				c.verify(t, w, b)
			}
		}
		verifyStatistics(t, w, clients, verifyShared(t, w, clients))
	}

	each(func(c *client, w *conn) error { return c.act(w, 20) })
	d.limit(p)
	each(func(c *client, w *conn) error { return c.fill(w, 64<<10) })
	each(func(c *client, w *conn) error { return c.fill(w, 0) })

	verify()
	w := dial(t, p)
	for _, path := range []string{"/health", "/project", "/user", "/auth/me", "/metrics", "/openapi.json"} {
		w.must(t, 200, "GET", path, "")
	}
	page, err := http.Get(p.UI)
	if err != nil {
		t.Fatal(err)
	}
	page.Body.Close()
	if page.StatusCode != 200 {
		t.Errorf("the dashboard answers %s", page.Status)
	}

	d.free(p)
	each(func(c *client, w *conn) error {
		if err := c.again(w); err != nil {
			return err
		}
		return c.act(w, 100)
	})
	verify()
	runBinary(t, d.dir, nil, "", "check").must(t)
	p.stop()

	p = startServer(t, d.dir, env)
	verify()
	p.stop()
}

// A server that stops while the disk is full loses no data.
func TestStopOnFullDisk(t *testing.T) {
	d := limitFiles(t, 5<<20)
	env := []string{"SERVICE_LOG_LEVEL=warn"}
	p := startServer(t, d.dir, env)
	c := newClients(t, dial(t, p), 1, 1)[0]
	d.limit(p)
	for _, size := range []int{64 << 10, 0} {
		if err := c.fill(dial(t, p), size); err != nil {
			t.Fatal(err)
		}
	}
	p.signal(unix.SIGTERM)
	code := p.wait()
	_, last, _ := strings.Cut(p.log.String(), "tracker: not enough disk space")
	if code != 1 || strings.Count(last, "\n") != 1 || !strings.Contains(last, "tracker.db-wal") {
		t.Errorf("exit code %d, and in the end:\n%s", code, last)
	}
	p = startServer(t, d.dir, env)
	w := dial(t, p)
	for _, b := range c.books {
		c.verify(t, w, b)
	}
	verifyShared(t, w, []*client{c})
	p.stop()
	runBinary(t, d.dir, nil, "", "check").must(t)
}

// A server without space for the first pages reports that and leaves no files behind that prevent
// the next start.
func TestStartOnFullDisk(t *testing.T) {
	empty, served := t.TempDir(), t.TempDir()
	runBinary(t, served, nil, "", "seed").must(t)
	serve := []string{"serve", "--port", "0", "--ui-port", "0"}
	for _, dir := range []string{empty, served} {
		limited(t, 8, dir, serve...).refused(t, 1, filepath.Join(dir, "tracker.db"), "not enough disk space")
		startServer(t, dir, nil).stop()
		runBinary(t, dir, nil, "", "check").must(t)
	}
	d := mountTight(t, 2<<20)
	if d == nil {
		return
	}
	writeFile(t, filepath.Join(d.dir, "used"), strings.Repeat("x", 3<<18))
	d.limit(nil)
	runBinary(t, d.dir, nil, "", serve...).refused(t, 1, filepath.Join(d.dir, "tracker.db"), "not enough disk space")
	d.free(nil)
	startServer(t, d.dir, nil).stop()
}

// A backup that does not fit leaves no file and does not change the database.
func TestBackupOntoFullDisk(t *testing.T) {
	dir := t.TempDir()
	runBinary(t, dir, nil, "", "seed").must(t)
	execSQL(t, filepath.Join(dir, "tracker.db"), `INSERT INTO project (id, name, description, created_date)
		VALUES ('p', 'large', hex(zeroblob(1000000)), 0)`)
	check := func(target string, r result) {
		t.Helper()
		r.refused(t, 1, target, "not enough disk space")
		left, err := filepath.Glob(target + "*")
		left = slices.DeleteFunc(left, func(path string) bool { return path == target+".lock" })
		if err != nil || len(left) > 0 {
			t.Errorf("%v is left behind (%v)", left, err)
		}
		runBinary(t, dir, nil, "", "check").must(t)
	}
	target := filepath.Join(t.TempDir(), "copy.db")
	check(target, limited(t, 2048, dir, "backup", target))
	if d := mountTight(t, 1<<20); d != nil {
		target = filepath.Join(d.dir, "copy.db")
		check(target, runBinary(t, dir, nil, "", "backup", target))
	}
	target = filepath.Join(dir, "copy.db")
	runBinary(t, dir, nil, "", "backup", target).must(t)
	check(filepath.Join(dir, "other.db"), limited(t, 2048, dir, "restore", "copy.db", "--db-file", "other.db"))
}

// act sends a number of requests and returns an error if one is rejected.
func (c *client) act(w *conn, steps int) error {
	for range steps {
		op := c.next()
		if err := c.send(w, op); err != nil {
			return err
		}
	}
	return nil
}

func (c *client) send(w *conn, op operation) error {
	r, err := w.Send(w.Request(op.method, op.path, op.key, op.body))
	if err != nil {
		return err
	}
	return c.settle(op, r)
}

// fill sends writes until ten have been rejected for lack of space. It writes parameters of size
// bytes or, if size is 0, records of all kinds.
func (c *client) fill(w *conn, size int) error {
	for refused := 0; refused < 10; {
		op := c.next()
		// If the last iteration was removed, the client creates a new one first.
		if n := len(c.books); size > 0 && n > 0 && c.books[n-1].open() {
			op = c.set(c.books[n-1], "filler", strings.Repeat("x", size))
		}
		r, err := w.Send(w.Request(op.method, op.path, op.key, op.body))
		if err != nil {
			return err
		}
		if r.Status == 507 && bytes.HasPrefix(r.Body, []byte(`{"code":"STORAGE_FULL","message":"`)) {
			refused++
			c.refused = &op
			continue
		}
		if err := c.settle(op, r); err != nil {
			return err
		}
	}
	return nil
}

// again repeats the last rejected request.
func (c *client) again(w *conn) error { return c.send(w, *c.refused) }

// limited returns a command whose files can't grow beyond the given number of 512-byte blocks.
func limited(t *testing.T, blocks int, dir string, args ...string) result {
	t.Helper()
	c := command(t, dir, nil, args...)
	c.Args = append([]string{"sh", "-c", "ulimit -f " + strconv.Itoa(blocks) + ` && exec "$0" "$@"`, c.Path}, args...)
	var err error
	if c.Path, err = exec.LookPath("sh"); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return result{c.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// On a completely full disk, permanently deleting artifacts and experiments frees space. After
// that, writes succeed again.
func TestDeleteOnFullDisk(t *testing.T) {
	d := mountTight(t, 64<<20)
	if d == nil {
		return
	}
	p := startServer(t, d.dir, []string{"SERVICE_LOG_LEVEL=warn"})
	w := dial(t, p)
	project := w.create(t, "/project", `{"name": "p"}`)
	experiments := []string{w.create(t, "/experiment/project/"+project, `{"name": "a"}`), w.create(t, "/experiment/project/"+project, `{"name": "b"}`)}
	artifact := upload(t, p, experiments[0], "a", bytes.Repeat([]byte("a"), 2<<20))
	upload(t, p, experiments[1], "b", bytes.Repeat([]byte("b"), 2<<20))
	eventually(t, "the reserve is written", func() bool {
		info, err := os.Stat(filepath.Join(d.dir, "tracker.db.reserve"))
		return err == nil && info.Size() == diskReserve
	})
	fillDisk(t, filepath.Join(d.dir, ballast))
	full := func() bool {
		r, err := w.Send(w.Request("POST", "/experiment/project/"+project, "", `{"name": "`+strings.Repeat("x", 200)+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		return r.Status == http.StatusInsufficientStorage
	}
	for i := 0; !full(); i++ {
		if i == 20_000 {
			t.Fatal("the disk never was full")
		}
	}
	w.must(t, 204, "DELETE", "/resource/"+artifact, "")
	w.must(t, 404, "GET", "/resource/"+artifact, "")
	w.must(t, 204, "DELETE", "/experiment/"+experiments[1], "")
	w.must(t, 204, "DELETE", "/trash/"+artifact, "")
	w.must(t, 204, "DELETE", "/trash/"+experiments[1], "")
	eventually(t, "the bytes of the deleted artifacts are gone", func() bool {
		left, err := filepath.Glob(filepath.Join(d.dir, "artifacts", "??", "*"))
		return err == nil && len(left) == 0
	})
	w.create(t, "/experiment/project/"+project, `{"name": "after"}`)
	runBinary(t, d.dir, nil, "", "check").must(t)
	p.stop()
}

// fillDisk writes to a file until its disk is full.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; {
		_, err := f.Write(make([]byte, size))
		switch {
		case errors.Is(err, unix.ENOSPC):
			size /= 2
		case err != nil:
			t.Fatal(err)
		}
	}
}

// eventually waits until so returns true.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in two minutes it was not so that %s", what)
		}
	}
}
