package store

import (
	"context"
	"sync"
	"time"
)

// seenDelay is how long it may take until table iteration has when a run was
// last heard of. A point that is logged alone would else write two pages.
const seenDelay = 5 * time.Second

// seen has when iterations were last written to, as far as their rows don't
// say so yet. The writer alone changes it.
type seen struct {
	mu      sync.RWMutex
	at      map[int64]Time // by number
	due     bool           // the rows are written with the next transaction
	written bool           // they were, in the transaction under way
}

func (s *seen) note(num int64, at Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == nil {
		s.at = map[int64]Time{}
	}
	s.at[num] = at
}

// pending tells whether a row is behind.
func (s *seen) pending() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.at) > 0
}

// latest is when an iteration was last seen whose row says at.
func (s *seen) latest(num int64, at Time) Time {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return max(at, s.at[num])
}

// freshen sets LastSeen of iterations that were just read.
func (s *seen) freshen(all []Iteration) {
	for i := range all {
		all[i].LastSeen = s.latest(all[i].Num, all[i].LastSeen)
	}
}

// SilentIterations returns the ids of the iterations of an experiment that have
// not ended and were last heard of before a time, in the order of their creation.
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
		err := tx.all(&found, `SELECT num, id, last_seen FROM iteration
			WHERE experiment_id = ? AND status = 'RUNNING' AND last_seen < ?
			ORDER BY num`, experimentID, before)
		var ids []string
		for _, i := range found {
			if db.seen.latest(i.Num, i.LastSeen) < before {
				ids = append(ids, i.ID)
			}
		}
		return ids, err
	})
}

// flush writes the rows when it is time.
func (s *seen) flush(t *tx) error {
	if len(s.at) == 0 || !s.due {
		return nil
	}
	for num, at := range s.at {
		if _, err := t.exec(`UPDATE iteration SET last_seen = ? WHERE num = ?`, at, num); err != nil {
			return err
		}
	}
	s.written = true
	return nil
}

// end is told how the transaction ended.
func (s *seen) end(err error) {
	if s.written && err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		clear(s.at)
		s.due = false
	}
	s.written = false
}

// writeSeen writes what is held back by a transaction of its own.
func (db *DB) writeSeen() {
	if !db.seen.pending() {
		return
	}
	db.seen.due = true
	db.serve(&piece{
		ctx:   context.Background(),
		actor: System,
		keeps: true,
		fn:    func(*tx) error { return nil },
		done:  make(chan struct{}),
	})
}
