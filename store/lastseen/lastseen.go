// Package lastseen keeps the times when iterations were last written to. A time is in
// memory first, since a row that is written with each point would cost two pages. The
// rows are written with the next transaction that changes other tables, and after a few
// seconds by one of their own.
//
// Times is a participant of each commit: a time is there once its transaction is on
// disk, and not at all when that was rolled back. Readers get the times that the rows of
// their snapshot lack. The package knows iterations by their numbers, and column last_seen.
package lastseen

import (
	"maps"
	"sync"
	"sync/atomic"

	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// Times holds the times that the rows of iterations may lack.
type Times struct {
	sqlite.Passive

	// For the writer only: the touches of the transaction under way, whether it is to
	// write the rows, and whether it has.
	touched []touch
	due     bool
	written bool

	flushes atomic.Int64 // number of times that the rows were written

	mu     sync.RWMutex
	behind map[int64]scalar.Time // by number of the iteration: times that its row lacks
	// flushed holds times whose rows were written, for snapshots from before that.
	flushed map[int64]flushedTime
}

type touch struct {
	num int64
	at  scalar.Time
}

type flushedTime struct {
	at    scalar.Time
	flush int64 // the number of the flush that wrote it
}

// maxFlushed bounds Times.flushed. When it is full it is cleared: a read that
// began before may then show a time from a few seconds ago.
const maxFlushed = 20_000

// New returns an empty Times.
func New() *Times {
	return &Times{behind: map[int64]scalar.Time{}, flushed: map[int64]flushedTime{}}
}

// Touch records that iterations were seen at a time, in the transaction under way.
func (s *Times) Touch(nums []int64, at scalar.Time) {
	for _, num := range nums {
		s.touched = append(s.touched, touch{num, at})
	}
}

// Flushes returns how often the rows were written, for Since.
func (s *Times) Flushes() int64 { return s.flushes.Load() }

// Mark returns how many touches there are.
func (s *Times) Mark() int64 { return int64(len(s.touched)) }

// Changed marks the rows to be written with the transaction, which writes pages of its
// own anyway.
func (s *Times) Changed() { s.due = true }

// Overdue reports whether a row lacks a time.
func (s *Times) Overdue() bool { return len(s.behind) > 0 }

// Flush writes the rows when they are due.
func (s *Times) Flush(tx *sqlite.Tx, stage sqlite.Stage) error {
	if stage == sqlite.AroundJob || stage == sqlite.BeforeCommit && !s.due || len(s.behind)+len(s.touched) == 0 {
		return nil
	}
	s.written = true
	latest := maps.Clone(s.behind)
	for _, t := range s.touched {
		latest[t.num] = t.at
	}
	for num, at := range latest {
		if _, err := tx.Exec(`UPDATE iteration SET last_seen = ? WHERE num = ?`, at, num); err != nil {
			return err
		}
	}
	return nil
}

// Committed publishes the touches of the transaction to the readers.
func (s *Times) Committed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.touched {
		s.behind[t.num] = t.at
	}
	s.touched = s.touched[:0]
	if !s.written {
		return
	}
	if len(s.flushed)+len(s.behind) > maxFlushed {
		clear(s.flushed)
	}
	flush := s.flushes.Add(1)
	for num, at := range s.behind {
		s.flushed[num] = flushedTime{at, flush}
	}
	clear(s.behind)
	s.written, s.due = false, false
}

// RolledBack drops the touches after the mark.
func (s *Times) RolledBack(mark int64) {
	s.touched, s.written = s.touched[:mark], false
}

// Latest returns the time when an iteration was last seen. at is the one in its row.
func (s *Times) Latest(num int64, at scalar.Time) scalar.Time {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return max(at, s.behind[num], s.flushed[num].at)
}

// Since returns the times that rows may lack in a snapshot that was taken after so many
// Flushes, by number of the iteration.
func (s *Times) Since(flushes int64) map[int64]scalar.Time {
	s.mu.RLock()
	defer s.mu.RUnlock()
	late := maps.Clone(s.behind)
	if s.flushes.Load() > flushes {
		for num, f := range s.flushed {
			if f.flush > flushes {
				late[num] = max(late[num], f.at)
			}
		}
	}
	return late
}
