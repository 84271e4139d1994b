// Package backup copies the database to a folder at regular intervals, keeps the newest copies, and
// reports successes and failures.
//
// A copy gets its final name only after it is complete, verified and on disk. The schedule removes
// old copies only after a new copy succeeded, so a failure never reduces the number of copies. The
// schedule logs a failure and retries after at most one interval. The schedule makes at most one
// copy at a time.
//
// The folder must contain the copies of only one database. The schedule does not change other
// files in the folder.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
)

const (
	// MinInterval is the minimum of Options.Interval.
	MinInterval = time.Minute
	// MaxKeep is the maximum of Options.Keep.
	MaxKeep = 1000

	firstRetry = time.Minute // delay after the first failure; doubled after each further failure
	lastRetry  = time.Hour

	// minFree is the space in bytes that must be free after a copy. The database might be on
	// the same disk and needs space to grow.
	minFree = 64 << 20

	// maxEntries is the maximum number of files in the backup folder.
	maxEntries = 100_000
)

// Options configures a Schedule.
type Options struct {
	Dir      string        // folder for the copies; created if its parent exists
	Interval time.Duration // time between the starts of two copies
	Keep     int           // number of copies to keep

	// Prefix is the beginning of each copy's file name. The time of the copy is appended to
	// Prefix.
	Prefix string
	// Copy writes a verified copy of the database to the file path, which does not exist. If
	// Copy fails, it must not leave a file at path.
	Copy func(ctx context.Context, path string) error
	// Size returns the size of the database in bytes. FreeSpace returns the free space in bytes
	// on the file system of dir. The schedule does not start a copy that would leave less than
	// minFree.
	Size      func() (int64, error)
	FreeSpace func(dir string) (int64, error)
	Logger    *slog.Logger
	Now       func() time.Time // the clock; nil means time.Now
}

// File describes a copy in the folder.
type File struct {
	Name string
	Time time.Time // start of the copy, from its name
	Size int64     // in bytes
}

// Status describes the copies in the folder and the last attempts.
type Status struct {
	Dir      string
	Interval time.Duration
	Keep     int

	Running  bool
	Files    []File    // copies in the folder, newest first
	Next     time.Time // time of the next attempt
	Failures int       // number of failures since the last success
	Total    int       // number of failures since the start of the process
	Err      error     // error of the last attempt; nil if the attempt succeeded
	ErrTime  time.Time // time of the last failure; zero if no attempt failed
}

// Last returns the newest copy. It returns false if there are no copies.
func (s Status) Last() (File, bool) {
	if len(s.Files) == 0 {
		return File{}, false
	}
	return s.Files[0], true
}

// Schedule makes copies at regular intervals.
type Schedule struct {
	opts Options

	mu     sync.Mutex
	status Status
}

// New returns a schedule that is not running. The caller must call Run to start the schedule.
// New does not read the folder.
func New(o Options) *Schedule {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Schedule{opts: o, status: Status{Dir: o.Dir, Interval: o.Interval, Keep: o.Keep}}
}

// Status returns the current status. It does not read the folder.
func (s *Schedule) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.status
	st.Files = slices.Clone(st.Files)
	return st
}

