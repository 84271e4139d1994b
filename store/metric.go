package store

import (
	"context"
	"errors"

	"tracker/store/points"
	"tracker/store/sqlite"
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
type NewMetric = points.Sample

// MetricPatch holds the fields that UpdateMetric sets; nil leaves a field as it is.
type MetricPatch = points.Patch

// MetricQuery narrows a listing.
type MetricQuery struct {
	Page
	Key *string // one series; nil for all
}

// MetricBatch is the answer to CreateMetricBatch.
type MetricBatch struct {
	IDs []string `json:"ids"` // of what was written, in the order of the batch
	// Failed is the reason why the batch stopped before its end; nil when it did not.
	Failed *Error `json:"failed,omitzero"`
}

// metricOf returns a point of the iteration with this id.
func metricOf(iterationID string, p points.Point) Metric {
	return Metric{ID: p.ID(), IterationID: iterationID, Key: p.Key, Value: p.Value, Step: p.Step, RecordedAt: p.RecordedAt}
}

// Metrics lists the points of an iteration by step, then time of writing.
// Needs read.
func (db *DB) Metrics(ctx context.Context, actor Actor, iterationID string, q MetricQuery) (List[Metric], error) {
	return read(ctx, db, func(tx *tx) (List[Metric], error) {
		it, err := tx.allowIteration(actor, iterationID, rightRead)
		if err != nil {
			return List[Metric]{}, err
		}
		return tx.metrics(it.iterationRef, q)
	})
}

func (tx *tx) metrics(i iterationRef, q MetricQuery) (List[Metric], error) {
	page := q.clamp()
	found, total, err := tx.points().List(i.num, q.Key, page.Limit, page.Offset)
	l := List[Metric]{Data: make([]Metric, len(found)), Total: total, Limit: page.Limit, Offset: page.Offset}
	for n, p := range found {
		l.Data[n] = metricOf(i.id, p)
	}
	return l, err
}

// Metric returns one point. Needs read.
func (db *DB) Metric(ctx context.Context, actor Actor, id string) (Metric, error) {
	return read(ctx, db, func(tx *tx) (Metric, error) {
		p, iterationID, err := tx.metric(id)
		if err != nil {
			return Metric{}, err
		}
		_, err = tx.allowIteration(actor, iterationID, rightRead)
		return metricOf(iterationID, p), err
	})
}

// metric returns a point and the id of its iteration.
func (tx *tx) metric(id string) (p points.Point, iterationID string, err error) {
	p, err = tx.points().Point(id)
	if errors.Is(err, points.ErrNotFound) {
		return p, "", notFound("metric")
	}
	if err == nil {
		err = tx.Row(`SELECT id FROM iteration WHERE num = ?`, p.Iteration).Scan(&iterationID)
	}
	return p, iterationID, err
}

// CreateMetric writes one point. Needs create; the iteration must not have
// ended.
func (db *DB) CreateMetric(ctx context.Context, actor Actor, iterationID string, m NewMetric) (Created, error) {
	if err := checkKey(m.Key); err != nil {
		return Created{}, err
	}
	return appendPoints(ctx, db, actor, func(tx *tx) (Created, error) {
		iteration, err := tx.allowPoints(iterationID)
		if err != nil {
			return Created{}, err
		}
		ids, err := tx.points().Append(iteration.num, []NewMetric{m}, tx.now)
		if err != nil {
			return Created{}, err
		}
		return Created{ID: ids[0]}, nil
	})
}

// CreateMetricBatch writes points in their order and stops at the first that
// is refused; those before it stay. Points without a time get one for all.
// Needs create; the iteration must not have ended.
func (db *DB) CreateMetricBatch(ctx context.Context, actor Actor, iterationID string, metrics []NewMetric) (MetricBatch, error) {
	return appendPoints(ctx, db, actor, func(tx *tx) (MetricBatch, error) {
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
		ids, err := tx.points().Append(iteration.num, good, tx.now)
		var refused *points.InvalidError
		if err != nil && !errors.As(err, &refused) {
			return batch, err
		}
		if refused != nil {
			batch.Failed = AsError(refused)
		}
		batch.IDs = ids
		return batch, nil
	})
}

// AllowPoints fails unless actor has the permission to add points to the
// iteration, so that no work is done without it. CreateMetrics checks again, and whether
// the iteration has ended. A request that repeats one
// that was answered, by its idempotency key in ctx, is let through: it gets its
// first answer, also when the iteration was deleted since.
func (db *DB) AllowPoints(ctx context.Context, actor Actor, iterationID string) error {
	return db.ask(ctx, func(tx *tx) error {
		if answered, err := tx.answered(actor, keyFrom(ctx)); answered || err != nil {
			return err
		}
		_, err := tx.allowIteration(actor, iterationID, rightCreate)
		return err
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
	_, err := appendPoints(ctx, db, actor, func(tx *tx) (struct{}, error) {
		iteration, err := tx.allowPoints(iterationID)
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, tx.points().AppendAll(iteration.num, metrics, tx.now)
	})
	return err
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
		found, iterationID, err := tx.metric(id)
		if err != nil {
			return err
		}
		if _, err := tx.allowOpenIteration(actor, iterationID, rightUpdate); err != nil {
			return err
		}
		return tx.points().Update(found, p)
	})
}

// DeleteMetric removes a point. Needs delete; the iteration must not have
// ended.
func (db *DB) DeleteMetric(ctx context.Context, actor Actor, id string) error {
	return remove(ctx, db, actor, func(tx *tx) error {
		found, iterationID, err := tx.metric(id)
		if err != nil {
			return err
		}
		if _, err := tx.allowOpenIteration(actor, iterationID, rightDelete); err != nil {
			return err
		}
		return tx.points().Delete(found)
	})
}

// RewindMetric removes the points of a metric whose steps are from or larger, for a
// training that continues from a checkpoint; there may be none. Needs
// delete; the iteration must not have ended.
func (db *DB) RewindMetric(ctx context.Context, actor Actor, iterationID, key string, from Step) error {
	if err := checkKey(key); err != nil {
		return err
	}
	_, err := writeOnce(ctx, db, sqlite.Change|sqlite.Freeing, actor, func(tx *tx) (struct{}, error) {
		it, err := tx.allowOpenIteration(actor, iterationID, rightDelete)
		if err != nil {
			return struct{}{}, err
		}
		_, err = tx.points().DeleteFrom(it.num, key, from)
		return struct{}{}, err
	})
	return err
}

// MaxHistory is the size of the largest page of MetricHistory.
const MaxHistory = 1_000_000

// MetricHistory returns one page of the points of a metric by time, then step, then
// value, and reports whether there are more. Needs read.
func (db *DB) MetricHistory(ctx context.Context, actor Actor, iterationID, key string, p Page) (found []Metric, more bool, err error) {
	limit := max(0, min(p.Limit, MaxHistory))
	found, err = read(ctx, db, func(tx *tx) ([]Metric, error) {
		it, err := tx.allowIteration(actor, iterationID, rightRead)
		if err != nil {
			return nil, err
		}
		// The view metric_points has no points of runs in the trash.
		rows, err := tx.Rows(`SELECT step, value, recorded_at FROM (
				SELECT metric.step, metric.value, metric.recorded_at
				FROM series JOIN metric ON metric.series_id = series.id
				WHERE series.iteration_num = ? AND series.key = ?
				UNION ALL
				SELECT recent.step, recent.value, recent.recorded_at
				FROM series JOIN recent ON recent.series_id = series.id AND recent.seq > series.moved_seq
				WHERE series.iteration_num = ? AND series.key = ?)
			ORDER BY recorded_at, step, value LIMIT ? OFFSET ?`, it.num, key, it.num, key, limit+1, max(0, p.Offset))
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		var all []Metric
		for rows.Next() {
			m := Metric{IterationID: iterationID, Key: key}
			if err := rows.Scan(&m.Step, &m.Value, &m.RecordedAt); err != nil {
				return nil, err
			}
			all = append(all, m)
		}
		return all, rows.Err()
	})
	if more = len(found) > limit; more {
		found = found[:limit]
	}
	return found, more, err
}

// EachMetric calls fn with each point of an iteration, metric by metric, each by step,
// then in the order of writing. Needs read.
func (v *View) EachMetric(iterationID string, fn func(key string, step Step, value Value, at Time) error) error {
	it, err := v.tx.allowIteration(v.actor, iterationID, rightRead)
	if err != nil {
		return err
	}
	keys, err := v.tx.points().Keys(it.num)
	for _, key := range keys {
		if err == nil {
			err = v.tx.points().Each(it.num, key, fn)
		}
	}
	return err
}

// EachMetricOf is EachMetric for one metric. Needs read.
func (v *View) EachMetricOf(iterationID, key string, fn func(key string, step Step, value Value, at Time) error) error {
	it, err := v.tx.allowIteration(v.actor, iterationID, rightRead)
	if err != nil {
		return err
	}
	return v.tx.points().Each(it.num, key, fn)
}
