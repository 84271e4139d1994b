package points

import (
	"database/sql/driver"

	"tracker/store/sqlite"
)

// Latest is the last point of a series: the point with the largest step. If several points have
// the largest step, Latest is the point that was written last.
type Latest struct {
	Iteration int64
	Key       string
	Value     Value
	Step      Step
	At        Time
}

// Latest returns the last point of each series of the given iterations, ordered by iteration
// number and then by key. It reads fewer columns than Statistics.
func (tx *Tx) Latest(iterations []int64) ([]Latest, error) {
	recent, err := tx.recentOf(iterations)
	if err != nil {
		return nil, err
	}
	found, err := tx.Late(recent)
	if err != nil {
		return nil, err
	}
	type name struct {
		iteration int64
		key       string
	}
	late := make(map[name]Stats, len(found))
	for _, s := range found {
		late[name{s.Iteration, s.Key}] = s.Stats
	}
	var all []Latest
	err = tx.EachRow(`SELECT iteration_num, key, last, last_step, last_at FROM series
		WHERE iteration_num IN (SELECT value FROM json_each(?)) ORDER BY iteration_num, key`,
		func(row []driver.Value) error {
			l := Latest{Iteration: row[0].(int64), Key: row[1].(string)}
			if s, ok := late[name{l.Iteration, l.Key}]; ok {
				l.Value, l.Step, l.At = s.Last, *s.LastStep, *s.LastAt
				all = append(all, l)
				return nil
			}
			step, ok := row[3].(int64)
			if !ok {
				return nil // the series has no points
			}
			l.Step, l.At = Step(step), Time(row[4].(int64))
			all = append(all, l)
			return all[len(all)-1].Value.Scan(row[2])
		}, sqlite.JSON(iterations))
	return all, err
}

// recentOf returns the series of the given iterations whose rows might lack points of the recent
// table.
func (tx *Tx) recentOf(iterations []int64) ([]Series, error) {
	w, err := tx.recentWindow()
	if err != nil || w.last == 0 {
		return nil, err
	}
	if h := tx.engine.head; h != nil {
		if all, ok := h.recentOf(iterations, w); ok {
			return all, nil
		}
	}
	var all []Series
	err = tx.EachRow(`SELECT id, iteration_num, key FROM series
		WHERE iteration_num IN (SELECT value FROM json_each(?)) AND id IN (SELECT series_id FROM recent)`,
		func(row []driver.Value) error {
			all = append(all, Series{row[0].(int64), row[1].(int64), row[2].(string)})
			return nil
		}, sqlite.JSON(iterations))
	return all, err
}

// recentOf returns the series of the given iterations whose rows might lack points of window w.
// ok is false if the head has dropped points of the window.
func (h *head) recentOf(iterations []int64, w window) (all []Series, ok bool) {
	wanted := make(map[int64]bool, len(iterations))
	for _, num := range iterations {
		wanted[num] = true
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	for key, series := range h.late {
		for id, s := range series {
			if wanted[s.iteration] && len(s.points) > 0 && s.points[0].seq <= w.last {
				all = append(all, Series{id, s.iteration, key})
			}
		}
	}
	return all, h.dropped < w.first
}
