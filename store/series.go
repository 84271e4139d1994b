package store

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"math"
)

// point is one value of a series.
type point struct {
	step  Step
	seq   int64
	value Value
	at    Time
}

// stats are the running statistics of a series: a pure function of its
// points. Of points with the same minimum or maximum the one with the smallest
// step counts; of those with the largest step the last one written.
type stats struct {
	Count    int64  `db:"count"`
	Finite   int64  `db:"finite"` // neither NaN nor an infinity
	Last     Value  `db:"last"`
	LastStep *Step  `db:"last_step"` // nil when there is no point
	LastAt   *Time  `db:"last_at"`
	Min      *Value `db:"min"` // nil when no value is finite, like the next three
	MinStep  *Step  `db:"min_step"`
	Max      *Value `db:"max"`
	MaxStep  *Step  `db:"max_step"`
	Sum      Value  `db:"sum"` // of the finite values
}

// series is one metric of one iteration, with all points that the transaction
// sees.
type series struct {
	ID        int64
	iteration iterationRef
	key       string
	stats
	seq     int64 // of the last point that stats have
	counted int64 // the same of the stored statistics
	moved   int64 // the seq up to which table recent has nothing more
	roll    rolled
	open    *openRow   // of its rollups; nil when it is not known
	first   *Step      // the smallest in table metric; nil when it is not known
	stored  bool       // it has a row
	queued  []pointRow // points that are not in a table yet
}

const statsColumns = `count, finite, last, last_step, last_at, min, min_step, max, max_step, sum`

// add takes a point into account that was written after all others.
func (s *stats) add(p point) {
	s.Count++
	if s.LastStep == nil || p.step >= *s.LastStep {
		s.Last, s.LastStep, s.LastAt = p.value, &p.step, &p.at
	}
	if !p.value.Finite() {
		return
	}
	s.Finite++
	s.Sum += p.value
	if s.Min == nil || p.value < *s.Min || p.value == *s.Min && p.step < *s.MinStep {
		s.Min, s.MinStep = &p.value, &p.step
	}
	if s.Max == nil || p.value > *s.Max || p.value == *s.Max && p.step < *s.MaxStep {
		s.Max, s.MaxStep = &p.value, &p.step
	}
}

// stepAfter is the step that follows the largest one, 0 in an empty series.
func stepAfter(largest *Step) (Step, error) {
	if largest == nil {
		return 0, nil
	}
	if *largest == math.MaxInt64 {
		return 0, Invalid("step", "The series already has the largest step there is; give the step yourself.")
	}
	return *largest + 1, nil
}

// sameAs tells whether two statistics describe the same points. Sums that were
// added up in another order may differ in their last digits; scale is the sum
// of the absolute values.
func (s *stats) sameAs(o *stats, scale float64) bool {
	tolerance := 1e-9 * scale
	sum := sameValue(s.Sum, o.Sum) || math.Abs(float64(s.Sum-o.Sum)) <= tolerance || math.IsInf(scale, 1)
	return s.Count == o.Count && s.Finite == o.Finite && sum && sameValue(s.Last, o.Last) &&
		same(s.LastStep, o.LastStep) && same(s.LastAt, o.LastAt) &&
		same(s.Min, o.Min) && same(s.MinStep, o.MinStep) &&
		same(s.Max, o.Max) && same(s.MaxStep, o.MaxStep)
}

