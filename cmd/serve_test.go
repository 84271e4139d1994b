//go:build unix

package cmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestServeSaysWhereItIs(t *testing.T) {
	for _, base := range []string{"", "/lab/tracker"} {
		p := startServer(t, t.TempDir(), []string{"SERVICE_BASE_PATH=" + base})
		for _, at := range []string{p.API, p.UI} {
			if !strings.HasSuffix(at, base) || strings.HasSuffix(at, "/") {
				t.Errorf("%s does not end with the base path %q", at, base)
			}
		}
		if status, answer := p.call("GET", "/health", "", ""); status != 200 || answer["status"] != "ok" || answer["version"] != Version() {
			t.Errorf("GET %s/health answers %d %v", p.API, status, answer)
		}
		page, err := http.Get(p.UI)
		if err != nil {
			t.Fatal(err)
		}
		page.Body.Close()
		if page.StatusCode != 200 || !strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") {
			t.Errorf("GET %s answers %s", p.UI, page.Status)
		}
		p.stop()
	}
}

func TestServeWithoutDashboard(t *testing.T) {
	p := startServer(t, t.TempDir(), nil, "--enable-ui=false")
	if status, _ := p.call("GET", "/health", "", ""); status != 200 {
		t.Errorf("the API answers %d", status)
	}
	p.stop()
}

func TestFirstStartMakesTheAdmin(t *testing.T) {
	dir := t.TempDir()
	p := startServer(t, dir, nil)
	for _, guess := range []string{"", "default", adminPassword} {
		if status, _ := p.signIn("default", guess); status == 200 {
			t.Errorf("the password %q of an account without a password is taken", guess)
		}
	}
	p.stop()
	if strings.Contains(p.log.String(), "password") {
		t.Errorf("a start without sign-in mentions a password:\n%s", p.log)
	}

	env := []string{"SERVICE_JWT_SECRET=" + strings.Repeat("k", 32)}
	p = startServer(t, dir, env, "--enable-auth")
	p.waitFor("password")
	_, after, _ := strings.Cut(p.log.String(), "\n\n    ")
	password, _, _ := strings.Cut(after, "\n")
	if status, _ := p.signIn("default", password); status != 200 {
		t.Errorf("signing in with the printed password %q answers %d", password, status)
	}
	p.stop()
	if strings.Count(p.log.String(), password) != 1 {
		t.Errorf("the password is not printed once:\n%s", p.log)
	}

	p = startServer(t, dir, append(env, "SERVICE_ADMIN_PASSWORD="+adminPassword), "--enable-auth")
	if status, _ := p.signIn("default", password); status != 200 {
		t.Errorf("after a restart the password answers %d", status)
	}
	if status, _ := p.signIn("default", adminPassword); status == 200 {
		t.Error("SERVICE_ADMIN_PASSWORD replaces a password")
	}
	p.stop()
	if strings.Contains(p.log.String(), "password") {
		t.Errorf("the second start with sign-in mentions a password:\n%s", p.log)
	}

	p = startServer(t, t.TempDir(), []string{"SERVICE_ADMIN_PASSWORD=" + adminPassword})
	if status, _ := p.signIn("default", adminPassword); status != 200 {
		t.Errorf("signing in with SERVICE_ADMIN_PASSWORD answers %d", status)
	}
	p.stop()
	if strings.Contains(p.log.String(), adminPassword) {
		t.Errorf("the chosen password is printed:\n%s", p.log)
	}
}

// A password that was set before sign-in is turned on stays valid, and no password is printed.
func TestPasswordBeforeSignIn(t *testing.T) {
	dir := t.TempDir()
	startServer(t, dir, nil).stop()
	runBinary(t, dir, nil, adminPassword+"\n", "reset-password").must(t)
	p := startServer(t, dir, []string{"SERVICE_JWT_SECRET=" + strings.Repeat("k", 32)}, "--enable-auth")
	if status, _ := p.signIn("default", adminPassword); status != 200 {
		t.Errorf("signing in with the password that was set answers %d", status)
	}
	p.stop()
	if strings.Contains(p.log.String(), "password") {
		t.Errorf("the start mentions a password:\n%s", p.log)
	}
}

func TestPortInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, number, err := net.SplitHostPort(taken.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args    []string
		setting string
	}{
		{[]string{"--port", number, "--ui-port", "0"}, "SERVICE_PORT"},
		{[]string{"--port", "0", "--ui-port", number}, "SERVICE_UI_PORT"},
	} {
		dir := t.TempDir()
		runBinary(t, dir, nil, "", append([]string{"serve"}, c.args...)...).
			refused(t, 1, "port "+number+" on 127.0.0.1 is in use", c.setting)
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("something was made: %v, %v", entries, err)
		}
	}
}

