package store

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"

	"tracker/store/sqlite"
)

// lastSeen holds the times of the last writes to iterations, as far as their rows do
// not have them yet: otherwise a point that is logged alone would write two pages. The
// rows are written with the next transaction that changes other tables, and
// after a few seconds by one of their own.
type lastSeen struct {
	sqlite.Passive

	// For the writer only: the touches of the transaction under way, whether it is to
	// write the rows, and whether it has.
	touched []touch
	due     bool
	written bool

	flushes atomic.Int64 // number of times that the rows were written

	mu     sync.RWMutex
	behind map[int64]Time // by number of the iteration: times that its row lacks
	// flushed holds times whose rows were written, for snapshots from before that.
	flushed map[int64]flushedTime
}

type touch struct {
	num int64
	at  Time
}

type flushedTime struct {
	at    Time
	flush int64 // the number of the flush that wrote it
}

// maxFlushed bounds lastSeen.flushed. When it is full it is cleared: a read that
// began before may then show a time from a few seconds ago.
const maxFlushed = 20_000

func newLastSeen() *lastSeen {
	return &lastSeen{behind: map[int64]Time{}, flushed: map[int64]flushedTime{}}
}

// touch records that iterations were seen now.
func (s *lastSeen) touch(nums []int64, at Time) {
	for _, num := range nums {
		s.touched = append(s.touched, touch{num, at})
	}
}

// Mark returns how many touches there are.
func (s *lastSeen) Mark() int64 { return int64(len(s.touched)) }

// Changed marks the rows to be written with the transaction, which writes pages of its
// own anyway.
func (s *lastSeen) Changed() { s.due = true }

// Overdue reports whether a row lacks a time.
func (s *lastSeen) Overdue() bool { return len(s.behind) > 0 }

// Flush writes the rows when they are due.
func (s *lastSeen) Flush(tx *sqlite.Tx, stage sqlite.Stage) error {
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
func (s *lastSeen) Committed() {
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
func (s *lastSeen) RolledBack(mark int64) {
	s.touched, s.written = s.touched[:mark], false
}

// latest returns the time when an iteration was last seen. at is the one in its row.
func (s *lastSeen) latest(num int64, at Time) Time {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return max(at, s.behind[num], s.flushed[num].at)
}

// freshen sets LastSeen of iterations that were just read.
func (s *lastSeen) freshen(all []Iteration) {
	for i := range all {
		all[i].LastSeen = s.latest(all[i].Num, all[i].LastSeen)
	}
}

// since returns the times that rows may lack in a snapshot that was taken after
// so many flushes, by number of the iteration.
func (s *lastSeen) since(flushes int64) map[int64]Time {
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

// SilentIterations returns the ids of the iterations of an experiment that have
// not ended and were last seen before a time, in the order of their creation.
// Needs read.
func (db *DB) SilentIterations(ctx context.Context, actor Actor, experimentID string, before Time) ([]string, error) {
	return read(ctx, db, func(tx *tx) ([]string, error) {
		if _, err := tx.allowExperiment(actor, experimentID, rightRead); err != nil {
			return nil, err
		}
		var found []struct {
			Num      int64  `db:"num"`
			ID       string `db:"id"`
			LastSeen Time   `db:"last_seen"`
		}
		err := tx.Select(&found, `SELECT num, id, last_seen FROM iteration
			WHERE experiment_id = ? AND deleted_date IS NULL AND status = 'RUNNING' AND last_seen < ?
			ORDER BY num`, experimentID, before)
		var ids []string
		for _, i := range found {
			if db.lastSeen.latest(i.Num, i.LastSeen) < before {
				ids = append(ids, i.ID)
			}
		}
		return ids, err
	})
}
