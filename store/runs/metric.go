package runs

import (
	"context"
	"errors"

	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// Metric is one point of a series.
type Metric struct {
	ID          string       `json:"id"`
	IterationID string       `json:"iteration_id"`
	Key         string       `json:"key"`
	Value       scalar.Value `json:"value"`
	Step        scalar.Step  `json:"step"`
	RecordedAt  scalar.Time  `json:"recorded_at"`
}

// MetricQuery selects points of an iteration.
type MetricQuery struct {
	domain.Page
	Key *string // one series; nil for all
}

// MetricBatch is the answer to CreateMetricBatch.
type MetricBatch struct {
	IDs []string `json:"ids"` // ids of the written points, in the order of the batch
	// Failed is the reason why the batch stopped early; nil if it did not.
	Failed *domain.Error `json:"failed,omitzero"`
}

// metricOf returns p as a Metric of the iteration with this id.
func metricOf(iterationID string, p points.Point) Metric {
	return Metric{ID: p.ID(), IterationID: iterationID, Key: p.Key, Value: p.Value, Step: p.Step, RecordedAt: p.RecordedAt}
}

// Metrics lists the points of an iteration by step, then in the order of writing.
// Needs read.
func (db *DB) Metrics(ctx context.Context, actor domain.Actor, iterationID string, q MetricQuery) (domain.List[Metric], error) {
	return domain.Read(ctx, db.base, func(tx *domain.Tx) (domain.List[Metric], error) {
		it, err := tx.AllowIteration(actor, iterationID, domain.RightRead)
		if err != nil {
			return domain.List[Metric]{}, err
		}
		return Metrics(tx, it.IterationRef, q)
	})
}

// Metrics lists the points of an iteration by step, then in the order of writing.
func Metrics(tx *domain.Tx, i domain.IterationRef, q MetricQuery) (domain.List[Metric], error) {
	page := q.Clamp()
	found, total, err := tx.Points().List(i.Num, q.Key, page.Limit, page.Offset)
	l := domain.List[Metric]{Data: make([]Metric, len(found)), Total: total, Limit: page.Limit, Offset: page.Offset}
	for n, p := range found {
		l.Data[n] = metricOf(i.ID, p)
	}
	return l, err
}

// Metric returns one point. Needs read.
func (db *DB) Metric(ctx context.Context, actor domain.Actor, id string) (Metric, error) {
	return domain.Read(ctx, db.base, func(tx *domain.Tx) (Metric, error) {
		p, iterationID, err := metric(tx, id)
		if err != nil {
			return Metric{}, err
		}
		_, err = tx.AllowIteration(actor, iterationID, domain.RightRead)
		return metricOf(iterationID, p), err
	})
}

// metric returns a point and the id of its iteration.
func metric(tx *domain.Tx, id string) (p points.Point, iterationID string, err error) {
	p, err = tx.Points().Point(id)
	if errors.Is(err, points.ErrNotFound) {
		return p, "", domain.NotFound("metric")
	}
	if err == nil {
		err = tx.Row(`SELECT id FROM iteration WHERE num = ?`, p.Iteration).Scan(&iterationID)
	}
	return p, iterationID, err
}

// CreateMetric writes one point. Needs create; the iteration must not have
// ended.
func (db *DB) CreateMetric(ctx context.Context, actor domain.Actor, iterationID string, m points.Sample) (domain.Created, error) {
	if err := domain.CheckKey(m.Key); err != nil {
		return domain.Created{}, err
	}
	return domain.AppendPoints(ctx, db.base, actor, func(tx *domain.Tx) (domain.Created, error) {
		iteration, err := tx.AllowPoints(iterationID)
		if err != nil {
			return domain.Created{}, err
		}
		ids, err := tx.Points().Append(iteration.Num, []points.Sample{m}, tx.Now)
		if err != nil {
			return domain.Created{}, err
		}
		return domain.Created{ID: ids[0]}, nil
	})
}

// CreateMetricBatch writes points in their order and stops at the first refused point.
// The points before it stay. All points without a time get the same time.
// Needs create; the iteration must not have ended.
func (db *DB) CreateMetricBatch(ctx context.Context, actor domain.Actor, iterationID string, metrics []points.Sample) (MetricBatch, error) {
	return domain.AppendPoints(ctx, db.base, actor, func(tx *domain.Tx) (MetricBatch, error) {
		batch := MetricBatch{IDs: []string{}}
		iteration, err := tx.AllowPoints(iterationID)
		if err != nil {
			return batch, err
		}
		good := metrics
		for i, m := range metrics {
			if err := domain.CheckKey(m.Key); err != nil {
				good, batch.Failed = metrics[:i], domain.AsError(err)
				break
			}
		}
		ids, err := tx.Points().Append(iteration.Num, good, tx.Now)
		var refused *points.InvalidError
		if err != nil && !errors.As(err, &refused) {
			return batch, err
		}
		if refused != nil {
			batch.Failed = domain.AsError(refused)
		}
		batch.IDs = ids
		return batch, nil
	})
}

// AllowPoints returns an error if actor may not add points to the iteration, so that a
// caller can refuse before it does any work. CreateMetrics checks this again, and whether
// the iteration has ended. AllowPoints accepts a request that repeats an answered one,
// according to the idempotency key in ctx: it gets the first answer, even if the
// iteration was deleted since.
func (db *DB) AllowPoints(ctx context.Context, actor domain.Actor, iterationID string) error {
	return db.base.Ask(ctx, func(tx *domain.Tx) error {
		if answered, err := tx.Answered(actor, domain.KeyFrom(ctx)); answered || err != nil {
			return err
		}
		_, err := tx.AllowIteration(actor, iterationID, domain.RightCreate)
		return err
	})
}

// CreateMetrics writes all points or, with an error, none. Needs create; the iteration
// must not have ended.
func (db *DB) CreateMetrics(ctx context.Context, actor domain.Actor, iterationID string, metrics []points.Sample) error {
	for i := range metrics {
		if err := domain.CheckKey(metrics[i].Key); err != nil {
			return err
		}
	}
	_, err := domain.AppendPoints(ctx, db.base, actor, func(tx *domain.Tx) (struct{}, error) {
		iteration, err := tx.AllowPoints(iterationID)
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, tx.Points().AppendAll(iteration.Num, metrics, tx.Now)
	})
	return err
}

// UpdateMetric changes a point. Its id does not change. Needs update; the iteration must
// not have ended.
func (db *DB) UpdateMetric(ctx context.Context, actor domain.Actor, id string, p points.Patch) error {
	if p.Key != nil {
		if err := domain.CheckKey(*p.Key); err != nil {
			return err
		}
	}
	return domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
		found, iterationID, err := metric(tx, id)
		if err != nil {
			return err
		}
		if _, err := tx.AllowOpenIteration(actor, iterationID, domain.RightUpdate); err != nil {
			return err
		}
		return tx.Points().Update(found, p)
	})
}

