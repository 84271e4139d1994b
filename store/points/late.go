package points

import (
	"tracker/store/json"
)

// A row of table series has the statistics of the points that existed when it was
// written. Queries that read these rows call Recent and Late to find the rows that
// lack points in their snapshot, and to get the statistics with these points.

// Series names a series.
type Series struct {
	ID        int64
	Iteration int64
	Key       string
}

// Statistics holds the statistics of a series in a snapshot.
type Statistics struct {
	Series
	Stats
}

// Recent returns the series with these keys whose rows may lack points of table
// recent. The rows of all other series are current.
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
	list, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	rows, err := tx.Rows(`SELECT id, iteration_num, key FROM series
		WHERE id IN (SELECT series_id FROM recent) AND key IN (SELECT value FROM json_each(?))`, string(list))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []Series
	for rows.Next() {
		var s Series
		if err := rows.Scan(&s.ID, &s.Iteration, &s.Key); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, rows.Err()
}

// recent returns the series with these keys whose rows may lack points of the
// window. ok is false if some points of the window were dropped.
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

// Late returns the statistics of each series in all whose row lacks points that the
// snapshot shows.
func (tx *Tx) Late(all []Series) ([]Statistics, error) {
	if len(all) == 0 {
		return nil, nil
	}
	ids := make([]int64, len(all))
	for i, s := range all {
		ids[i] = s.ID
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	found, err := tx.seriesWhere(`series.id IN (SELECT value FROM json_each(?))`, string(list))
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
