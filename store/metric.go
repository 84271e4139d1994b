package store

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
)

// Metric is one point of a series.
type Metric struct {
	ID          string `json:"id"`
	IterationID string `json:"iteration_id"`
	Key         string `json:"key"`
	Value       Value  `json:"value"`
	Step        Step   `json:"step"`
	RecordedAt  Time   `json:"recorded_at"`
}

// NewMetric is a point to be written. Without a step it gets the largest step
// of its series plus one (0 in an empty one), without a time the server's.
type NewMetric struct {
	Key        string `json:"key"`
	Value      Value  `json:"value"`
	Step       *Step  `json:"step"`
	RecordedAt *Time  `json:"recorded_at"`
}

// MetricPatch is what UpdateMetric changes; nil leaves a field as it is.
type MetricPatch struct {
	Key        *string `json:"key"`
	Value      *Value  `json:"value"`
	Step       *Step   `json:"step"`
	RecordedAt *Time   `json:"recorded_at"`
}

// MetricQuery narrows a listing.
type MetricQuery struct {
	Page
	Key *string // one series; nil for all
}

// MetricBatch is the answer to CreateMetricBatch.
type MetricBatch struct {
	IDs []string `json:"ids"` // of what was written, in the order of the batch
	// Failed says why the batch stopped before its end; nil when it did not.
	Failed *Error `json:"failed,omitzero"`
}

// place is where a point lies: its primary key.
type place struct {
	series int64
	step   int64
	seq    int64
}

// id is the public id of a point that was written at p. It stays the same when
// the point is moved.
func (p place) id() string {
	return strconv.FormatInt(p.series, 36) + "." + strconv.FormatInt(p.step, 36) + "." + strconv.FormatInt(p.seq, 36)
}

// parsePlace is the inverse of place.id. What id does not write is refused.
func parsePlace(id string) (p place, ok bool) {
	parts := strings.Split(id, ".")
	if len(parts) != 3 {
		return p, false
	}
	for i, n := range []*int64{&p.series, &p.step, &p.seq} {
		var err error
		if *n, err = strconv.ParseInt(parts[i], 36, 64); err != nil {
			return p, false
		}
	}
	return p, p.id() == id
}

// metricRow is a point as it lies in the table.
type metricRow struct {
	place
	iterationID string
	key         string
	value       Value
	at          Time
	origin      place // where it was written; the same unless it was moved
}

func (r metricRow) metric() Metric {
	return Metric{ID: r.origin.id(), IterationID: r.iterationID, Key: r.key, Value: r.value,
		Step: Step(r.step), RecordedAt: r.at}
}

// selectMetrics is the query for the rows that points selects from the table:
// what goes with a row is looked up only for those that are wanted.
func selectMetrics(points string) string {
	return `SELECT
			metric.series_id,
			metric.step,
			metric.seq,
			metric.value,
			metric.recorded_at,
			series.key,
			iteration.id,
			coalesce(metric_moved.old_series_id, metric.series_id),
			coalesce(metric_moved.old_step, metric.step)
		FROM (` + points + `) AS metric
		JOIN series ON series.id = metric.series_id
		JOIN iteration ON iteration.num = series.iteration_num
		LEFT JOIN metric_moved ON metric_moved.seq = metric.seq
		ORDER BY metric.step, metric.seq`
}

func (r *metricRow) scan(row scanner) error {
	err := row.Scan(&r.series, &r.step, &r.seq, &r.value, &r.at, &r.key, &r.iterationID, &r.origin.series, &r.origin.step)
	r.origin.seq = r.seq
	return err
}

// Metrics lists the points of an iteration by step, then time of writing.
// Needs read.
func (db *DB) Metrics(ctx context.Context, actor Actor, iterationID string, q MetricQuery) (List[Metric], error) {
	return read(ctx, db, func(tx *tx) (l List[Metric], err error) {
		it, err := tx.allowIteration(actor, iterationID, rightRead)
		if err != nil {
			return l, err
		}
		page := q.clamp()
		l = List[Metric]{Data: []Metric{}, Limit: page.Limit, Offset: page.Offset}
		var keys []string
		if q.Key != nil {
			keys = []string{*q.Key}
		}
		all, err := tx.seriesOfIteration(it.num, keys)
		if err != nil {
			return l, err
		}
		for _, s := range all {
			l.Total += int(s.Count)
		}
		return l, tx.listMetrics(&l, all)
	})
}