func same[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

func sameValue(a, b Value) bool {
	return a == b || math.IsNaN(float64(a)) && math.IsNaN(float64(b))
}

const seriesColumns = `
	series.id,
	series.key,
	iteration.num,
	iteration.id,
	iteration.experiment_id,
	series.count,
	series.finite,
	series.last,
	series.last_step,
	series.last_at,
	series.min,
	series.min_step,
	series.max,
	series.max_step,
	series.sum,
	series.counted_seq,
	series.moved_seq,
	series.roll_shift,
	series.rolled_to
	FROM series JOIN iteration ON iteration.num = series.iteration_num`

// scanSeries reads a row of seriesColumns.
func scanSeries(row scanner) (*series, error) {
	s := &series{stored: true}
	var shift sql.NullInt64
	err := row.Scan(&s.ID, &s.key, &s.iteration.num, &s.iteration.id, &s.iteration.experimentID,
		&s.Count, &s.Finite, &s.Last, &s.LastStep, &s.LastAt, &s.Min, &s.MinStep, &s.Max, &s.MaxStep, &s.Sum,
		&s.counted, &s.moved, &shift, &s.roll.to)
	s.roll.shift, s.seq = int(shift.Int64), s.counted
	return s, err
}

// findSeries returns the series of a metric name, nil when there is none.
func (tx *tx) findSeries(iterationNum int64, key string) (*series, error) {
	return tx.countedSeries(tx.row(`SELECT `+seriesColumns+` WHERE series.iteration_num = ? AND series.key = ?`, iterationNum, key))
}

// seriesByID returns a series, nil when there is none.
func (tx *tx) seriesByID(id int64) (*series, error) {
	return tx.countedSeries(tx.row(`SELECT `+seriesColumns+` WHERE series.id = ?`, id))
}

func (tx *tx) countedSeries(row scanner) (*series, error) {
	s, err := scanSeries(row)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err == nil {
		err = tx.count(s)
	}
	return s, err
}

// seriesOfIteration returns the series of the keys that an iteration has, in
// their order; all of them in the order of their names when keys is empty.
func (tx *tx) seriesOfIteration(iterationNum int64, keys []string) ([]*series, error) {
	var all []*series
	for _, key := range keys {
		s, err := tx.findSeries(iterationNum, key)
		if err != nil {
			return nil, err
		}
		if s != nil {
			all = append(all, s)
		}
	}
	if len(keys) > 0 {
		return all, nil
	}
	return tx.allSeries(`WHERE series.iteration_num = ? ORDER BY series.key`, iterationNum)
}

// seriesAfter returns the next thousand series of the file, by id.
func (tx *tx) seriesAfter(id int64) ([]*series, error) {
	return tx.allSeries(`WHERE series.id > ? ORDER BY series.id LIMIT 1000`, id)
}

func (tx *tx) allSeries(where string, args ...any) ([]*series, error) {
	rows, err := tx.rows(`SELECT `+seriesColumns+` `+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []*series
	for rows.Next() {
		s, err := scanSeries(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	for _, s := range all {
		if err := tx.count(s); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// count takes into the statistics of s what its row does not have yet.
func (tx *tx) count(s *series) error {
	late, err := tx.recent(s.ID, s.counted)
	for _, p := range late {
		s.stats.add(p)
		s.seq = p.seq
	}
	return err
}

// saveSeries writes the row of a series, a new one if it has none.
func (tx *tx) saveSeries(s *series) error {
	var shift *int
	if s.roll.to != nil {
		shift = &s.roll.shift
	}
	var err error
	if s.stored {
		_, err = tx.exec(`UPDATE series SET
				count       = ?,
				finite      = ?,
				last        = ?,
				last_step   = ?,
				last_at     = ?,
				min         = ?,
				min_step    = ?,
				max         = ?,
				max_step    = ?,
				sum         = ?,
				counted_seq = ?,
				moved_seq   = ?,
				roll_shift  = ?,
				rolled_to   = ?
			WHERE id = ?`,
			s.Count, s.Finite, s.Last, s.LastStep, s.LastAt, s.Min, s.MinStep, s.Max, s.MaxStep, s.Sum,
			s.seq, s.moved, shift, s.roll.to, s.ID)
	} else {
		_, err = tx.exec(`INSERT INTO series (id, iteration_num, key, `+statsColumns+`, counted_seq, moved_seq, roll_shift, rolled_to)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, s.ID, s.iteration.num, s.key,
			s.Count, s.Finite, s.Last, s.LastStep, s.LastAt, s.Min, s.MinStep, s.Max, s.MaxStep, s.Sum,
			s.seq, s.moved, shift, s.roll.to)
	}
	if err == nil {
		s.stored, s.counted = true, s.seq
		tx.db.recents.settled(s)
	}
	return err
}

var insertMetrics = insertQueriesFor(`metric (series_id, step, seq, value, recorded_at)`)

// insertPoints adds points to table metric. Their order should be the table's,
// so that the rows of a page come together.
func (tx *tx) insertPoints(rows []pointRow) error {
	return tx.insertRows(insertMetrics, rows, func(args []driver.NamedValue, r *pointRow) {
		args[0].Value, args[1].Value, args[2].Value, args[3].Value, args[4].Value =
			r.place.series, r.step, r.seq, r.value.bound(), int64(r.at)
	})
}

// finiteValue is true in SQL for what Value.Finite is true for.
const finiteValue = `(value IS NOT NULL AND abs(value) <= 1.7976931348623157e308)`

// computeStats works the statistics of a series out from its points, and the
// sum of the absolute values with them. moved is the moved_seq of its row.
func (tx *tx) computeStats(id, moved int64) (s stats, scale float64, err error) {
	recent, err := tx.recent(id, moved)
	if err != nil {
		return s, 0, err
	}
	var low, high sql.NullFloat64
	var scaled Value
	err = tx.row(`SELECT
			count(*),
			count(*) FILTER (WHERE `+finiteValue+`),
			total(value) FILTER (WHERE `+finiteValue+`),
			total(abs(value)) FILTER (WHERE `+finiteValue+`),
			min(value) FILTER (WHERE `+finiteValue+`),
			max(value) FILTER (WHERE `+finiteValue+`)
		FROM metric WHERE series_id = ?`, id).Scan(&s.Count, &s.Finite, &s.Sum, &scaled, &low, &high)
	if err != nil {
		return s, 0, err
	}
	last := point{seq: -1}
	if s.Count > 0 {
		err = tx.row(`SELECT step, seq, value, recorded_at FROM metric WHERE series_id = ?
			ORDER BY step DESC, seq DESC LIMIT 1`, id).Scan(&last.step, &last.seq, &last.value, &last.at)
		if err != nil {
			return s, 0, err
		}
		s.Last, s.LastStep, s.LastAt = last.value, &last.step, &last.at
	}
	if s.Finite > 0 {
		s.Min, s.Max = (*Value)(&low.Float64), (*Value)(&high.Float64)
		const first = `SELECT step FROM metric WHERE series_id = ? AND value = ? ORDER BY step LIMIT 1`
		if err := tx.row(first, id, s.Min).Scan(&s.MinStep); err != nil {
			return s, 0, err
		}
		if err := tx.row(first, id, s.Max).Scan(&s.MaxStep); err != nil {
			return s, 0, err
		}
	}
	for _, p := range recent {
		s.add(p)
		if p.value.Finite() {
			scaled += Value(math.Abs(float64(p.value)))
		}
	}
	// A point in recent can have been written before the last one in metric.
	for _, p := range recent {
		if last.seq >= 0 && byStep(p, last) < 0 {
			continue
		}
		last = p
	}
	if last.seq >= 0 {
		s.Last, s.LastStep, s.LastAt = last.value, &last.step, &last.at
	}
	return s, float64(scaled), nil
}

// repairSeries sets the statistics of a series to what its points say, and
// removes it when it has none.
func (tx *tx) repairSeries(id int64) error {
	s, err := tx.seriesByID(id)
	if err != nil || s == nil {
		return err
	}
	if s.stats, _, err = tx.computeStats(id, s.moved); err != nil {
		return err
	}
	tx.noteSeries(s.iteration, s.key, &s.stats)
	if s.Count == 0 {
		_, err := tx.exec(`DELETE FROM series WHERE id = ?`, id)
		return err
	}
	return tx.saveSeries(s)
}
