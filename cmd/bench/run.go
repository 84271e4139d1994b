package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"tracker/cmd/bench/httpconn"
)

const (
	requestTimeout = 2 * time.Minute
	// cleanUpTimeout is the timeout for deleting the project from the server at URL.
	cleanUpTimeout = 10 * time.Minute
)

// benchmark is the state of one benchmark.
type benchmark struct {
	Options
	stderr io.Writer
	bar    *progressbar.ProgressBar // nil if no progress is shown

	root    string // folder that holds all files; "" if URL is set
	extra   string // folder in root that cleanUp always removes
	main    *server
	servers []*server // all servers that the benchmark has started
	target  target    // the measured server: main, or the server at URL

	bulk    int   // number of points that ingest and fill have written to the file
	written int   // number of all points in the file
	idle    int64 // memory of main in bytes right after its start

	part string // name of the current part; "" before the first part
	rows []Row
}

// target is a server and the benchmark's project on it.
type target struct {
	api, token string
	project    string
	experiment string
}

// setUp starts a server or connects to the server at URL, and creates the project.
func (b *benchmark) setUp(ctx context.Context) error {
	if b.URL != "" {
		b.target = target{api: b.URL, token: b.Token}
		if err := b.probe(ctx); err != nil {
			return err
		}
		return b.target.createProject(ctx)
	}
	if err := b.makeFolders(); err != nil {
		return err
	}
	var err error
	if b.main, err = b.launch(ctx, filepath.Join(b.root, "tracker.db")); err != nil {
		return err
	}
	b.idle = b.main.memory()
	b.target = target{api: b.main.api}
	return b.target.createProject(ctx)
}

// probe returns an error if the server at URL is not a tracker API.
func (b *benchmark) probe(ctx context.Context) error {
	w, err := b.target.open(ctx)
	if err != nil {
		return fmt.Errorf("no server responds at %s: check the address, or start one with `tracker serve` (%w)", b.URL, err)
	}
	defer w.Close()
	r, err := w.Send(w.Request("GET", "/health", "", ""))
	if err != nil || r.Status != http.StatusOK {
		return fmt.Errorf("the server at %s is not the API of tracker: check the address, the port and the base path", b.URL)
	}
	return nil
}

// makeFolders creates the folders root and extra.
func (b *benchmark) makeFolders() (err error) {
	if b.Dir == "" {
		b.root, err = os.MkdirTemp("", "tracker-bench-")
	} else {
		err = b.useDir()
	}
	if err != nil {
		return err
	}
	b.extra = filepath.Join(b.root, "beside")
	return os.Mkdir(b.extra, 0o755)
}

// useDir makes Dir the root folder. It returns an error if Dir is not empty.
func (b *benchmark) useDir() error {
	dir, err := filepath.Abs(b.Dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("the folder %s is not empty: choose another one for --dir", dir)
	}
	b.root = dir
	return nil
}

// cleanUp stops the servers and removes temporary files. It deletes the project from the server at
// URL unless Keep is set.
func (b *benchmark) cleanUp(ctx context.Context) error {
	b.endProgress()
	var errs []error
	if b.URL != "" && b.target.project != "" && !b.Keep {
		errs = append(errs, b.target.deleteProject(context.WithoutCancel(ctx)))
	}
	if b.Dir != "" && b.main != nil && ctx.Err() == nil {
		errs = append(errs, b.main.stop()) // checkpoints the write-ahead log into the file
	}
	for _, s := range b.servers {
		s.kill()
	}
	for _, dir := range []string{b.extra, b.temporary()} {
		if dir != "" {
			errs = append(errs, os.RemoveAll(dir))
		}
	}
	return errors.Join(errs...)
}

// temporary returns the root folder if it is temporary, else "".
func (b *benchmark) temporary() string {
	if b.Dir != "" {
		return ""
	}
	return b.root
}

// emptyFolder creates a folder that cleanUp removes.
func (b *benchmark) emptyFolder() (string, error) { return os.MkdirTemp(b.extra, "") }

// createProject creates a project with an experiment.
func (t *target) createProject(ctx context.Context) error {
	w, err := t.open(ctx)
	if err != nil {
		return err
	}
	defer w.Close()
	name := "bench-" + time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	if t.project, err = w.create("/project", fmt.Sprintf(`{"name": %q}`, name)); err != nil {
		return err
	}
	t.experiment, err = t.createExperiment(w, "ingest")
	return err
}

func (t *target) createExperiment(w *conn, name string) (id string, err error) {
	return w.create("/experiment/project/"+t.project, fmt.Sprintf(`{"name": %q}`, name))
}

// deleteProject moves the project to the trash and then purges it.
func (t *target) deleteProject(ctx context.Context) error {
	w, err := t.open(ctx)
	if err == nil {
		defer w.Close()
		w.Timeout = cleanUpTimeout
		_, err = w.do(w.Request("DELETE", "/project/"+t.project, "", ""))
	}
	if err == nil {
		var r httpconn.Reply
		r, err = w.do(w.Request("DELETE", "/trash/"+t.project, "", ""))
		if r.Status == 404 { // the server has no trash
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("the project %s could not be deleted from %s, delete it yourself: %w", t.project, t.api, err)
	}
	return nil
}

// progress starts a progress bar with n steps if stderr is a terminal.
func (b *benchmark) progress(what string, n int) {
	b.endProgress()
	f, ok := b.stderr.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return
	}
	b.bar = progressbar.NewOptions(n,
		progressbar.OptionSetWriter(f),
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetWidth(20),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish())
}

// advance moves the progress bar forward by n steps.
func (b *benchmark) advance(n int) {
	if b.bar != nil {
		_ = b.bar.Add(n) // drawing errors are harmless
	}
}

func (b *benchmark) endProgress() {
	if b.bar != nil {
		_ = b.bar.Finish()
		b.bar = nil
	}
}
