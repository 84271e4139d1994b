package points

import (
	"cmp"
	"database/sql/driver"
	"errors"
	"math"
	"slices"
)

// valueOf returns the column v as a Value. NULL becomes NaN.
func valueOf(v driver.Value) Value {
	if f, ok := v.(float64); ok {
		return Value(f)
	}
	return Value(math.NaN())
}

// keyedSeries is a series in a walk.
type keyedSeries struct {
	id, moved int64
	key       string
	late      []point // points of the recent table, in the order of the metric table
}

// keyed returns the series of an iteration sorted by key. It does not set late.
func (tx *Tx) keyed(iteration int64) (all []keyedSeries, err error) {
	err = tx.EachRow(`SELECT id, moved_seq, key FROM series WHERE iteration_num = ? ORDER BY key`, func(row []driver.Value) error {
		all = append(all, keyedSeries{id: row[0].(int64), moved: row[1].(int64), key: row[2].(string)})
		return nil
	}, iteration)
	return all, err
}

// Walk calls fn with each point of an iteration, metric by metric in alphabetical order. The
// points of a metric are ordered by step and then by the order of writing. fn must not use the
// transaction.
func (tx *Tx) Walk(iteration int64, fn func(Copy) error) error {
	all, err := tx.keyed(iteration)
	if err != nil {
		return err
	}
	for i := range all {
		if all[i].late, err = tx.late(all[i].id, all[i].moved); err != nil {
			return err
		}
	}
	// before calls fn with the points in late that precede p in the first series of all.
	before := func(p point) error {
		s := &all[0]
		for len(s.late) > 0 && inSeries(s.late[0], p) < 0 {
			l := s.late[0]
			s.late = s.late[1:]
			if err := fn(l.copied(s.key)); err != nil {
				return err
			}
		}
		return nil
	}
	next := func() error {
		err := before(point{step: math.MaxInt64, seq: math.MaxInt64})
		all = all[1:]
		return err
	}
	err = tx.EachRow(`SELECT metric.series_id, metric.step, metric.seq, metric.value, metric.recorded_at
		FROM series CROSS JOIN metric ON metric.series_id = series.id
		WHERE series.iteration_num = ? ORDER BY series.key, metric.step, metric.seq`, func(row []driver.Value) error {
		for all[0].id != row[0].(int64) {
			if err := next(); err != nil {
				return err
			}
		}
		p := point{Step(row[1].(int64)), row[2].(int64), valueOf(row[3]), Time(row[4].(int64))}
		if err := before(p); err != nil {
			return err
		}
		return fn(p.copied(all[0].key))
	}, iteration)
	for err == nil && len(all) > 0 {
		err = next()
	}
	return err
}

// copied returns p as a Copy with the given key.
func (p point) copied(key string) Copy { return Copy{key, p.step, p.value, p.at, p.seq} }

// inSeries compares two points of a series by step and then by seq, like the metric table.
func inSeries(a, b point) int { return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.seq, b.seq)) }

// late returns the points of a series in the recent table, in the order of the metric table.
func (tx *Tx) late(seriesID, moved int64) ([]point, error) {
	late, err := tx.recent(seriesID, moved)
	if !slices.IsSortedFunc(late, inSeries) {
		late = slices.SortedFunc(slices.Values(late), inSeries)
	}
	return late, err
}

// Each calls fn with each point of a metric, ordered by step and then by the order of writing.
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

// Cursor iterates over the points of a metric. The points are ordered by step and then by the
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
	late    []point // points in the recent table
	next    point   // current row of rows
	hasNext bool
	err     error
}

// Cursor returns a cursor before the first point of a metric. The caller must close the cursor.
func (tx *Tx) Cursor(iteration int64, key string) (*Cursor, error) {
	var id, moved int64
	err := tx.Row(`SELECT coalesce(max(id), 0), coalesce(max(moved_seq), 0) FROM series WHERE iteration_num = ? AND key = ?`, iteration, key).
		Scan(&id, &moved)
	if err != nil {
		return nil, err
	}
	c := &Cursor{}
	if c.late, err = tx.late(id, moved); err != nil {
		return nil, err
	}
	c.rows, err = tx.Rows(`SELECT step, seq, value, recorded_at FROM metric WHERE series_id = ? ORDER BY step, seq`, id)
	if err != nil {
		return nil, err
	}
	c.read()
	return c, nil
}

// read reads the next row of the metric table into c.next.
func (c *Cursor) read() {
	c.hasNext = c.err == nil && c.rows.Next()
	if c.hasNext {
		c.err = c.rows.Scan((*int64)(&c.next.step), &c.next.seq, &c.next.value, (*int64)(&c.next.at))
	}
}

// Next advances to the next point. It returns false after the last point or after an error.
// Close returns the error.
func (c *Cursor) Next() bool {
	var p point
	switch {
	case c.err != nil || !c.hasNext && len(c.late) == 0:
		return false
	case len(c.late) > 0 && (!c.hasNext || inSeries(c.late[0], c.next) < 0):
		p, c.late = c.late[0], c.late[1:]
	default:
		p = c.next
		c.read()
	}
	c.Step, c.Value, c.At = p.step, p.value, p.at
	return true
}

// Close closes the cursor and returns the error that stopped the iteration, if any.
func (c *Cursor) Close() error { return errors.Join(c.err, c.rows.Err(), c.rows.Close()) }
