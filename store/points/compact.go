package points

import (
	"context"
	"errors"
	"math"
	"time"

	"tracker/store/sqlite"
)

const (
	// maxHeadAge is the maximum time that a point stays in the head while new points arrive.
	// With a longer time, a compaction moves more points of each series and writes fewer pages.
	maxHeadAge = 5 * time.Minute
	// maxHeadRest is the time without new points after which the head is compacted.
	maxHeadRest = 30 * time.Second
	// compactSlice is the approximate number of points that one transaction moves. With this
	// number, a transaction takes a few milliseconds, so other writes do not wait long.
	compactSlice = 2000
	// maintainTick is the time between two checks of the age of the head.
	maintainTick = time.Second
	// ticksAfterFailure is the number of ticks without a new attempt after a failed compaction.
	ticksAfterFailure = 30
)

// maintain does the background work of the engine until ctx ends:
//
//   - It compacts the head when the head is due. It logs and retries a failed compaction.
//     No points are lost, because they are still in the recent table.
//   - It rolls up the series in toRollUp.
//   - After the start, it rolls up all series without rollups.
//   - After the start, it completes the checksums of series.
//
// The end of ctx does not interrupt work in progress. maintain does not log sqlite.ErrClosed.
func (e *Engine) maintain(ctx context.Context) {
	tick := time.NewTicker(maintainTick)
	defer tick.Stop()
	wait := 0
	missing, after := time.After(0), int64(0)
	due := time.After(0)
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-e.toRollUp:
			if err := e.rollUpNext(context.Background(), id); err != nil && !errors.Is(err, sqlite.ErrClosed) {
				e.opts.Logger.Error("the rollups of a metric could not be written; its charts read the points instead", "error", err)
			}
		case start := <-missing:
			missing = nil
			last, err := e.rollUpWithout(context.Background(), after)
			switch {
			case err != nil && !errors.Is(err, sqlite.ErrClosed):
				e.opts.Logger.Error("the rollups of some metrics could not be written; their charts read the points instead", "error", err)
			case err == nil && last > after:
				after = last
				missing = time.After(time.Since(start)) // leave half of the time to other writes
			}
		case start := <-due:
			due = nil
			found, err := e.completeChecksums(context.Background())
			switch {
			case err != nil && !errors.Is(err, sqlite.ErrClosed):
				e.opts.Logger.Error("the checksums of some metrics could not be completed; the next start will try again", "error", err)
			case err == nil && found:
				due = time.After(time.Since(start))
			}
		case <-tick.C:
			if wait--; wait > 0 || !e.head.due(time.Now()) {
				continue
			}
			if err := e.Compact(context.Background()); err != nil && !errors.Is(err, sqlite.ErrClosed) {
				e.opts.Logger.Error("could not compact points; will try again", "error", err)
				wait = ticksAfterFailure
			}
		}
	}
}

// due reports whether the head should be compacted.
func (h *head) due(now time.Time) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.size >= maxHead || h.size > 0 && (now.Sub(h.since) >= maxHeadAge || now.Sub(h.latest) >= maxHeadRest)
}

// Compact moves all points of the recent table to the metric table, series by series, and then
// removes the rows from the recent table. It does nothing if this process does not hold the lock
// of the file.
func (e *Engine) Compact(ctx context.Context) error {
	if e.head == nil {
		return nil
	}
	start := time.Now()
	last, ids, err := e.toCompact(ctx)
	if err != nil || last == 0 {
		return err
	}
	for len(ids) > 0 {
		done := 0
		err := e.upkeep(ctx, func(tx *Tx) (err error) {
			done, err = tx.compact(ids, last)
			return err
		})
		if err != nil {
			return err
		}
		ids = ids[done:]
	}
	if err := e.upkeep(ctx, func(tx *Tx) error { return tx.removeCompacted(last) }); err != nil {
		return err
	}
	e.head.drop(last, start)
	return nil
}

// toCompact returns the largest seq in the recent table, 0 if the table is empty. It also returns
// the ids of the series with points in the head.
func (e *Engine) toCompact(ctx context.Context) (last int64, ids []int64, err error) {
	err = e.upkeep(ctx, func(tx *Tx) error {
		ids = e.head.ids()
		return tx.Row(`SELECT coalesce(max(seq), 0) FROM recent`).Scan(&last)
	})
	return last, ids, err
}

// compact moves the points of the first series in ids from the recent table to the metric table.
// It moves only points with a seq up to last. It returns the number of processed series.
//
// The rows of moved points stay in the recent table. Readers ignore rows with a seq up to
// moved_seq, a column of the series table.
func (tx *Tx) compact(ids []int64, last int64) (done int, err error) {
	var rows []row
	var moved []*series
	for ; done < len(ids) && len(rows)+10*done < compactSlice; done++ {
		s, err := tx.openByID(ids[done])
		if err != nil {
			return 0, err
		}
		if s == nil {
			continue // the series was deleted with its points
		}
		points, err := tx.recent(s.id, s.compactedSeq)
		if err != nil {
			return 0, err
		}
		points = points[:after(points, last)]
		if len(points) == 0 {
			continue
		}
		for _, p := range sorted(points) {
			rows = append(rows, row{place{s.id, int64(p.step), p.seq}, p.value, p.at, s})
		}
		s.compactedSeq = points[len(points)-1].seq
		moved = append(moved, s)
	}
	if err := tx.insertIntoMetric(rows); err != nil {
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
	}
	return done, tx.saveSeries(moved...)
}

// compactSeries moves all points of a series to the metric table. Only points in the metric table
// can be changed.
func (tx *Tx) compactSeries(id int64) error {
	_, err := tx.compact([]int64{id}, math.MaxInt64)
	return err
}

// removeCompacted removes the rows with a seq up to last from the recent table. The points of the
// removed rows must be in the metric table.
//
// Deleting some rows rewrites every page, but emptying a table writes almost nothing. To avoid
// the rewrite, removeCompacted empties the table and reinserts the few rows that were added
// during the compaction.
func (tx *Tx) removeCompacted(last int64) error {
	// Save the counter before the row with the largest seq is removed.
	if err := tx.engine.open.saveSeq(tx.Tx); err != nil {
		return err
	}
	var kept []row
	rows, err := tx.Rows(`SELECT seq, series_id, step, value, recorded_at FROM recent WHERE seq > ? ORDER BY seq`, last)
	err = sqlite.Each(rows, err, func() error {
		var r row
		if err := r.scan(rows); err != nil {
			return err
		}
		kept = append(kept, r)
		return nil
	})
	if err != nil {
		return err
	}
	if _, err := tx.Exec(`DELETE FROM recent`); err != nil {
		return err
	}
	return tx.insertIntoRecent(kept)
}
