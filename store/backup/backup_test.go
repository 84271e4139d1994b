package backup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fixture is a schedule with a fake clock. Its copies are small files.
type fixture struct {
	*Schedule
	dir string

	mu      sync.Mutex
	now     time.Time
	copyErr error
	size    int64
	free    int64
	copies  int
	copied  chan struct{} // receives after each copy
}

func newFixture(t *testing.T, o Options) *fixture {
	t.Helper()
	f := &fixture{dir: filepath.Join(t.TempDir(), "copies"), now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), free: 1 << 40, size: 1000,
		copied: make(chan struct{}, 100)}
	if o.Dir == "" {
		o.Dir = f.dir
	}
	if o.Interval == 0 {
		o.Interval = time.Hour
	}
	if o.Keep == 0 {
		o.Keep = 3
	}
	o.Prefix = "tracker"
	o.Now = func() time.Time {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.now
	}
	o.Size = func() (int64, error) { return f.size, nil }
	o.FreeSpace = func(string) (int64, error) { return f.free, nil }
	o.Copy = func(_ context.Context, path string) error {
		defer func() { f.copied <- struct{}{} }()
		f.copies++
		if f.copyErr != nil {
			return f.copyErr
		}
		if _, err := os.Lstat(path); err == nil {
			return errors.New("there is such a file")
		}
		return os.WriteFile(path, []byte("copy"), 0o600)
	}
	f.Schedule = New(o)
	return f
}

func (f *fixture) advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

// files returns the names of the files in the folder.
func (f *fixture) files(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func wantFiles(t *testing.T, f *fixture, want ...string) {
	t.Helper()
	if got := f.files(t); !slices.Equal(got, want) {
		t.Errorf("the folder has %q, want %q", got, want)
	}
}

func TestKeepsTheNewest(t *testing.T) {
	f := newFixture(t, Options{Keep: 2})
	if f.attempt(t.Context()); f.Status().Err != nil {
		t.Fatal(f.Status().Err)
	}
	for name, text := range map[string]string{"tracker-monday.db": "by hand", "other-20200101T000000Z.db": "of another", "tracker-20200101T000000Z.db.txt": "notes"} {
		if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		f.advance(time.Hour)
		f.attempt(t.Context())
	}
	wantFiles(t, f, "other-20200101T000000Z.db", "tracker-20200101T000000Z.db.txt", "tracker-20260304T070607Z.db", "tracker-20260304T080607Z.db", "tracker-monday.db")
	st := f.Status()
	last, ok := st.Last()
	if st.Err != nil || !ok || last.Name != "tracker-20260304T080607Z.db" || last.Size != 4 || !last.Time.Equal(f.now) ||
		!st.Next.Equal(f.now.Add(time.Hour)) || len(st.Files) != 2 || st.Running {
		t.Errorf("%+v", st)
	}
	if info, err := os.Stat(f.dir); err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("the folder is %v, %v", info.Mode(), err)
	}
}

// A failure is reported and does not remove a copy. The copy is retried after a minute, then after
// growing delays up to the interval.
func TestFailure(t *testing.T) {
	f := newFixture(t, Options{Keep: 1, Interval: 20 * time.Minute})
	f.attempt(t.Context())
	f.copyErr = errors.New("the copy is damaged")
	var waits []time.Duration
	for range 8 {
		f.advance(time.Hour)
		f.attempt(t.Context())
		waits = append(waits, f.Status().Next.Sub(f.now)/time.Minute)
	}
	if want := []time.Duration{1, 2, 4, 8, 16, 20, 20, 20}; !slices.Equal(waits, want) {
		t.Errorf("it waits for %v minutes, want %v", waits, want)
	}
	wantFiles(t, f, "tracker-20260304T050607Z.db")
	if st := f.Status(); st.Err == nil || st.Failures != 8 || st.Total != 8 || !st.ErrTime.Equal(f.now) || len(st.Files) != 1 {
		t.Errorf("%+v", st)
	}
	f.copyErr = nil
	f.advance(time.Hour)
	f.attempt(t.Context())
	if st := f.Status(); st.Err != nil || st.Failures != 0 || st.Total != 8 || st.ErrTime.IsZero() {
		t.Errorf("after a success: %+v", st)
	}
	wantFiles(t, f, "tracker-20260304T140607Z.db")
}

// A copy that would fill the disk is not made.
func TestNoRoom(t *testing.T) {
	f := newFixture(t, Options{})
	f.size, f.free = 100<<20, 150<<20
	f.attempt(t.Context())
	if st := f.Status(); f.copies != 0 || st.Err == nil || !strings.Contains(st.Err.Error(), "150 MiB are free, but it needs 100 MiB plus a reserve of 64 MiB") {
		t.Errorf("%d copies, %v", f.copies, st.Err)
	}
	f.free = 200 << 20
	if f.attempt(t.Context()); f.copies != 1 || f.Status().Err != nil {
		t.Errorf("%d copies, %v", f.copies, f.Status().Err)
	}
}

func TestFolderThatCannotBe(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing", "copies")
	f := newFixture(t, Options{Dir: missing})
	f.attempt(t.Context())
	if st := f.Status(); st.Err == nil || !strings.Contains(st.Err.Error(), "can't be created") || f.copies != 0 {
		t.Errorf("%v after %d copies", st.Err, f.copies)
	}
}

// The files of a killed attempt are removed before the next attempt.
func TestRemainders(t *testing.T) {
	f := newFixture(t, Options{})
	if err := os.Mkdir(f.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tracker-20260301T000000Z.db.123.partial", "tracker-20260301T000000Z.db.123.partial-journal", "monday.db.456.partial"} {
		if err := os.WriteFile(filepath.Join(f.dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f.attempt(t.Context())
	wantFiles(t, f, "monday.db.456.partial", "tracker-20260304T050607Z.db")
}

// After a restart, the next copy is due one interval after the newest copy, even if the clock was
// changed.
func TestDue(t *testing.T) {
	f := newFixture(t, Options{Interval: time.Hour})
	now := f.now
	for _, c := range []struct {
		last time.Time
		want time.Duration
	}{{now.Add(-10 * time.Minute), 50 * time.Minute}, {now.Add(-3 * time.Hour), -2 * time.Hour}, {now.Add(1000 * time.Hour), time.Hour}} {
		if got := f.due([]File{{Time: c.last}}).Sub(now); got != c.want {
			t.Errorf("last %v: due in %v, want %v", c.last, got, c.want)
		}
	}
	if got := f.due(nil); !got.Equal(now) {
		t.Errorf("without a copy: due at %v", got)
	}
}

// Run makes the first copy immediately and returns when its context is done.
func TestRun(t *testing.T) {
	f := newFixture(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		f.Run(ctx)
		close(ended)
	}()
	<-f.copied
	cancel()
	<-ended
	wantFiles(t, f, "tracker-20260304T050607Z.db")

	// The next process finds the copy and waits.
	ctx, cancel = context.WithCancel(t.Context())
	next := newFixture(t, Options{Dir: f.dir})
	ended = make(chan struct{})
	go func() {
		next.Run(ctx)
		close(ended)
	}()
	for next.Status().Next.IsZero() {
		time.Sleep(time.Millisecond)
	}
	cancel()
	<-ended
	if st := next.Status(); next.copies != 0 || len(st.Files) != 1 || !st.Next.Equal(f.now.Add(time.Hour)) {
		t.Errorf("%d copies, %+v", next.copies, st)
	}
}
