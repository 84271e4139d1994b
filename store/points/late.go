package points

import (
	"tracker/store/sqlite"
)

// A row of the series table holds the statistics of the points that existed when the row was
// written. Queries that read the series table also call Recent and Late. Recent returns the
// series whose rows might lack points. Late returns statistics that include all points of the
// snapshot.

// Series identifies a series by its id and by its iteration and key.
type Series struct {
	ID        int64
	Iteration int64
	Key       string
}

// Statistics holds the statistics of a series as seen by one transaction.
type Statistics struct {
	Series
	Stats
}

// Recent returns the series with the given keys whose rows might lack points of the recent table.
// The rows of all other series are up to date.
func (tx *Tx) Recent(keys []string) ([]Series, error) {
	w, err := tx.recentWindow()
	if err != nil || w.last == 0 || len(keys) == 0 {
		return nil, err
	}
	if h := tx.engine.head; h != nil {
		if all, ok := h.recent(keys, w); ok {
			return all, nil
		}
	}
	var all []Series
	rows, err := tx.Rows(`SELECT id, iteration_num, key FROM series
		WHERE id IN (SELECT series_id FROM recent) AND key IN (SELECT value FROM json_each(?))`, sqlite.JSON(keys))
	err = sqlite.Each(rows, err, func() error {
		var s Series
		if err := rows.Scan(&s.ID, &s.Iteration, &s.Key); err != nil {
			return err
		}
		all = append(all, s)
		return nil
	})
	return all, err
}

// recent returns the series with the given keys whose rows might lack points of window w. ok is
// false if the head has dropped points of the window.
func (h *head) recent(keys []string, w window) (all []Series, ok bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, key := range keys {
		for id, s := range h.late[key] {
			if len(s.points) > 0 && s.points[0].seq <= w.last {
				all = append(all, Series{id, s.iteration, key})
			}
		}
	}
	return all, h.dropped < w.first
}

// Late returns the statistics of the given series whose rows lack points of the snapshot. It
// omits series whose rows are up to date.
func (tx *Tx) Late(all []Series) ([]Statistics, error) {
	if len(all) == 0 {
		return nil, nil
	}
	ids := make([]int64, len(all))
	for i, s := range all {
		ids[i] = s.ID
	}
	found, err := tx.seriesWhere(`series.id IN (SELECT value FROM json_each(?))`, sqlite.JSON(ids))
	var late []Statistics
	for _, s := range found {
		if s.lastSeq > s.statsSeq {
			late = append(late, s.statistics())
		}
	}
	return late, err
}

func (s *series) statistics() Statistics {
	return Statistics{Series{s.id, s.iteration, s.key}, s.Stats}
}
