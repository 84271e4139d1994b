package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"tracker/store/sqlite"
)

// commits collects the statistics of transactions.
type commits struct {
	mu  sync.Mutex
	all []sqlite.CommitStats
}

func (c *commits) add(s sqlite.CommitStats) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, s)
}

// take returns the statistics since the last call.
func (c *commits) take() []sqlite.CommitStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.all
	c.all = nil
	return all
}

func nothing(*sqlite.Tx) error { return nil }

func TestIdleWriterCommitsAtOnce(t *testing.T) {
	var c commits
	db := open(t, sqlite.Options{OnCommit: c.add})
	wantOK(t, db.Write(ctx, sqlite.Change, add("alone")))
	if all := c.take(); len(all) != 1 || all[0].Jobs != 1 || all[0].Err != nil || all[0].Duration <= 0 {
		t.Errorf("one write made the commits %+v", all)
	}
}

func TestQueuedJobsShareCommits(t *testing.T) {
	const n = 2*sqlite.MaxJobs - 100
	var c commits
	db := open(t, sqlite.Options{OnCommit: c.add})
	release := hold(t, db)
	var waits []func() error
	var want []string
	for i := range n {
		text := fmt.Sprint("note ", i)
		waits, want = append(waits, queue(db, sqlite.Kind(i%3), add(text))), append(want, text)
	}
	release()
	for _, wait := range waits {
		wantOK(t, wait())
	}
	jobs, all := 0, c.take()
	for _, s := range all {
		jobs += s.Jobs
		if s.Err != nil || s.Jobs > sqlite.MaxJobs {
			t.Errorf("a commit of %+v", s)
		}
	}
	if jobs != n+1 || len(all) > n/2 {
		t.Errorf("%d commits of %d jobs, want few of %d", len(all), jobs, n+1)
	}
	if got := texts(t, db); !slices.Equal(got, want) {
		t.Errorf("%d notes, or in another order than they were queued, want %d", len(got), n)
	}
}

// A job that fails or panics is rolled back and does not affect other jobs of its transaction.
func TestFailingJobs(t *testing.T) {
	db := open(t, sqlite.Options{})
	release := hold(t, db)
	var waits []func() error
	for i := range 9 {
		waits = append(waits, queue(db, sqlite.Change, func(tx *sqlite.Tx) error {
			if err := add(fmt.Sprint(i))(tx); err != nil {
				return err
			}
			switch i % 3 {
			case 1:
				return errTest
			case 2:
				panic("no such luck")
			}
			return nil
		}))
	}
	duplicate := queue(db, sqlite.Change, add("0"))
	release()
	for i, wait := range waits {
		err := wait()
		switch {
		case i%3 == 0 && err != nil, i%3 == 1 && !errors.Is(err, errTest):
			t.Errorf("job %d: %v", i, err)
		case i%3 == 2 && (err == nil || !strings.Contains(err.Error(), "no such luck") || !strings.Contains(err.Error(), "writer_test.go")):
			t.Errorf("job %d: the error does not say what happened and where: %v", i, err)
		}
	}
	if err := duplicate(); !sqlite.IsDuplicate(err) {
		t.Errorf("the same note again: %v", err)
	}
	if got := texts(t, db); !slices.Equal(got, []string{"0", "3", "6"}) {
		t.Errorf("there are %q", got)
	}
}

func TestPanicInAReadIsAnError(t *testing.T) {
	db := open(t, sqlite.Options{})
	for range 2 * db.MaxReaders() {
		err := db.Read(ctx, func(*sqlite.Tx) error { panic("no such luck") })
		if err == nil || !strings.Contains(err.Error(), "no such luck") {
			t.Errorf("the read ended with %v", err)
		}
	}
	wantOK(t, db.Ping(ctx))
}

// A transaction that finds the disk full fails as a whole. Jobs that need no space are
// repeated and succeed.
func TestFullDisk(t *testing.T) {
	var c commits
	db := open(t, sqlite.Options{OnCommit: c.add})
	wantOK(t, db.Write(ctx, sqlite.Change, func(tx *sqlite.Tx) error {
		var pages, limit int
		if err := tx.Row(`PRAGMA page_count`).Scan(&pages); err != nil {
			return err
		}
		return tx.Row(fmt.Sprint(`PRAGMA max_page_count = `, pages+4)).Scan(&limit)
	}))
	release := hold(t, db)
	c.take()
	large := strings.Repeat("x", 100_000)
	var big, small []func() error
	for i := range 20 {
		if i%10 == 5 {
			big = append(big, queue(db, sqlite.Change, add(large+fmt.Sprint(i))))
		} else {
			small = append(small, queue(db, sqlite.Change, add(fmt.Sprint(i))))
		}
	}
	release()
	for _, wait := range big {
		if err := wait(); !sqlite.IsFull(err) {
			t.Errorf("a large note: %v", err)
		}
	}
	for _, wait := range small {
		wantOK(t, wait())
	}
	together := 0
	for _, s := range c.take() {
		if s.Err != nil && s.Jobs > 1 {
			together++
		}
	}
	if together == 0 {
		t.Error("no shared transaction failed, so no job was repeated")
	}
	if got := texts(t, db); len(got) != len(small) {
		t.Errorf("%d notes, want %d", len(got), len(small))
	}
}

