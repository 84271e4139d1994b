package store_test

import (
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/scalar"
)

// closeLater begins to close db and returns once db accepts no more writes.
func closeLater(db *store.DB) (wait func() error) {
	done := make(chan error, 1)
	go func() { done <- db.Close() }()
	for db.Ping(ctx) == nil {
		runtime.Gosched()
	}
	return func() error { return <-done }
}

func TestCloseAnswersWhatIsQueued(t *testing.T) {
	b := newBed(t)
	release := hold(t, b.DB)
	var waits []func() error
	for i := range 300 {
		waits = append(waits, queue(b.DB, func() error {
			_, err := b.Runs.CreateMetric(ctx, domain.System, b.iteration, point("loss", int64(i), 1))
			return err
		}))
	}
	closed := closeLater(b.DB)
	wantCode(t, b.Runs.Heartbeat(ctx, domain.System, b.iteration), domain.CodeUnavailable)
	release()
	done := map[scalar.Step]bool{}
	for i, wait := range waits {
		switch err := wait(); codeOf(err) {
		case "":
			done[scalar.Step(i)] = true
		case domain.CodeUnavailable:
		default:
			t.Errorf("write %d: %v", i, err)
		}
	}
	wantOK(t, closed())
	again := open(t, store.Options{Path: b.Path()})
	stored := pointsOf(t, again, b.iteration, nil)
	for _, m := range stored {
		if !done[m.Step] {
			t.Errorf("step %d was refused and is stored", m.Step)
		}
	}
	if len(stored) != len(done) || len(done) != len(waits) {
		t.Errorf("%d writes were queued, %d acknowledged, %d are stored", len(waits), len(done), len(stored))
	}
	wantClean(t, again)
}

func TestCloseWhileOthersWrite(t *testing.T) {
	for range 5 {
		b := newBed(t)
		var mu sync.Mutex
		var wg sync.WaitGroup
		done := map[string]bool{}
		enough := make(chan struct{})
		for range 16 {
			wg.Go(func() {
				for {
					c, err := b.Runs.CreateMetric(ctx, domain.System, b.iteration, points.Sample{Key: "loss"})
					if err != nil {
						if codeOf(err) != domain.CodeUnavailable {
							t.Errorf("a write while closing: %v", err)
						}
						return
					}
					mu.Lock()
					done[c.ID] = true
					if len(done) == 100 {
						close(enough)
					}
					mu.Unlock()
				}
			})
		}
		<-enough
		wantOK(t, b.Close())
		wg.Wait()
		again := open(t, store.Options{Path: b.Path()})
		stored := pointsOf(t, again, b.iteration, nil)
		for _, m := range stored {
			if !done[m.ID] {
				t.Errorf("point %s is stored without an answer", m.ID)
			}
		}
		if len(stored) != len(done) {
			t.Errorf("%d points acknowledged, %d stored", len(done), len(stored))
		}
	}
}

func TestClosed(t *testing.T) {
	b := newBed(t)
	b.log(t, "loss", 0, 1)
	wantOK(t, b.Close())
	wantOK(t, b.Close())
	wantCode(t, b.Runs.Heartbeat(ctx, domain.System, b.iteration), domain.CodeUnavailable)
	wantCode(t, b.Ping(ctx), domain.CodeUnavailable)
	_, err := b.Runs.Iteration(ctx, domain.System, b.iteration)
	wantCode(t, err, domain.CodeUnavailable)
	for _, companion := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(b.Path() + companion); err == nil {
			t.Errorf("%s is left behind", companion)
		}
	}
}

func TestSizeAndPath(t *testing.T) {
	b := newBed(t)
	if !strings.HasSuffix(b.Path(), "tracker.db") {
		t.Errorf("path %q", b.Path())
	}
	file, wal, err := b.Size()
	wantOK(t, err)
	if file == 0 || wal == 0 {
		t.Errorf("%d and %d bytes", file, wal)
	}
}