// DeleteMetric removes a point. Needs delete; the iteration must not have
// ended.
func (db *DB) DeleteMetric(ctx context.Context, actor domain.Actor, id string) error {
	return domain.Remove(ctx, db.base, actor, func(tx *domain.Tx) error {
		found, iterationID, err := metric(tx, id)
		if err != nil {
			return err
		}
		if _, err := tx.AllowOpenIteration(actor, iterationID, domain.RightDelete); err != nil {
			return err
		}
		return tx.Points().Delete(found)
	})
}

// RewindMetric deletes the points of a metric at the step from and at later steps, for a run
// that continues from a checkpoint. It is not an error if there are none. Needs delete;
// the iteration must not have ended.
func (db *DB) RewindMetric(ctx context.Context, actor domain.Actor, iterationID, key string, from scalar.Step) error {
	if err := domain.CheckKey(key); err != nil {
		return err
	}
	_, err := domain.WriteKind(ctx, db.base, sqlite.Change|sqlite.Freeing, actor, func(tx *domain.Tx) (struct{}, error) {
		it, err := tx.AllowOpenIteration(actor, iterationID, domain.RightDelete)
		if err != nil {
			return struct{}{}, err
		}
		_, err = tx.Points().DeleteFrom(it.Num, key, from)
		return struct{}{}, err
	})
	return err
}

// MaxHistory is the maximum size of a page of MetricHistory.
const MaxHistory = 1_000_000

// MetricHistory returns one page of the points of a metric by time, then step, then
// value, and reports whether there are more. Needs read.
func (db *DB) MetricHistory(ctx context.Context, actor domain.Actor, iterationID, key string, p domain.Page) (found []Metric, more bool, err error) {
	limit := max(0, min(p.Limit, MaxHistory))
	found, err = domain.Read(ctx, db.base, func(tx *domain.Tx) ([]Metric, error) {
		it, err := tx.AllowIteration(actor, iterationID, domain.RightRead)
		if err != nil {
			return nil, err
		}
		// The view metric_points omits runs in the trash.
		rows, err := tx.Rows(`SELECT step, value, recorded_at FROM (
				SELECT metric.step, metric.value, metric.recorded_at
				FROM series JOIN metric ON metric.series_id = series.id
				WHERE series.iteration_num = ? AND series.key = ?
				UNION ALL
				SELECT recent.step, recent.value, recent.recorded_at
				FROM series JOIN recent ON recent.series_id = series.id AND recent.seq > series.moved_seq
				WHERE series.iteration_num = ? AND series.key = ?)
			ORDER BY recorded_at, step, value LIMIT ? OFFSET ?`, it.Num, key, it.Num, key, limit+1, max(0, p.Offset))
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

// EachMetric calls fn with each point of an iteration, metric by metric, by step, then
// in the order of writing. Needs read.
func (v *View) EachMetric(iterationID string, fn func(key string, step scalar.Step, value scalar.Value, at scalar.Time) error) error {
	it, err := v.tx.AllowIteration(v.tx.Actor, iterationID, domain.RightRead)
	if err != nil {
		return err
	}
	keys, err := v.tx.Points().Keys(it.Num)
	for _, key := range keys {
		if err == nil {
			err = v.tx.Points().Each(it.Num, key, fn)
		}
	}
	return err
}

// EachMetricOf is EachMetric for one metric. Needs read.
func (v *View) EachMetricOf(iterationID, key string, fn func(key string, step scalar.Step, value scalar.Value, at scalar.Time) error) error {
	it, err := v.tx.AllowIteration(v.tx.Actor, iterationID, domain.RightRead)
	if err != nil {
		return err
	}
	return v.tx.Points().Each(it.Num, key, fn)
}