// Metric returns one point. Needs read.
func (db *DB) Metric(ctx context.Context, actor Actor, id string) (Metric, error) {
	return read(ctx, db, func(tx *tx) (Metric, error) {
		r, err := tx.metric(id)
		if err != nil {
			return Metric{}, err
		}
		_, err = tx.allowIteration(actor, r.iterationID, rightRead)
		return r.metric(), err
	})
}

// metric finds a point by its id, wherever it was moved.
func (tx *tx) metric(id string) (r metricRow, err error) {
	origin, ok := parsePlace(id)
	if !ok {
		return r, notFound("metric")
	}
	now := origin
	err = tx.row(`SELECT series_id, step FROM metric_moved WHERE seq = ?`, origin.seq).Scan(&now.series, &now.step)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return r, err
	}
	err = r.scan(tx.row(selectMetrics(`
			SELECT * FROM metric WHERE series_id = ? AND step = ? AND seq = ?
			UNION ALL
			SELECT series_id, step, seq, value, recorded_at FROM recent WHERE series_id = ? AND step = ? AND seq = ?
			AND seq > (SELECT moved_seq FROM series WHERE id = series_id)`),
		now.series, now.step, now.seq, now.series, now.step, now.seq))
	if err == nil && r.origin != origin {
		err = sql.ErrNoRows // the place of a point, but not its id
	}
	return r, orNotFound(err, "metric")
}

// CreateMetric writes one point. Needs create; the iteration must not have
// ended.
func (db *DB) CreateMetric(ctx context.Context, actor Actor, iterationID string, m NewMetric) (Created, error) {
	if err := checkKey(m.Key); err != nil {
		return Created{}, err
	}
	return writePoints(ctx, db, actor, func(tx *tx) (Created, error) {
		iteration, err := tx.allowPoints(iterationID)
		if err != nil {
			return Created{}, err
		}
		planned, err := tx.planMetrics(iteration, []NewMetric{m})
		if err != nil {
			return Created{}, err
		}
		return Created{ID: tx.db.ledger.add(planned[0].series, planned[0].point).id()}, nil
	})
}

// CreateMetricBatch writes points in their order and stops at the first that
// is refused; those before it stay. Points without a time get one for all.
// Needs create; the iteration must not have ended.
func (db *DB) CreateMetricBatch(ctx context.Context, actor Actor, iterationID string, metrics []NewMetric) (MetricBatch, error) {
	return writePoints(ctx, db, actor, func(tx *tx) (MetricBatch, error) {
		batch := MetricBatch{IDs: []string{}}
		iteration, err := tx.allowPoints(iterationID)
		if err != nil {
			return batch, err
		}
		good := metrics
		for i, m := range metrics {
			if err := checkKey(m.Key); err != nil {
				good, batch.Failed = metrics[:i], AsError(err)
				break
			}
		}
		planned, err := tx.planMetrics(iteration, good)
		var refused *Error
		if err != nil && !errors.As(err, &refused) {
			return batch, err
		}
		if refused != nil {
			batch.Failed = refused
		}
		for _, p := range planned {
			batch.IDs = append(batch.IDs, tx.db.ledger.add(p.series, p.point).id())
		}
		return batch, nil
	})
}

// CreateMetrics writes all of the points or none. Needs create; the iteration
// must not have ended.
func (db *DB) CreateMetrics(ctx context.Context, actor Actor, iterationID string, metrics []NewMetric) error {
	for i := range metrics {
		if err := checkKey(metrics[i].Key); err != nil {
			return err
		}
	}
	_, err := writePoints(ctx, db, actor, func(tx *tx) (struct{}, error) {
		iteration, err := tx.allowPoints(iterationID)
		if err != nil {
			return struct{}{}, err
		}
		planned, err := tx.planMetrics(iteration, metrics)
		if err != nil {
			return struct{}{}, err
		}
		for _, p := range planned {
			tx.db.ledger.add(p.series, p.point)
		}
		return struct{}{}, nil
	})
	return err
}

// plannedPoint is a point that has its series and its step, and is not queued.
type plannedPoint struct {
	series *series
	point  point
}

