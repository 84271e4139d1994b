package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

const (
	// benchPatience is how long one request may take.
	benchPatience = 2 * time.Minute
	// cleanUpPatience is how long the removal of what was made on somebody
	// else's server may take.
	cleanUpPatience = 10 * time.Minute
)

// bench is one run of the measurements.
type bench struct {
	benchOptions
	stderr io.Writer
	bar    *progressbar.ProgressBar // nil when nothing is shown

	root    string // folder of everything that is made; "" with --url
	extra   string // folder below it that goes in any case
	main    *benchServer
	servers []*benchServer // all that were started
	target  target         // main, or the server of --url

	bulk    int   // points in the file that came in the shape of ingest
	written int   // all points in the file
	idle    int64 // bytes of memory that main had at first

	part string // that is being measured; "" before the first
	rows []benchRow
}

// target is a server, and the project on it that is driven.
type target struct {
	api, token string
	project    string
	experiment string
}

// setUp starts a server, or reaches that of --url, and makes the project.
func (b *bench) setUp(ctx context.Context) error {
	if b.url != "" {
		b.target = target{api: b.url, token: b.token}
		if err := b.reach(ctx); err != nil {
			return err
		}
		return b.target.makeProject(ctx)
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
	return b.target.makeProject(ctx)
}

// reach tells in a sentence when no server answers at --url.
func (b *bench) reach(ctx context.Context) error {
	w, err := b.target.open(ctx)
	if err != nil {
		return fmt.Errorf("no server answers at %s: check the address, or start one with `tracker serve` (%w)", b.url, err)
	}
	defer w.conn.Close()
	r, err := w.send(w.request("GET", "/health", "", ""))
	if err != nil || r.status != http.StatusOK {
		return fmt.Errorf("what answers at %s is no API of tracker: check the address, the port and the base path", b.url)
	}
	return nil
}

// makeFolders makes the folders for a server of our own.
func (b *bench) makeFolders() (err error) {
	if b.dir == "" {
		b.root, err = os.MkdirTemp("", "tracker-bench-")
	} else {
		err = b.takeDir()
	}
	if err != nil {
		return err
	}
	b.extra = filepath.Join(b.root, "beside")
	return os.Mkdir(b.extra, 0o755)
}

// takeDir makes the folder of --dir, which must not have anything in it.
func (b *bench) takeDir() error {
	dir, err := filepath.Abs(b.dir)
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

// cleanUp ends the servers and removes what was made, save what is to be kept.
func (b *bench) cleanUp(ctx context.Context) error {
	b.endProgress()
	var errs []error
	if b.url != "" && b.target.project != "" && !b.keep {
		errs = append(errs, b.target.removeProject(context.WithoutCancel(ctx)))
	}
	if b.dir != "" && b.main != nil && ctx.Err() == nil {
		errs = append(errs, b.main.stop()) // so that the file is whole by itself
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

// temporary is the root when it is not the person's.
func (b *bench) temporary() string {
	if b.dir != "" {
		return ""
	}
	return b.root
}

// fresh makes an empty folder that goes with the run.
func (b *bench) fresh() (string, error) { return os.MkdirTemp(b.extra, "") }

// makeProject makes a project with an experiment.
func (t *target) makeProject(ctx context.Context) error {
	w, err := t.open(ctx)
	if err != nil {
		return err
	}
	defer w.conn.Close()
	name := "bench-" + time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	if t.project, err = w.made("/project", fmt.Sprintf(`{"name": %q}`, name)); err != nil {
		return err
	}
	t.experiment, err = t.newExperiment(w, "ingest")
	return err
}

func (t *target) newExperiment(w *wire, name string) (id string, err error) {
	return w.made("/experiment/project/"+t.project, fmt.Sprintf(`{"name": %q}`, name))
}

// removeProject removes the project with everything in it.
func (t *target) removeProject(ctx context.Context) error {
	w, err := t.open(ctx)
	if err == nil {
		defer w.conn.Close()
		w.patience = cleanUpPatience
		var r reply
		r, err = w.send(w.request("DELETE", "/project/"+t.project, "", ""))
		if err == nil && r.status != http.StatusNoContent {
			err = errors.New(r.String())
		}
	}
	if err != nil {
		return fmt.Errorf("the project %s is left on %s, delete it yourself: %w", t.project, t.api, err)
	}
	return nil
}

// open connects to the server. The connection breaks when ctx ends.
func (t *target) open(ctx context.Context) (*wire, error) {
	w, err := openWire(ctx, t.api)
	if err != nil {
		return nil, err
	}
	w.token, w.patience = t.token, benchPatience
	context.AfterFunc(ctx, func() { w.conn.Close() })
	return w, nil
}

// wires are connections that are used at once.
type wires []*wire

func (t *target) openAll(ctx context.Context, n int) (all wires, err error) {
	for range n {
		w, err := t.open(ctx)
		if err != nil {
			all.close()
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

func (all wires) close() {
	for _, w := range all {
		w.conn.Close()
	}
}

// made makes a record and returns its id.
func (w *wire) made(path, body string) (string, error) {
	r, err := w.sent(w.request("POST", path, "", body))
	if err != nil {
		return "", err
	}
	ids, err := r.ids()
	if err != nil || len(ids) != 1 {
		return "", fmt.Errorf("POST %s answers %s", path, r)
	}
	return ids[0], nil
}

// sent is send for a request that must not be refused.
func (w *wire) sent(request []byte) (reply, error) {
	r, err := w.send(request)
	if err == nil && r.status >= 300 {
		err = fmt.Errorf("the server answers %d: %s", r.status, r.body[:min(len(r.body), 500)])
	}
	return r, err
}

// timing is how long requests took: all together, and each.
type timing struct {
	took time.Duration
	each []time.Duration
}

func (t *timing) add(o timing) {
	t.took += o.took
	t.each = append(t.each, o.each...)
}

// sendAll sends over each connection what is in its list, one request after
// the other.
func (all wires) sendAll(lists [][][]byte) (timing, error) {
	timings, errs := make([]timing, len(all)), make([]error, len(all))
	var group sync.WaitGroup
	start := time.Now()
	for i, w := range all {
		group.Go(func() {
			for _, request := range lists[i] {
				sent := time.Now()
				if _, errs[i] = w.sent(request); errs[i] != nil {
					return
				}
				timings[i].each = append(timings[i].each, time.Since(sent))
			}
		})
	}
	group.Wait()
	var sum timing
	for _, t := range timings {
		sum.add(t)
	}
	sum.took = time.Since(start)
	return sum, firstError(errs)
}

// firstError is the first of errs that is one: what ends one connection mostly
// ends them all.
func firstError(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// repeat sends a request until it is known how long it takes: 50 times, or for
// five seconds. first is how long it took before anything could be remembered.
func (w *wire) repeat(request []byte) (first time.Duration, t timing, err error) {
	start := time.Now()
	for n := 0; n <= 50 && (n < 3 || time.Since(start) < 10*time.Second); n++ {
		sent := time.Now()
		if _, err := w.sent(request); err != nil {
			return 0, t, err
		}
		if n == 0 {
			first = time.Since(sent)
		} else {
			t.each = append(t.each, time.Since(sent))
		}
	}
	return first, t, nil
}

// quantile is the value that a share q of all is not above. all is not empty.
func quantile[T float64 | time.Duration](all []T, q float64) T {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// progress shows what is being done, on a terminal, in n steps.
func (b *bench) progress(what string, n int) {
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

// advance shows that n more steps are done.
func (b *bench) advance(n int) {
	if b.bar != nil {
		_ = b.bar.Add(n) // a line that can't be drawn is no reason to stop
	}
}

func (b *bench) endProgress() {
	if b.bar != nil {
		_ = b.bar.Finish()
		b.bar = nil
	}
}
