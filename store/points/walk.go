package points

import "errors"

// maxSorted is the largest number of points that Walk sorts.
const maxSorted = 1 << 19

// Walk calls fn with the points of an iteration. Up to maxSorted of them are in the
// order of writing; more are metric by metric, each by step, then in the order of
// writing.
func (tx *Tx) Walk(iteration int64, fn func(key string, step Step, value Value, at Time) error) error {
	const query = `SELECT series.key AS key, metric.seq AS seq, metric.step AS step, metric.value AS value, metric.recorded_at AS at
		FROM series JOIN metric ON metric.series_id = series.id
		WHERE series.iteration_num = ?1
		UNION ALL
		SELECT series.key, recent.seq, recent.step, recent.value, recent.recorded_at
		FROM series JOIN recent ON recent.series_id = series.id AND series.moved_seq < recent.seq
		WHERE series.iteration_num = ?1
		ORDER BY seq`
	var total int64
	keys, err := tx.Keys(iteration)
	if err == nil {
		err = tx.Row(`SELECT coalesce(sum(count), 0) FROM series WHERE iteration_num = ?`, iteration).Scan(&total)
	}
	if err != nil {
		return err
	}
	if total > maxSorted {
		for _, key := range keys {
			if err := tx.Each(iteration, key, fn); err != nil {
				return err
			}
		}
		return nil
	}
	rows, err := tx.Rows(query, iteration)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var key string
		var p point
		if err := rows.Scan(&key, &p.seq, &p.step, &p.value, &p.at); err != nil {
			return err
		}
		if err := fn(key, p.step, p.value, p.at); err != nil {
			return err
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// Each calls fn with the points of a metric by step, then in the order of writing.
func (tx *Tx) Each(iteration int64, key string, fn func(key string, step Step, value Value, at Time) error) error {
	c, err := tx.Cursor(iteration, key)
	if err != nil {
		return err
	}
	for err == nil && c.Next() {
		err = fn(key, c.Step, c.Value, c.At)
	}
	return errors.Join(err, c.Close())
}

// Keys returns the names of the metrics of an iteration in alphabetical order.
func (tx *Tx) Keys(iteration int64) (keys []string, err error) {
	err = tx.Select(&keys, `SELECT key FROM series WHERE iteration_num = ? ORDER BY key`, iteration)
	return keys, err
}

// Cursor goes through the points of a metric by step and, among equal steps, in the
// order of writing.
type Cursor struct {
	Step  Step
	Value Value
	At    Time

	rows interface {
		Next() bool
		Scan(...any) error
		Err() error
		Close() error
	}
	err error
}

// Cursor returns a cursor before the first point of a metric. It must be closed.
func (tx *Tx) Cursor(iteration int64, key string) (*Cursor, error) {
	rows, err := tx.Rows(`SELECT metric.step AS step, metric.seq AS seq, metric.value AS value, metric.recorded_at AS at
		FROM metric
		WHERE metric.series_id = (SELECT id FROM series WHERE iteration_num = ?1 AND key = ?2)
		UNION ALL
		SELECT recent.step, recent.seq, recent.value, recent.recorded_at
		FROM series JOIN recent ON recent.series_id = series.id AND series.moved_seq < recent.seq
		WHERE series.iteration_num = ?1 AND series.key = ?2
		ORDER BY step, seq`, iteration, key)
	if err != nil {
		return nil, err
	}
	return &Cursor{rows: rows}, nil
}

// Next goes to the next point. It returns false after the last one and after an
// error, which Close returns.
func (c *Cursor) Next() bool {
	if c.err != nil || !c.rows.Next() {
		return false
	}
	var seq int64
	c.err = c.rows.Scan(&c.Step, &seq, &c.Value, &c.At)
	return c.err == nil
}

// Close ends the cursor and returns the error that stopped it, if there was one.
func (c *Cursor) Close() error { return errors.Join(c.err, c.rows.Err(), c.rows.Close()) }