// planMetrics finds out what points will be, in their order, without changing
// anything. When one is refused, the error is an *Error, and those before it
// are returned with it.
func (tx *tx) planMetrics(iteration iterationRef, metrics []NewMetric) ([]plannedPoint, error) {
	planned := make([]plannedPoint, 0, len(metrics))
	last := make(map[*series]*Step, 1) // the largest step of each series, with the plan
	var s *series
	for i := range metrics {
		m := &metrics[i]
		if s == nil || s.key != m.Key {
			var err error
			if s, err = tx.seriesOf(iteration, m.Key); err != nil {
				return nil, err
			}
		}
		// SQLite drops the sign of a zero; what is held in memory has none either.
		p := point{value: m.Value + 0, at: tx.now}
		if m.RecordedAt != nil {
			p.at = *m.RecordedAt
		}
		largest, ok := last[s]
		if !ok {
			largest = s.LastStep
		}
		if m.Step != nil {
			p.step = *m.Step
		} else {
			var err error
			if p.step, err = stepAfter(largest); err != nil {
				return planned, err
			}
		}
		if largest == nil || p.step > *largest {
			largest = &p.step
		}
		last[s] = largest
		planned = append(planned, plannedPoint{s, p})
	}
	return planned, nil
}

// UpdateMetric changes a point; its id stays. Needs update; the iteration must
// not have ended.
func (db *DB) UpdateMetric(ctx context.Context, actor Actor, id string, p MetricPatch) error {
	if p.Key != nil {
		if err := checkKey(*p.Key); err != nil {
			return err
		}
	}
	return change(ctx, db, actor, func(tx *tx) error {
		r, err := tx.metric(id)
		if err != nil {
			return err
		}
		it, err := tx.allowOpenIteration(actor, r.iterationID, rightUpdate)
		if err != nil {
			return err
		}
		return tx.updateMetric(it.iterationRef, r, p)
	})
}

func (tx *tx) updateMetric(iteration iterationRef, r metricRow, p MetricPatch) error {
	if p == (MetricPatch{}) {
		return nil
	}
	next := r
	if err := tx.moveAll(r.place.series); err != nil {
		return err
	}
	if p.Key != nil && *p.Key != r.key {
		s, err := tx.seriesOf(iteration, *p.Key)
		if err == nil && !s.stored {
			err = tx.saveSeries(s)
		}
		if err == nil {
			err = tx.moveAll(s.ID)
		}
		if err != nil {
			return err
		}
		next.series = s.ID
	}
	if p.Step != nil {
		next.step = int64(*p.Step)
	}
	if p.Value != nil {
		next.value = *p.Value
	}
	if p.RecordedAt != nil {
		next.at = *p.RecordedAt
	}
	if _, err := tx.exec(`UPDATE metric SET series_id = ?, step = ?, value = ?, recorded_at = ?
		WHERE series_id = ? AND step = ? AND seq = ?`,
		next.series, next.step, next.value, next.at, r.series, r.step, r.seq); err != nil {
		return err
	}
	if next.place != r.place {
		if err := tx.recordMove(next); err != nil {
			return err
		}
	}
	if next.series != r.series {
		if err := tx.repairSeries(r.series); err != nil {
			return err
		}
	}
	if err := tx.repairSeries(next.series); err != nil {
		return err
	}
	if err := tx.rollAgain(r.place); err != nil {
		return err
	}
	return tx.rollAgain(next.place)
}

// recordMove keeps the id of a point valid at its new place.
func (tx *tx) recordMove(r metricRow) error {
	if r.place == r.origin {
		_, err := tx.exec(`DELETE FROM metric_moved WHERE seq = ?`, r.seq)
		return err
	}
	_, err := tx.exec(`INSERT OR REPLACE INTO metric_moved (seq, old_series_id, old_step, series_id, step)
		VALUES (?, ?, ?, ?, ?)`, r.seq, r.origin.series, r.origin.step, r.series, r.step)
	return err
}

// DeleteMetric removes a point. Needs delete; the iteration must not have
// ended.
func (db *DB) DeleteMetric(ctx context.Context, actor Actor, id string) error {
	return change(ctx, db, actor, func(tx *tx) error {
		r, err := tx.metric(id)
		if err != nil {
			return err
		}
		if _, err := tx.allowOpenIteration(actor, r.iterationID, rightDelete); err != nil {
			return err
		}
		if err := tx.moveAll(r.series); err != nil {
			return err
		}
		if _, err := tx.exec(`DELETE FROM metric WHERE series_id = ? AND step = ? AND seq = ?`,
			r.series, r.step, r.seq); err != nil {
			return err
		}
		if _, err := tx.exec(`DELETE FROM metric_moved WHERE seq = ?`, r.seq); err != nil {
			return err
		}
		if err := tx.repairSeries(r.series); err != nil {
			return err
		}
		return tx.rollAgain(r.place)
	})
}
