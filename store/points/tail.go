package points

import (
	"slices"

	"tracker/store/sqlite"
)

// Tail returns the first point of a series and up to limit points with the largest steps, in the
// order of steps. ok is false if the series has no points.
func (tx *Tx) Tail(iteration int64, key string, limit int) (first Point, tail []Point, ok bool, err error) {
	s, err := tx.findSeries(iteration, key)
	if err != nil || s == nil || s.Count == 0 {
		return first, nil, false, err
	}
	all := []*series{s}
	begin, err := tx.list(all, 1, 0)
	if err != nil || len(begin) == 0 {
		return first, nil, false, err
	}
	recent, err := tx.recentPoints(all)
	if err != nil {
		return first, nil, false, err
	}
	rows, err := tx.Rows(selectPoints(`SELECT metric.* FROM metric WHERE metric.series_id = ?
		ORDER BY metric.step DESC, metric.seq DESC LIMIT ?`), s.id, limit)
	err = sqlite.Each(rows, err, func() error {
		var p Point
		if err := p.scan(rows); err != nil {
			return err
		}
		tail = append(tail, p)
		return nil
	})
	if err != nil {
		return first, nil, false, err
	}
	tail = append(tail, recent...)
	slices.SortFunc(tail, Point.compare)
	return begin[0], tail[max(0, len(tail)-limit):], true, nil
}
