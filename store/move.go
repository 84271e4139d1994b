package store

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"
)

const (
	// maxRecent is how many points table recent may have before they are moved
	// to table metric. Kept in memory they take 32 bytes each.
	maxRecent = 150_000
	// recentAge is how long the oldest point may stay in it while others come:
	// the longer, the more points of a series are moved at once, and the fewer
	// pages are written.
	recentAge = 5 * time.Minute
	// recentRest is after how long without a point all are moved.
	recentRest = 30 * time.Second
	// moveSlice is about how many points one transaction moves: a few
	// milliseconds of work, so that no other write waits long.
	moveSlice = 2000
	// moveTick is how often it is looked whether it is time.
	moveTick = time.Second
)

// move is the goroutine that empties table recent, and rolls up what could not
// be when it was written. A failure is told and tried
// again: nothing is lost while the points stay where they are.
func (db *DB) move() {
	defer close(db.moved)
	if db.recents == nil {
		return
	}
	tick := time.NewTicker(moveTick)
	defer tick.Stop()
	wait := 0
	for {
		select {
		case <-db.closing:
			return
		case id := <-db.unrolled:
			if err := db.rollMore(context.Background(), id); err != nil && !errors.Is(err, errClosing) {
				db.log.Error("a metric could not be rolled up for charts; they read its points instead", "error", err)
			}
		case <-tick.C:
			if wait--; wait > 0 || !db.recents.due(time.Now()) {
				continue
			}
			if err := db.moveRecent(context.Background()); err != nil && !errors.Is(err, errClosing) {
				db.log.Error("points could not be moved to their place in the database; they are safe where they are", "error", err)
				wait = 30
			}
		}
	}
}

// due tells whether the points in r should be moved.
func (r *recents) due(now time.Time) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.size >= maxRecent || r.size > 0 && (now.Sub(r.since) >= recentAge || now.Sub(r.latest) >= recentRest)
}

// moveRecent moves all points that are in table recent now to table metric, in
// the order of their series, then removes the rows.
func (db *DB) moveRecent(ctx context.Context) error {
	start := time.Now()
	last, ids, err := db.toMove(ctx)
	if err != nil || last == 0 {
		return err
	}
	for len(ids) > 0 {
		done := 0
		err := db.maintain(ctx, func(tx *tx) (err error) {
			done, err = tx.moveSome(ids, last)
			return err
		})
		if err != nil {
			return err
		}
		ids = ids[done:]
	}
	return db.removeMoved(ctx, last, start)
}

// toMove returns the largest seq in table recent, 0 when it is empty, and the
// series of its rows in order.
func (db *DB) toMove(ctx context.Context) (last int64, ids []int64, err error) {
	err = db.maintain(ctx, func(tx *tx) error {
		if err := tx.row(`SELECT coalesce(max(seq), 0) FROM recent`).Scan(&last); err != nil {
			return err
		}
		r := db.recents
		r.mu.RLock()
		defer r.mu.RUnlock()
		ids = ids[:0]
		for id := range r.tails {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		return nil
	})
	return last, ids, err
}

// moveSome moves the points of the first of some series, in the order of their
// ids, that have a seq up to last from table recent to table metric, and returns
// of how many series. Their rows in recent stay and do not count any more.
func (tx *tx) moveSome(ids []int64, last int64) (done int, err error) {
	var rows []pointRow
	var moved []*series
	for ; done < len(ids) && len(rows)+10*done < moveSlice; done++ {
		s, err := tx.knownSeries(ids[done])
		if err != nil {
			return 0, err
		}
		if s == nil {
			continue // it is gone, and its points with it
		}
		points, err := tx.recent(s.ID, s.moved)
		if err != nil {
			return 0, err
		}
		points = points[:after(points, last)]
		if len(points) == 0 {
			continue
		}
		for _, p := range inOrder(points) {
			rows = append(rows, pointRow{place{s.ID, int64(p.step), p.seq}, p.value, p.at, s})
		}
		s.moved = points[len(points)-1].seq
		moved = append(moved, s)
	}
	if err := tx.insertPoints(rows); err != nil {
		return 0, err
	}
	for _, s := range moved {
		n := 0
		for n < len(rows) && rows[n].series == s {
			n++
		}
		if err := tx.rollUp(s, rows[:n]); err != nil {
			return 0, err
		}
		rows = rows[n:]
		if err := tx.saveSeries(s); err != nil {
			return 0, err
		}
	}
	return done, nil
}

// moveAll brings the points of a series together in table metric, where those
// who change them look for them.
func (tx *tx) moveAll(id int64) error {
	_, err := tx.moveSome([]int64{id}, math.MaxInt64)
	return err
}

// removeMoved removes the rows of table recent up to last, whose points are
// all in table metric. Emptying a table writes almost nothing, while to delete
// rows is to write each page once more; so it is emptied, and the few rows that
// came during the move are put back.
func (db *DB) removeMoved(ctx context.Context, last int64, start time.Time) error {
	err := db.maintain(ctx, func(tx *tx) error {
		// What has the largest seq may go: the counter must know it.
		if err := tx.db.ledger.saveSeq(tx); err != nil {
			return err
		}
		rows, err := tx.rows(`SELECT seq, series_id, step, value, recorded_at FROM recent WHERE seq > ? ORDER BY seq`, last)
		if err != nil {
			return err
		}
		defer rows.Close()
		var kept []pointRow
		for rows.Next() {
			var r pointRow
			if err := r.scan(rows); err != nil {
				return err
			}
			kept = append(kept, r)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return err
		}
		if _, err := tx.exec(`DELETE FROM recent`); err != nil {
			return err
		}
		return tx.appendRecent(kept)
	})
	if err != nil {
		return err
	}
	db.recents.trim(last, start)
	return nil
}

// maintain is change for what does its own bookkeeping: what the writer
// remembers stays true.
func (db *DB) maintain(ctx context.Context, fn func(*tx) error) error {
	return db.enqueue(&piece{ctx: ctx, actor: System, keeps: true, fn: fn})
}

// knownSeries returns a series by its id as the writer knows it, nil when there
// is none.
func (tx *tx) knownSeries(id int64) (*series, error) {
	if s := tx.db.ledger.byID[id]; s != nil {
		return s, nil
	}
	return tx.seriesByID(id)
}

// settle writes what a search reads and the writer has held back: the stored
// statistics of metrics of an experiment up to their last point, and when runs
// were last seen.
func (db *DB) settle(ctx context.Context, experimentID string, s search) error {
	seen := (s.filter != nil || len(s.sort) > 0) && db.seen.pending()
	if !seen && len(db.recents.behind(experimentID, s.metrics)) == 0 {
		return nil
	}
	return db.maintain(ctx, func(tx *tx) error {
		db.seen.due = db.seen.due || seen
		for _, id := range db.recents.behind(experimentID, s.metrics) {
			s, err := tx.knownSeries(id)
			if err == nil && s != nil {
				err = tx.saveSeries(s)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// settleOrWarn is settle, but reading goes on when the disk is full: what a run
// has logged in the last minutes may then be missing in a search.
func (db *DB) settleOrWarn(ctx context.Context, experimentID string, s search) error {
	err := db.settle(ctx, experimentID, s)
	if err != nil && AsError(err).Code == CodeStorageFull {
		db.log.Warn("the statistics of metrics could not be brought up to date for a search", "error", err)
		return nil
	}
	return err
}
