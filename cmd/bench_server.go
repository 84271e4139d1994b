package cmd

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

// benchServer is a server that a benchmark has started, in a process of its own.
type benchServer struct {
	api     string
	file    string // the database
	cmd     *exec.Cmd
	log     *tail
	ended   chan struct{}
	asked   bool          // to end
	starts  time.Duration // from the start of the process to its first answer
	peak    int64         // most memory that it had, in bytes, known when it was stopped
	written benchWritten  // known when it has ended
}

// launch starts this very program as a server on file and returns when it is
// well. It is killed when ctx ends.
func (b *bench) launch(ctx context.Context, file string) (*benchServer, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &benchServer{file: file, log: &tail{}, ended: make(chan struct{})}
	s.cmd = exec.CommandContext(ctx, program, "serve", "--db-file", file, "--host", "127.0.0.1", "--port", "0",
		"--ui-host", "127.0.0.1", "--ui-port", "0", "--log-level", "error",
		"--artifact-backend", "inline") // so that it makes no folder
	// In a folder without an .env, and without the settings of this process.
	s.cmd.Dir = filepath.Dir(file)
	s.cmd.Env = append(withoutSettings(os.Environ()), "SERVICE_ADMIN_PASSWORD="+rand.Text())
	stdout, write := io.Pipe()
	s.cmd.Stdout, s.cmd.Stderr = write, s.log
	start := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	b.servers = append(b.servers, s)
	go func() {
		s.written = s.lastAccount()
		_ = s.cmd.Wait() // the state says it better
		close(s.ended)
		write.Close()
	}()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	go io.Copy(io.Discard, stdout)
	fields := strings.Fields(line)
	if err != nil || len(fields) != 2 {
		return nil, errors.New("the server does not say where it is")
	}
	s.api = fields[1]
	w, err := openWire(ctx, s.api)
	if err != nil {
		return nil, err
	}
	defer w.conn.Close()
	if r, err := w.send(w.request("GET", "/health", "", "")); err != nil || r.status != http.StatusOK {
		return nil, fmt.Errorf("the server does not say that it is well: %v, %w", r, err)
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

// stop ends the server in good order, where the system knows how to ask for
// that; otherwise the write-ahead log stays beside the file.
func (s *benchServer) stop() error {
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

// kill ends the server at once, if it has not ended yet.
func (s *benchServer) kill() {
	s.asked = true
	_ = s.cmd.Process.Kill() // fails when it has ended
	<-s.ended
}

// lastWords tell how a server has ended by itself; "" when it has not, and does
// not before ctx ends.
func (s *benchServer) lastWords(ctx context.Context) string {
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

// size is how many bytes the database and its write-ahead log have on disk.
func (s *benchServer) size() (int64, error) {
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

// restart stops main and starts it again on the same file.
func (b *bench) restart(ctx context.Context) error {
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

// measureMemory measures the memory of the servers and how long main takes to
// start with all that is in the file by now.
func (b *bench) measureMemory(ctx context.Context) error {
	start := fmt.Sprintf("start with %s points in the file, to the first answer", count(b.written))
	if b.url != "" {
		b.unknown("memory of a new server, idle", "MB")
		b.unknown("most memory under all of this", "MB")
		b.unknown(start, "")
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
	b.knownHere("memory of a new server, idle", "MB", float64(b.idle)/1e6, b.idle > 0)
	b.knownHere("most memory under all of this", "MB", float64(peak)/1e6, peak > 0)
	b.latency(start, t)
	return nil
}

// tail keeps the last line that is written to it.
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
