package points

// Patch holds the new fields of a point for Update. A nil field stays unchanged.
type Patch struct {
	Key        *string `json:"key"`
	Value      *Value  `json:"value"`
	Step       *Step   `json:"step"`
	RecordedAt *Time   `json:"recorded_at"`
}

// Update applies patch to p. p must have been read in this transaction. The transaction must be
// the writer's.
func (tx *Tx) Update(p Point, patch Patch) error {
	if patch == (Patch{}) {
		return nil
	}
	if err := tx.compactSeries(p.place.series); err != nil {
		return err
	}
	next := p
	if patch.Key != nil && *patch.Key != p.Key {
		id, err := tx.seriesFor(p.Iteration, *patch.Key)
		if err != nil {
			return err
		}
		next.place.series = id
	}
	if patch.Step != nil {
		next.place.step = int64(*patch.Step)
		next.Step = *patch.Step
	}
	if patch.Value != nil {
		next.Value = *patch.Value
	}
	if patch.RecordedAt != nil {
		next.RecordedAt = *patch.RecordedAt
	}
	if _, err := tx.Exec(`UPDATE metric SET series_id = ?, step = ?, value = ?, recorded_at = ?
		WHERE series_id = ? AND step = ? AND seq = ?`,
		next.place.series, next.place.step, next.Value, next.RecordedAt, p.place.series, p.place.step, p.place.seq); err != nil {
		return err
	}
	if next.place != p.place {
		if err := tx.recordMove(next); err != nil {
			return err
		}
	}
	change := next.checksum()
	if next.place.series == p.place.series {
		change -= p.checksum()
	} else if err := tx.recompute(p.place.series, -p.checksum()); err != nil {
		return err
	}
	if err := tx.recompute(next.place.series, change); err != nil {
		return err
	}
	if err := tx.rollUpAgain(p.place); err != nil {
		return err
	}
	return tx.rollUpAgain(next.place)
}

// seriesFor returns the id of the series with the given key. It inserts the series if it does not
// exist, and moves all points of the series to the metric table.
func (tx *Tx) seriesFor(iteration int64, key string) (int64, error) {
	s, err := tx.openSeries(iteration, key)
	if err == nil && !s.stored {
		err = tx.saveSeries(s)
	}
	if err != nil {
		return 0, err
	}
	return s.id, tx.compactSeries(s.id)
}

// recordMove records the place of p, so that p's id remains valid after a move.
func (tx *Tx) recordMove(p Point) error {
	if p.place == p.origin {
		_, err := tx.Exec(`DELETE FROM metric_moved WHERE seq = ?`, p.place.seq)
		return err
	}
	_, err := tx.Exec(`INSERT OR REPLACE INTO metric_moved (seq, old_series_id, old_step, series_id, step)
		VALUES (?, ?, ?, ?, ?)`, p.place.seq, p.origin.series, p.origin.step, p.place.series, p.place.step)
	return err
}

// Delete removes p, and removes the series if p was its last point. p must have been read in
// this transaction. The transaction must be the writer's.
func (tx *Tx) Delete(p Point) error {
	if err := tx.compactSeries(p.place.series); err != nil {
		return err
	}
	if _, err := tx.Exec(`DELETE FROM metric WHERE series_id = ? AND step = ? AND seq = ?`,
		p.place.series, p.place.step, p.place.seq); err != nil {
		return err
	}
	if _, err := tx.Exec(`DELETE FROM metric_moved WHERE seq = ?`, p.place.seq); err != nil {
		return err
	}
	if err := tx.recompute(p.place.series, -p.checksum()); err != nil {
		return err
	}
	return tx.rollUpAgain(p.place)
}
