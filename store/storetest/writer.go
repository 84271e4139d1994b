package storetest

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/sqlite"
)

// Commits collects the commit statistics that the writer reports.
type Commits struct {
	mu  sync.Mutex
	all []sqlite.CommitStats
}

func (c *Commits) Add(s sqlite.CommitStats) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, s)
}

// Take returns the statistics since the last call of Take.
func (c *Commits) Take() []sqlite.CommitStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.all
	c.all = nil
	return all
}

// Hold blocks the writer until the test calls release. Other writes wait in the queue.
func Hold(t testing.TB, db *store.DB) (release func()) {
	t.Helper()
	began, end, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var once sync.Once
	go func() {
		done <- Job(ctx, db, func() error {
			once.Do(func() { close(began) })
			<-end
			return nil
		})
	}()
	<-began
	release = sync.OnceFunc(func() {
		close(end)
		if err := <-done; err != nil {
			t.Errorf("holding the writer: %v", err)
		}
	})
	t.Cleanup(release)
	return release
}

// Queue runs write in a goroutine while Hold blocks the writer. Queue returns once write is in
// the writer's queue or has returned. wait waits until write has returned, and returns its error.
func Queue(db *store.DB, write func() error) (wait func() error) {
	done := make(chan struct{})
	before := db.QueueLength()
	var err error
	go func() {
		defer close(done)
		err = write()
	}()
	for db.QueueLength() == before {
		select {
		case <-done:
			return func() error { return err }
		default:
			runtime.Gosched()
		}
	}
	return func() error {
		<-done
		return err
	}
}

// Job runs fn in the writer and returns its error.
func Job(ctx context.Context, db *store.DB, fn func() error) error {
	return domain.Change(ctx, db.Base(), domain.System, func(*domain.Tx) error { return fn() })
}

// Compact moves all points from the head to the metric table, as the server does regularly. For a
// database without the lock, Compact does nothing.
func Compact(db *store.DB) error { return db.Base().Points.Compact(ctx) }
