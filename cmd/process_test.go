//go:build unix

package cmd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var (
	sourceDir string // folder of this package; a test can change its working directory
	buildDir  string // folder in which buildBinary builds the program; TestMain removes it
)

func TestMain(m *testing.M) {
	var err error
	if dir := os.Getenv(bucketDir); dir != "" {
		if err = serveBucket(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	sourceDir, err = os.Getwd()
	if err == nil {
		buildDir, err = os.MkdirTemp("", "tracker-test-")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(buildDir)
	os.Exit(code)
}

var build = sync.OnceValues(func() (string, error) {
	path := filepath.Join(buildDir, "tracker")
	c := exec.Command("go", "build", "-trimpath", "-o", path, "tracker") // like a released binary
	c.Dir, c.Env = sourceDir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	out, err := c.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return path, err
})

// inFullRuns skips the test in short mode, because the test kills processes many times or needs
// nginx.
func inFullRuns(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long, or needs another tool")
	}
}

// buildBinary builds the real program once for all tests and returns its path.
func buildBinary(t testing.TB) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// command returns a command that runs the program in the folder dir. Its environment contains only
// env.
func command(t testing.TB, dir string, env []string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(buildBinary(t), args...)
	c.Dir = dir
	c.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	return c
}

// runBinary runs a command of the real program and waits for it to end.
func runBinary(t testing.TB, dir string, env []string, stdin string, args ...string) result {
	t.Helper()
	c := command(t, dir, env, args...)
	var stdout, stderr bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &stdout, &stderr
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return result{c.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// process is a running `tracker serve`.
type process struct {
	API string // URL of the API, with the base path
	UI  string // URL of the dashboard; "" if it is disabled
	PID int

	t     testing.TB
	cmd   *exec.Cmd
	log   *growing      // its standard error
	ended chan struct{} // closed when the process has ended
}

// startServer starts the real program in dir on free ports and returns after it has printed its
// addresses. At the end of the test, a running server is killed.
func startServer(t testing.TB, dir string, env []string, args ...string) *process {
	t.Helper()
	c := command(t, dir, env, append([]string{"serve", "--port", "0", "--ui-port", "0"}, args...)...)
	stdout, write := io.Pipe()
	p := &process{t: t, cmd: c, log: newGrowing(), ended: make(chan struct{})}
	c.Stdout, c.Stderr = write, p.log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = c.Wait() // the process state has the details
		write.Close()
		p.log.close()
		close(p.ended)
	}()
	t.Cleanup(p.kill)
	p.PID = c.Process.Pid
	lines := bufio.NewReader(stdout)
	for _, at := range []struct {
		title string
		url   *string
	}{{"API", &p.API}, {"Dashboard", &p.UI}} {
		if at.url == &p.UI && strings.Contains(strings.Join(args, " "), "--enable-ui=false") {
			break
		}
		line, err := lines.ReadString('\n')
		fields := strings.Fields(line)
		if err != nil || len(fields) != 2 || fields[0] != at.title {
			p.kill()
			t.Fatalf("the server does not say where the %s is: %q, %v\n%s", at.title, line, err, p.log)
		}
		*at.url = fields[1]
	}
	go io.Copy(io.Discard, lines)
	return p
}

// signal sends s to the server.
func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// wait waits for the server to end and returns its exit code, or -1 if an uncaught signal ended it.
func (p *process) wait() int {
	<-p.ended
	return p.cmd.ProcessState.ExitCode()
}

// stop shuts the server down, and fails the test if it does not exit with code 0.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 0 {
		p.t.Fatalf("the server ended with code %d\n%s", code, p.log)
	}
}

// kill kills the server, if it is running.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // returns an error if the process has ended
	p.wait()
}

// waitFor waits until the server's standard error contains text.
func (p *process) waitFor(text string) {
	p.t.Helper()
	if !p.log.waitFor(text) {
		p.t.Fatalf("the server does not say %q\n%s", text, p.log)
	}
}

// call sends a request to the API and returns the status and the decoded body. It sends the token
// if it is not "".
func (p *process) call(method, path, token, body string) (int, map[string]any) {
	p.t.Helper()
	request, err := http.NewRequest(method, p.API+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	var decoded map[string]any
	if len(text) > 0 {
		if err := json.Unmarshal(text, &decoded); err != nil {
			p.t.Fatalf("%v in %q", err, text)
		}
	}
	return answer.StatusCode, decoded
}

// signIn signs in and returns the status, and the token if the status is 200.
func (p *process) signIn(username, password string) (int, string) {
	p.t.Helper()
	body, err := json.Marshal(map[string]string{"username": username, "password": password})
	if err != nil {
		p.t.Fatal(err)
	}
	status, answer := p.call("POST", "/auth", "", string(body))
	token, _ := answer["access_token"].(string)
	return status, token
}

// growing is a buffer to which one goroutine writes while others wait for strings to appear in it.
type growing struct {
	mu     sync.Mutex
	more   *sync.Cond
	text   bytes.Buffer
	closed bool
}

func newGrowing() *growing {
	g := &growing{}
	g.more = sync.NewCond(&g.mu)
	return g
}

func (g *growing) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.more.Broadcast()
	return g.text.Write(p)
}

func (g *growing) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.more.Broadcast()
}

// waitFor waits until the text contains s. It returns false if the text ends without s, or after
// some minutes.
func (g *growing) waitFor(s string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	late := false
	timer := time.AfterFunc(5*time.Minute, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		late = true
		g.more.Broadcast()
	})
	defer timer.Stop()
	for !bytes.Contains(g.text.Bytes(), []byte(s)) {
		if g.closed || late {
			return false
		}
		g.more.Wait()
	}
	return true
}

func (g *growing) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.String()
}
