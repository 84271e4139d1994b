package points

// DeleteFrom removes the points of a metric whose steps are from or larger, and
// returns their number. The series is removed with its last point. The
// transaction must be the writer's and must not have added points before.
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
	if _, err := tx.Exec(`DELETE FROM metric_moved WHERE series_id = ? AND step >= ?`, s.id, from); err != nil {
		return 0, err
	}
	n, err := tx.Exec(`DELETE FROM metric WHERE series_id = ? AND step >= ?`, s.id, from)
	if err != nil || n == 0 {
		return 0, err
	}
	delete(o.byKey, seriesKey{iteration, key})
	delete(o.byID, s.id)
	if err := tx.recompute(s.id); err != nil {
		return n, err
	}
	return n, tx.rebuildRollups(s.id)
}