func TestCancelledJobs(t *testing.T) {
	db := open(t, sqlite.Options{})
	for i := range 20 { // if both are ready, either can happen
		early, cancel := context.WithCancel(ctx)
		cancel()
		if err := db.Write(early, sqlite.Change, add("early")); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled before: %v", err)
		}
		late, cancel := context.WithCancel(ctx)
		release := hold(t, db)
		before := queue(db, sqlite.Change, add(fmt.Sprint("before ", i)))
		length, done := db.QueueLength(), make(chan error, 1)
		go func() { done <- db.Write(late, sqlite.Change, add("late")) }()
		for db.QueueLength() == length {
			runtime.Gosched()
		}
		after := queue(db, sqlite.Change, add(fmt.Sprint("after ", i)))
		cancel()
		release()
		wantOK(t, before())
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled in the queue: %v", err)
		}
		wantOK(t, after())
	}
	running, cancel := context.WithCancel(ctx)
	wantOK(t, db.Write(running, sqlite.Change, func(*sqlite.Tx) error {
		cancel()
		return nil
	}))
	if got := texts(t, db); len(got) != 40 {
		t.Errorf("%d notes, want 40: those that were not cancelled", len(got))
	}
}

func TestCancelledBeforeAFullQueue(t *testing.T) {
	db := open(t, sqlite.Options{})
	release := hold(t, db)
	var waits []func() error
	for db.QueueLength() < db.QueueSize() {
		waits = append(waits, queue(db, sqlite.Upkeep, nothing))
	}
	late, cancel := context.WithCancel(ctx)
	done := make(chan error)
	go func() { done <- db.Write(late, sqlite.Upkeep, nothing) }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("no room in the queue: %v", err)
	}
	release()
	for _, wait := range waits {
		wantOK(t, wait())
	}
}

func TestCancelledReadsGiveTheirConnectionBack(t *testing.T) {
	db := open(t, sqlite.Options{})
	gone, cancel := context.WithCancel(ctx)
	cancel()
	for range 4 * db.MaxReaders() {
		if err := db.Read(gone, nothing); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled before: %v", err)
		}
		late, cancel := context.WithCancel(ctx)
		if err := db.Read(late, func(*sqlite.Tx) error { cancel(); return late.Err() }); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled while it reads: %v", err)
		}
	}
	wantOK(t, db.Ping(ctx))
}

// Close completes queued jobs, and waits for reads and background work.
func TestClose(t *testing.T) {
	db := open(t, sqlite.Options{})
	background := make(chan struct{})
	db.Go(func(ctx context.Context) {
		<-ctx.Done()
		<-background
	})
	end := make(chan struct{})
	var reading, wg sync.WaitGroup
	for range db.MaxReaders() {
		reading.Add(1)
		wg.Go(func() {
			err := db.Read(ctx, func(tx *sqlite.Tx) error {
				reading.Done()
				<-end
				return nil
			})
			if err != nil {
				t.Errorf("a read that had begun: %v", err)
			}
		})
	}
	reading.Wait()
	release := hold(t, db)
	queued := queue(db, sqlite.Change, add("queued"))
	done := make(chan error, 1)
	go func() { done <- db.Close() }()
	for !errors.Is(db.Read(ctx, nothing), sqlite.ErrClosed) {
		runtime.Gosched()
	}
	if err := db.Write(ctx, sqlite.Change, add("late")); !errors.Is(err, sqlite.ErrClosed) {
		t.Errorf("a write after Close has begun: %v", err)
	}
	release()
	wantOK(t, queued())
	select {
	case err := <-done:
		t.Errorf("closed while reads were under way (%v)", err)
	default:
	}
	close(end)
	wg.Wait()
	close(background)
	wantOK(t, <-done)
	wantOK(t, db.Close())
	if got := texts(t, open(t, sqlite.Options{Path: db.Path()})); !slices.Equal(got, []string{"queued"}) {
		t.Errorf("there are %q", got)
	}
}