func (s *Schedule) change(set func(*Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set(&s.status)
}

// Run makes a copy whenever a copy is due. It returns when ctx is done. If ctx is canceled during a
// copy, Run abandons the copy and removes its file. The first copy is due one interval after the
// newest copy in the folder, so a restart does not make an extra copy.
func (s *Schedule) Run(ctx context.Context) {
	if err := s.open(); err != nil {
		s.fail(err)
	} else {
		s.change(func(st *Status) { st.Next = s.due(st.Files) })
	}
	for {
		wait := time.NewTimer(s.Status().Next.Sub(s.opts.Now()))
		select {
		case <-ctx.Done():
			wait.Stop()
			return
		case <-wait.C:
			s.attempt(ctx)
		}
	}
}

// due returns the time of the next copy. It returns the current time if files is empty. A copy with
// a future time counts as made now.
func (s *Schedule) due(files []File) time.Time {
	now := s.opts.Now()
	if len(files) == 0 {
		return now
	}
	last := files[0].Time
	if last.After(now) {
		last = now
	}
	return last.Add(s.opts.Interval)
}

// open creates the folder, removes incomplete files left behind by killed processes, and lists the
// copies.
func (s *Schedule) open() error {
	if err := os.Mkdir(s.opts.Dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("the folder for backups can't be created: %w", err)
	}
	names, err := s.names()
	if err != nil {
		return err
	}
	for _, name := range names {
		// The file of an incomplete copy has the final name plus a suffix.
		base, suffix, _ := strings.Cut(name, extension+".")
		if strings.Contains(suffix, ".partial") && s.isCopy(base+extension) {
			if err := os.Remove(filepath.Join(s.opts.Dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("the remains of an interrupted backup can't be removed: %w", err)
			}
		}
	}
	return s.list()
}

// attempt makes a copy. If the copy succeeds, attempt removes the oldest copies beyond Keep.
func (s *Schedule) attempt(ctx context.Context) {
	s.change(func(st *Status) { st.Running = true })
	defer s.change(func(st *Status) { st.Running = false })
	begun := s.opts.Now()
	name, err := s.copy(ctx, begun)
	switch {
	case err != nil && ctx.Err() != nil:
		return // the server is shutting down
	case err != nil:
		s.fail(err)
		return
	}
	s.change(func(st *Status) {
		st.Err, st.Failures, st.Next = nil, 0, begun.Add(s.opts.Interval)
	})
	if err := s.prune(name); err != nil {
		s.record(err, begun.Add(s.opts.Interval))
	}
	s.opts.Logger.Info("made a backup", "file", filepath.Join(s.opts.Dir, name), "took", s.opts.Now().Sub(begun).Round(time.Millisecond).String())
}

// copy makes a copy of the database and returns its file name.
func (s *Schedule) copy(ctx context.Context, now time.Time) (string, error) {
	if err := s.open(); err != nil {
		return "", err
	}
	if err := s.checkSpace(); err != nil {
		return "", err
	}
	name := s.name(now)
	return name, s.opts.Copy(ctx, filepath.Join(s.opts.Dir, name))
}

// checkSpace returns an error if a copy would leave less than minFree on the disk.
func (s *Schedule) checkSpace() error {
	size, err := s.opts.Size()
	if err != nil {
		return err
	}
	free, err := s.opts.FreeSpace(s.opts.Dir)
	if err != nil {
		return fmt.Errorf("the free space for backups is unknown: %w", err)
	}
	if free < size+minFree {
		return fmt.Errorf("not enough disk space for a backup in %s: %s are free, but it needs %s plus a reserve of %s", s.opts.Dir,
			humanize.IBytes(uint64(free)), humanize.IBytes(uint64(size)), humanize.IBytes(minFree))
	}
	return nil
}

// prune removes the oldest copies beyond Keep. It never removes the copy whose file name is made.
func (s *Schedule) prune(made string) error {
	if err := s.list(); err != nil {
		return err
	}
	files := s.Status().Files
	var errs []error
	kept := 1 // counts the copy that was just made
	for _, f := range files {
		if f.Name == made {
			continue
		}
		if kept < s.opts.Keep {
			kept++
			continue
		}
		if err := os.Remove(filepath.Join(s.opts.Dir, f.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("an old backup can't be removed: %w", err))
		}
	}
	return errors.Join(append(errs, s.list())...)
}

// fail records the error of an attempt and schedules a retry.
func (s *Schedule) fail(err error) {
	retry := lastRetry
	if n := s.Status().Failures; n < 6 {
		retry = min(firstRetry<<n, lastRetry)
	}
	s.record(err, s.opts.Now().Add(min(retry, s.opts.Interval)))
}

// record stores a failure in Status and logs it. next is the time of the next attempt.
func (s *Schedule) record(err error, next time.Time) {
	now := s.opts.Now()
	s.change(func(st *Status) {
		st.Err, st.ErrTime, st.Next = err, now, next
		st.Failures++
		st.Total++
	})
	s.opts.Logger.Error("the backup failed", "dir", s.opts.Dir, "error", err, "next", next.UTC().Format(time.RFC3339))
}

// list reads the folder and sets Status.Files.
func (s *Schedule) list() error {
	names, err := s.names()
	if err != nil {
		return err
	}
	files := []File{}
	for _, name := range names {
		if !s.isCopy(name) {
			continue
		}
		info, err := os.Lstat(filepath.Join(s.opts.Dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if info.Mode().IsRegular() {
			at, _ := s.time(name)
			files = append(files, File{Name: name, Time: at, Size: info.Size()})
		}
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(b.Name, a.Name) })
	s.change(func(st *Status) { st.Files = files })
	return nil
}

// names returns the names of the files in the folder. It returns an error if the folder has
// more than maxEntries files.
func (s *Schedule) names() ([]string, error) {
	dir, err := os.Open(s.opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("the folder for backups can't be read: %w", err)
	}
	defer dir.Close()
	var names []string
	for len(names) <= maxEntries {
		some, err := dir.Readdirnames(1000)
		names = append(names, some...)
		if errors.Is(err, io.EOF) {
			return names, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the folder for backups can't be read: %w", err)
		}
	}
	return nil, fmt.Errorf("the backup folder %s has more than %d files: use a separate folder", s.opts.Dir, maxEntries)
}

const (
	timeLayout = "20060102T150405Z"
	extension  = ".db"
)

// name returns the file name of a copy that starts at t.
func (s *Schedule) name(t time.Time) string {
	return s.opts.Prefix + "-" + t.UTC().Format(timeLayout) + extension
}

func (s *Schedule) isCopy(name string) bool {
	_, ok := s.time(name)
	return ok
}

// time returns the time in the file name of a copy. It returns false if name is not the name of
// a copy.
func (s *Schedule) time(name string) (time.Time, bool) {
	text, ok := strings.CutPrefix(name, s.opts.Prefix+"-")
	if !ok {
		return time.Time{}, false
	}
	if text, ok = strings.CutSuffix(text, extension); !ok {
		return time.Time{}, false
	}
	t, err := time.Parse(timeLayout, text)
	return t, err == nil
}