func TestAddressThatIsNotHere(t *testing.T) {
	runBinary(t, t.TempDir(), nil, "", "serve", "--host", "192.0.2.1", "--port", "0").refused(t, 1, "192.0.2.1", "SERVICE_HOST")
}

// Each row describes a database that can't be served and how the test creates it.
func TestDatabaseThatCantBeServed(t *testing.T) {
	seed := func(t *testing.T, path string) {
		runBinary(t, filepath.Dir(path), nil, "", "seed", "--db-file", path).must(t)
	}
	cases := []struct {
		name string
		path string // "" for a file in a new folder
		make func(t *testing.T, path string)
		says []string
	}{
		{"newer", "", func(t *testing.T, path string) {
			seed(t, path)
			execSQL(t, path, `PRAGMA user_version = 999`)
		}, []string{"newer tracker", "999"}},
		{"noise", "", func(t *testing.T, path string) {
			writeFile(t, path, strings.Repeat("not a database ", 1000))
		}, []string{"damaged", "restore"}},
		{"damaged schema", "", func(t *testing.T, path string) {
			seed(t, path)
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteAt([]byte(strings.Repeat("\xff", 3000)), 100); err != nil {
				t.Fatal(err)
			}
		}, []string{"damaged", "restore"}},
		{"cut short", "", func(t *testing.T, path string) {
			seed(t, path)
			if err := os.Truncate(path, 6000); err != nil {
				t.Fatal(err)
			}
		}, []string{"is truncated", "restore"}},
		{"another program's", "", func(t *testing.T, path string) {
			execSQL(t, path, `CREATE TABLE recipes (name TEXT)`)
		}, []string{"another program", "SERVICE_DB_FILE"}},
		{"a folder", "", func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}, []string{"directory"}},
		{"below a file", "", func(t *testing.T, path string) {}, []string{"not a directory"}},
	}
	if runtime.GOOS == "linux" {
		cases = append(cases, struct {
			name string
			path string
			make func(t *testing.T, path string)
			says []string
		}{"in a folder that can't be written", "/proc/tracker.db", func(*testing.T, string) {},
			[]string{"/proc/tracker.db is not writable", "SERVICE_DB_FILE"}})
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := c.path
			if path == "" {
				path = filepath.Join(dir, "lab.db")
			}
			if c.name == "below a file" {
				writeFile(t, path, "")
				path = filepath.Join(path, "tracker.db")
			}
			c.make(t, path)
			before, _ := os.ReadFile(path) // nil if it is not a file
			runBinary(t, dir, nil, "", "serve", "--port", "0", "--ui-port", "0", "--db-file", path).
				refused(t, 1, append(c.says, path)...)
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Error("the refused file was changed")
			}
		})
	}
}

func TestBadSettingsOfTheRealProcess(t *testing.T) {
	r := runBinary(t, t.TempDir(), []string{"SERVICE_PORT=x", "SERVICE_ENABLE_AUTH=true"}, "", "serve", "--log-level", "loud")
	if r.code != 1 || strings.Count(r.stderr, "\n") != 3 || r.stdout != "" {
		t.Errorf("exit code %d, stdout %q, stderr %q", r.code, r.stdout, r.stderr)
	}
	runBinary(t, t.TempDir(), nil, "", "serve", "--loud").refused(t, 2, "--loud")
}

func TestSecondServerOfADatabase(t *testing.T) {
	dir := t.TempDir()
	p := startServer(t, dir, nil)
	runBinary(t, dir, nil, "", "serve", "--port", "0", "--ui-port", "0").
		refused(t, 1, filepath.Join(dir, "tracker.db"), "process "+strconv.Itoa(p.PID))
	if status, _ := p.call("GET", "/health", "", ""); status != 200 {
		t.Errorf("the first server answers %d", status)
	}
	// The lock of a killed server is released.
	p.kill()
	startServer(t, dir, nil).stop()
}

// halfSent is a request with an incomplete body that a server is reading.
type halfSent struct {
	conn   net.Conn
	answer *bufio.Reader
	rest   string
}

// sendHalf sends half of a request that creates a project. The server's 100 Continue proves that
// the handler has started.
func sendHalf(t *testing.T, p *process, name string) halfSent {
	t.Helper()
	api, err := url.Parse(p.API)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", api.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	body := fmt.Sprintf(`{"name": %q}`, name)
	fmt.Fprintf(conn, "POST /project HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"+
		"Expect: 100-continue\r\n\r\n", api.Host, len(body))
	answer := bufio.NewReader(conn)
	for _, want := range []string{"HTTP/1.1 100 Continue\r\n", "\r\n"} {
		if line, err := answer.ReadString('\n'); err != nil || line != want {
			t.Fatalf("%q, %v in the place of %q", line, err, want)
		}
	}
	if _, err := io.WriteString(conn, body[:5]); err != nil {
		t.Fatal(err)
	}
	return halfSent{conn, answer, body[5:]}
}

