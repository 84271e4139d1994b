// Package lastseen stores the time of the last write to each iteration. It first stores a time in
// memory, because updating an iteration's row with each point would write two more pages. A flush
// writes all pending times to the rows of iterations. The next transaction that changes other
// tables includes a flush. If there is no such transaction for a few seconds, a separate
// transaction flushes the times.
//
// Times is a participant in each commit. It publishes a time after the transaction is on disk,
// and drops the time if the transaction is rolled back. Readers get the times that are missing in
// their snapshot. In the database, the package uses only the columns num and last_seen of the
// iteration table.
package lastseen

import (
	"maps"
	"sync"
	"sync/atomic"

	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// Times holds the times that might not be in the database yet.
type Times struct {
	sqlite.Passive

	// Only the writer uses touched, due and written. touched holds the touches of the current
	// transaction. due is set if the transaction must flush the times. written is set if the
	// transaction has flushed the times.
	touched []touch
	due     bool
	written bool

	flushes atomic.Int64 // number of flushes so far

	mu     sync.RWMutex
	behind map[int64]scalar.Time // pending times, by iteration number
	// flushed holds times that are already in the database, by iteration number. Readers need
	// these times if their snapshot is older than the flush.
	flushed map[int64]flushedTime
}

type touch struct {
	num int64
	at  scalar.Time
}

type flushedTime struct {
	at    scalar.Time
	flush int64 // number of the flush that wrote the time to the row
}

// maxFlushed is the maximum length of Times.flushed. A full map is cleared. After that, an
// older snapshot can show a time that is a few seconds old.
const maxFlushed = 20_000

// New returns an empty Times.
func New() *Times {
	return &Times{behind: map[int64]scalar.Time{}, flushed: map[int64]flushedTime{}}
}

// Touch records in the current transaction that the given iterations were seen at the given
// time.
func (s *Times) Touch(nums []int64, at scalar.Time) {
	for _, num := range nums {
		s.touched = append(s.touched, touch{num, at})
	}
}

// Flushes returns the number of flushes so far, which is an argument for Since.
func (s *Times) Flushes() int64 { return s.flushes.Load() }

// Mark returns the number of touches in the current transaction so far.
func (s *Times) Mark() int64 { return int64(len(s.touched)) }

// Changed makes the current transaction flush the times. It is called if the transaction
// changes other tables.
func (s *Times) Changed() { s.due = true }

// Overdue reports whether some times are pending.
func (s *Times) Overdue() bool { return len(s.behind) > 0 }

// Flush writes the pending times to the rows of iterations if a flush is due.
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

// Committed publishes the touches to readers. It is called after the transaction is on disk.
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

// Latest returns the time when the iteration was last seen. at is the time in the iteration's
// row.
func (s *Times) Latest(num int64, at scalar.Time) scalar.Time {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return max(at, s.behind[num], s.flushed[num].at)
}

// Since returns the times that might be missing in a snapshot, by iteration number. flushes is
// the result of Flushes before the snapshot was taken.
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
