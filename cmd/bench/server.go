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
	file    string // the database
	cmd     *exec.Cmd
	log     *tail
	ended   chan struct{}
	asked   bool          // whether the server was asked to end
	starts  time.Duration // from the start of the process to its first answer
	peak    int64         // maximum memory in bytes; set by stop
	written written       // set when the process has ended
}

// launch starts this program as a server on file and returns when it is
// healthy. It is killed when ctx ends.
func (b *benchmark) launch(ctx context.Context, file string) (*server, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &server{file: file, log: &tail{}, ended: make(chan struct{})}
	s.cmd = exec.CommandContext(ctx, program, "serve", "--db-file", file, "--host", "127.0.0.1", "--port", "0",
		"--ui-host", "127.0.0.1", "--ui-port", "0", "--log-level", "error",
		"--artifact-backend", "inline") // inline needs no folder
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
		_ = s.cmd.Wait() // ProcessState has the details
		close(s.ended)
		write.Close()
	}()
	lines := bufio.NewReader(stdout)
	for _, address := range []*string{&s.api, new(string)} { // the second one is the dashboard
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

// stop shuts the server down. On a system without SIGTERM it kills the server,
// and the write-ahead log stays beside the file.
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

// kill ends the server at once if it has not ended yet.
func (s *server) kill() {
	s.asked = true
	_ = s.cmd.Process.Kill() // fails when it has ended
	<-s.ended
}

// unexpectedEnd returns how the server ended without having been asked to; "" if it is still
// running when ctx ends.
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

// size returns the bytes of the database and its write-ahead log.
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

// restart stops main, if it runs, and starts it again on the same file.
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

// measureMemory measures the memory of the servers and the start time of main with the file that
// the other parts have filled.
func (b *benchmark) measureMemory(ctx context.Context) error {
	start := fmt.Sprintf("start with %s points in the file, to the first answer", comma(b.written))
	if b.URL != "" {
		b.addUnknown("memory of a new server, idle", "MB")
		b.addUnknown("most memory under all of this", "MB")
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
	b.addSystemValue("most memory under all of this", "MB", float64(peak)/1e6, peak > 0)
	b.addLatency(start, t)
	return nil
}

// tail is a writer that holds the last line written to it.
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
