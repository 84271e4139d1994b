package bench

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// server is a server process that the benchmark has started.
type server struct {
	api     string // address of the API
	file    string // path of the database
	cmd     *exec.Cmd
	log     *tail
	ended   chan struct{}
	asked   bool          // whether the benchmark has asked the server to stop
	starts  time.Duration // time from the start of the process to its first response
	peak    int64         // maximum memory in bytes; set by stop
	written written       // set after the process has ended
}

// launch starts this program as a server on the given database file and waits until the server is
// healthy. When ctx ends, the server is killed.
func (b *benchmark) launch(ctx context.Context, file string) (*server, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &server{file: file, log: &tail{}, ended: make(chan struct{})}
	s.cmd = exec.CommandContext(ctx, program, "serve", "--db-file", file, "--host", "127.0.0.1", "--port", "0",
		"--ui-host", "127.0.0.1", "--ui-port", "0", "--log-level", "error",
		"--artifact-backend", "inline") // the inline backend needs no folder
	// The server must not read the settings of this process or an .env file.
	s.cmd.Dir = filepath.Dir(file)
	s.cmd.Env = append(withoutSettings(os.Environ()), "SERVICE_ADMIN_PASSWORD="+rand.Text(), "SERVICE_JWT_SECRET="+rand.Text())
	stdout, write := io.Pipe()
	s.cmd.Stdout, s.cmd.Stderr = write, s.log
	start := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	b.servers = append(b.servers, s)
	go func() {
		s.written = s.finalWritten()
		_ = s.cmd.Wait() // the result is in s.cmd.ProcessState
		close(s.ended)
		write.Close()
	}()
	lines := bufio.NewReader(stdout)
	for _, address := range []*string{&s.api, new(string)} { // the second line is the address of the dashboard
		line, err := lines.ReadString('\n')
		fields := strings.Fields(line)
		if err != nil || len(fields) != 2 {
			return nil, errors.New("the server did not print its addresses")
		}
		*address = fields[1]
	}
	go io.Copy(io.Discard, stdout)
	w, err := (&target{api: s.api}).open(ctx)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if r, err := w.Send(w.Request("GET", "/health", "", "")); err != nil || r.Status != http.StatusOK {
		return nil, fmt.Errorf("the server is not healthy: %v, %w", r, err)
	}
	s.starts = time.Since(start)
	return s, nil
}

func withoutSettings(env []string) (rest []string) {
	for _, pair := range env {
		if !strings.HasPrefix(pair, "SERVICE_") {
			rest = append(rest, pair)
		}
	}
	return rest
}

// stop shuts the server down with SIGTERM and waits for its end. On a system without SIGTERM it
// kills the server, which leaves the write-ahead log behind.
func (s *server) stop() error {
	select {
	case <-s.ended:
		return nil
	default:
	}
	s.peak = s.peakMemory()
	s.asked = true
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.kill()
		return nil
	}
	<-s.ended
	if !s.cmd.ProcessState.Success() {
		return fmt.Errorf("the server ended with %v: %s", s.cmd.ProcessState, s.log)
	}
	return nil
}

// kill kills the server process and waits for its end.
func (s *server) kill() {
	s.asked = true
	_ = s.cmd.Process.Kill() // returns an error if the process has ended
	<-s.ended
}

// unexpectedEnd waits for the server to end and returns its exit status and last log line. It
// returns "" if the benchmark ended the server, or if ctx ends first.
func (s *server) unexpectedEnd(ctx context.Context) string {
	if s.asked {
		return ""
	}
	select {
	case <-s.ended:
	default:
		select {
		case <-s.ended:
		case <-ctx.Done():
			return ""
		}
	}
	return strings.TrimSuffix(s.cmd.ProcessState.String()+", "+s.log.String(), ", ")
}

// size returns the total size of the database and its write-ahead log in bytes.
func (s *server) size() (int64, error) {
	var sum int64
	for _, path := range []string{s.file, s.file + "-wal"} {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		sum += info.Size()
	}
	return sum, nil
}

// restart stops the main server and starts it on the same file.
func (b *benchmark) restart(ctx context.Context) error {
	if err := b.main.stop(); err != nil {
		return err
	}
	s, err := b.launch(ctx, b.main.file)
	if err != nil {
		return err
	}
	b.main, b.target.api = s, s.api
	return nil
}

// measureMemory measures the memory of all servers, and the start time of the main server on the
// full file.
func (b *benchmark) measureMemory(ctx context.Context) error {
	start := fmt.Sprintf("start with %s points in the file, to the first response", comma(b.written))
	if b.URL != "" {
		b.addUnknown("memory of a new server, idle", "MB")
		b.addUnknown("maximum memory in all parts", "MB")
		b.addUnknown(start, "")
		return nil
	}
	b.progress("starting", 5)
	var t timing
	for range 5 {
		if err := b.restart(ctx); err != nil {
			return err
		}
		t.each = append(t.each, b.main.starts)
		b.advance(1)
	}
	var peak int64
	for _, s := range b.servers {
		peak = max(peak, s.peak)
	}
	b.addSystemValue("memory of a new server, idle", "MB", float64(b.idle)/1e6, b.idle > 0)
	b.addSystemValue("maximum memory in all parts", "MB", float64(peak)/1e6, peak > 0)
	b.addLatency(start, t)
	return nil
}

// tail is a writer that keeps only the last line written to it.
type tail struct {
	mu   sync.Mutex
	line []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := bytes.TrimSpace(p); len(text) > 0 {
		t.line = bytes.Clone(text[bytes.LastIndexByte(text, '\n')+1:])
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.line)
}
