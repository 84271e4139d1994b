package points

import "math"

// DeleteFrom removes the points of a metric whose step is at least from. It returns the number
// of removed points. It also removes the series if no point is left. The transaction must be
// the writer's and must not have added points before.
func (tx *Tx) DeleteFrom(iteration int64, key string, from Step) (int64, error) {
	s, err := tx.findSeries(iteration, key)
	if err != nil || s == nil {
		return 0, err
	}
	o := tx.engine.open
	delete(o.byKey, seriesKey{iteration, key})
	delete(o.byID, s.id)
	if err := tx.compactSeries(s.id); err != nil {
		return 0, err
	}
	n, checksum, err := tx.removeSteps(s.id, from, math.MaxInt64)
	if err != nil || n == 0 {
		return 0, err
	}
	delete(o.byKey, seriesKey{iteration, key})
	delete(o.byID, s.id)
	if err := tx.recompute(s.id, -checksum); err != nil {
		return n, err
	}
	return n, tx.rebuildRollups(s.id)
}

// removeSteps removes the points of a series with steps in the range first..last from the metric
// table. It returns the number of removed points and the sum of their checksums.
func (tx *Tx) removeSteps(id int64, first, last Step) (n, checksum int64, err error) {
	err = tx.eachPoint(id, int64(first), int64(last), func(p point) { checksum += p.checksum() })
	if err != nil {
		return 0, 0, err
	}
	if _, err := tx.Exec(`DELETE FROM metric_moved WHERE series_id = ? AND step BETWEEN ? AND ?`, id, first, last); err != nil {
		return 0, 0, err
	}
	n, err = tx.Exec(`DELETE FROM metric WHERE series_id = ? AND step BETWEEN ? AND ?`, id, first, last)
	return n, checksum, err
}