func TestStopLetsRequestsFinish(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		dir := t.TempDir()
		p := startServer(t, dir, nil)
		for _, name := range []string{"tracker.db-wal", "tracker.db"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Fatalf("this test needs a server that has %s: %v", name, err)
			}
		}
		running := sendHalf(t, p, "in flight")
		p.signal(s)
		p.waitFor("stopping")

		if _, err := io.WriteString(running.conn, running.rest); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(running.answer, nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != 201 {
			t.Errorf("%v: the request that ran is answered with %s", s, answer.Status)
		}
		if code := p.wait(); code != 0 {
			t.Errorf("%v: exit code %d\n%s", s, code, p.log)
		}
		for _, suffix := range []string{"-wal", "-shm"} {
			if _, err := os.Stat(filepath.Join(dir, "tracker.db"+suffix)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%v: tracker.db%s is left behind (%v)", s, suffix, err)
			}
		}
		if n := queryInt(t, filepath.Join(dir, "tracker.db"), `SELECT count(*) FROM project WHERE name = 'in flight'`); n != 1 {
			t.Errorf("%v: what was acknowledged is there %d times", s, n)
		}
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	dir := t.TempDir()
	p := startServer(t, dir, nil)
	sendHalf(t, p, "never")
	p.signal(syscall.SIGTERM)
	p.waitFor("stopping")
	p.signal(syscall.SIGINT)
	if code := p.wait(); code != 1 {
		t.Errorf("exit code %d, want 1\n%s", code, p.log)
	}
	if log := p.log.String(); !strings.Contains(log, "second signal") || strings.Contains(log, "cut off") {
		t.Errorf("it has waited for the request:\n%s", log)
	}
	runBinary(t, dir, nil, "", "check").must(t)
}

func TestHealth(t *testing.T) {
	dir := t.TempDir()
	p := startServer(t, dir, nil, "--base-path", "/x")
	api, err := url.Parse(p.API)
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"SERVICE_PORT=" + api.Port(), "SERVICE_HOST=0.0.0.0", "SERVICE_BASE_PATH=/x"}
	if text := runBinary(t, dir, env, "", "health").must(t); text != "ok\n" {
		t.Errorf("a server that is well: %q", text)
	}
	p.stop()
	// Use port 1, on which no program listens, because another program may have taken over the
	// server's port.
	runBinary(t, dir, env, "", "health", "--port", "1").refused(t, 1, "does not answer")

	sick := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "the database does not answer", http.StatusServiceUnavailable)
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go sick.Serve(l)
	defer sick.Close()
	_, number, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	runBinary(t, dir, nil, "", "health", "--port", number).refused(t, 1, "503", "the database does not answer")
}

func TestOpenServiceIsWarnedOf(t *testing.T) {
	p := startServer(t, t.TempDir(), nil, "--host", "0.0.0.0", "--enable-ui=false")
	p.waitFor("tracker: warning: sign-in is off: everybody who can reach the API on 0.0.0.0 can ")
	if !strings.HasPrefix(p.API, "http://127.0.0.1:") {
		t.Errorf("%s is not an address to open", p.API)
	}
	p.stop()

	p = startServer(t, t.TempDir(), nil)
	p.stop()
	if strings.Contains(p.log.String(), "warning") {
		t.Errorf("a warning without a reason:\n%s", p.log)
	}
}

// The commands in docs/sign-in.md for turning on sign-in store the secret in a file that only its
// owner can read. Each start of the server and `tracker token` find it there.
func TestSecretOfTheDocs(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(sourceDir, "..", "docs", "sign-in.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "```\n")
	block, _, _ = strings.Cut(block, "\ntracker serve")
	if !strings.HasPrefix(block, keepSecret+"\n") {
		t.Fatalf("docs/sign-in.md and the error message give different lines: %s", block)
	}
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, ".env"), "SERVICE_LOG_LEVEL=warn") // a file without a final newline
	for range 2 {                                                      // running the commands again is harmless
		shell := exec.Command("sh", "-e", "-c", block)
		shell.Dir = dir
		if out, err := shell.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, ".env")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode of .env is %v (%v)", info.Mode(), err)
	}
	p := startServer(t, dir, nil)
	token := strings.TrimSpace(runBinary(t, dir, nil, "", "token", "--user", "default").must(t))
	if status, _ := p.call("GET", "/user", token, ""); status != 200 {
		t.Errorf("the token gets %d", status)
	}
	if status, _ := p.call("GET", "/user", "", ""); status != 401 {
		t.Errorf("without a token, the answer is %d", status)
	}
	p.stop()
	p = startServer(t, dir, nil)
	if status, _ := p.call("GET", "/user", token, ""); status != 200 {
		t.Errorf("after a restart the token gets %d", status)
	}
	p.stop()
}
