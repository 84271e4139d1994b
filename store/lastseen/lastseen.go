// Package lastseen keeps the times when iterations were last written to. A time is first
// kept in memory, because writing the row of the iteration with each point would cost two
// pages. The rows are written with the next transaction that changes other tables, or in a
// separate transaction after a few seconds.
//
// Times is a participant of each commit: a time is published when its transaction is on
// disk, and dropped if the transaction is rolled back. Readers get the times that are
// missing in the rows of their snapshot. The package uses the numbers of iterations and the
// column last_seen.
package lastseen

import (
	"maps"
	"sync"
	"sync/atomic"

	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// Times holds the times that may not be in the rows of iterations yet.
type Times struct {
	sqlite.Passive

	// Used only by the writer: the touches of the current transaction, whether the
	// transaction must write the rows, and whether it has written them.
	touched []touch
	due     bool
	written bool

	flushes atomic.Int64 // number of times that the rows were written

	mu     sync.RWMutex
	behind map[int64]scalar.Time // times that are not in the rows yet, by number of the iteration
	// flushed holds times that were written to the rows, for snapshots taken before the
	// write.
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

// maxFlushed is the maximum length of Times.flushed. A full map is cleared; a snapshot
// taken before may then show a time that is a few seconds old.
const maxFlushed = 20_000

// New returns an empty Times.
func New() *Times {
	return &Times{behind: map[int64]scalar.Time{}, flushed: map[int64]flushedTime{}}
}

// Touch records in the current transaction that iterations were seen at a time.
func (s *Times) Touch(nums []int64, at scalar.Time) {
	for _, num := range nums {
		s.touched = append(s.touched, touch{num, at})
	}
}

// Flushes returns the number of times that the rows were written. It is the argument of
// Since.
func (s *Times) Flushes() int64 { return s.flushes.Load() }

// Mark returns the number of touches in the current transaction.
func (s *Times) Mark() int64 { return int64(len(s.touched)) }

// Changed makes the current transaction write the rows, because it also changes other
// tables.
func (s *Times) Changed() { s.due = true }

// Overdue reports whether a time has not been written to its row.
func (s *Times) Overdue() bool { return len(s.behind) > 0 }

// Flush writes the rows if they are due.
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

// Latest returns the time when an iteration was last seen. at is the time in its row.
func (s *Times) Latest(num int64, at scalar.Time) scalar.Time {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return max(at, s.behind[num], s.flushed[num].at)
}

// Since returns the times that may be missing in the rows of a snapshot, by number of the
// iteration. flushes is the result of Flushes before the snapshot was taken.
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
