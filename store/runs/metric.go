package runs

import (
	"context"
	"errors"

	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// Metric is one recorded point of a metric.
type Metric struct {
	ID          string       `json:"id"`
	IterationID string       `json:"iteration_id"`
	Key         string       `json:"key"`
	Value       scalar.Value `json:"value"`
	Step        scalar.Step  `json:"step"`
	RecordedAt  scalar.Time  `json:"recorded_at"`
}

// MetricQuery selects points of an iteration by the name of the metric.
type MetricQuery struct {
	domain.Page
	Key *string // name of a metric; nil selects all metrics
}

// MetricBatch is the result of CreateMetricBatch.
type MetricBatch struct {
	IDs []string `json:"ids"` // ids of the written points, in the order of the arguments
	// Failed is the reason why the batch stopped early. It is nil if all points were written.
	Failed *domain.Error `json:"failed,omitzero"`
}

// metricOf converts the point p of an iteration to a Metric.
func metricOf(iterationID string, p points.Point) Metric {
	return Metric{ID: p.ID(), IterationID: iterationID, Key: p.Key, Value: p.Value, Step: p.Step, RecordedAt: p.RecordedAt}
}

// Metrics returns a page of an iteration's points. The points are sorted by step, then by the
// order of writing. The actor needs the right to read.
func (db *DB) Metrics(ctx context.Context, actor domain.Actor, iterationID string, q MetricQuery) (domain.List[Metric], error) {
	return domain.Read(ctx, db.base, func(tx *domain.Tx) (domain.List[Metric], error) {
		it, err := tx.AllowIteration(actor, iterationID, domain.RightRead)
		if err != nil {
			return domain.List[Metric]{}, err
		}
		return Metrics(tx, it.IterationRef, q)
	})
}

// Metrics returns a page of an iteration's points. The points are sorted by step, then by the
// order of writing. Metrics does not check the rights of the actor.
func Metrics(tx *domain.Tx, i domain.IterationRef, q MetricQuery) (domain.List[Metric], error) {
	page := q.Clamp()
	found, total, err := tx.Points().List(i.Num, q.Key, page.Limit, page.Offset)
	l := domain.List[Metric]{Data: make([]Metric, len(found)), Total: total, Limit: page.Limit, Offset: page.Offset}
	for n, p := range found {
		l.Data[n] = metricOf(i.ID, p)
	}
	return l, err
}

// Metric returns the point with the given id. The actor needs the right to read.
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

// metric returns the point with the given id and the id of the point's iteration.
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

// CreateMetric writes one point. The iteration must not have ended. The actor needs the right
// to create.
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

// CreateMetricBatch writes points in the given order. It stops at the first invalid point and
// keeps the earlier points. Points without a time get the time of the transaction. The
// iteration must not have ended. The actor needs the right to create.
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

// AllowPoints returns an error if actor may not add points to the iteration. Callers use it to
// reject a request before any work is done. CreateMetrics checks the rights again, and also
// checks whether the iteration has ended.
//
// A request is always allowed if a result for its idempotency key is stored. The client gets the
// first response again, even if the iteration was deleted in between. ctx contains the
// idempotency key.
func (db *DB) AllowPoints(ctx context.Context, actor domain.Actor, iterationID string) error {
	return db.base.Ask(ctx, func(tx *domain.Tx) error {
		if answered, err := tx.Answered(actor, domain.KeyFrom(ctx)); answered || err != nil {
			return err
		}
		_, err := tx.AllowIteration(actor, iterationID, domain.RightCreate)
		return err
	})
}

// CreateMetrics writes points to an iteration. If it returns an error, it has written no point.
// The iteration must not have ended. The actor needs the right to create.
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

// UpdateMetric changes a point. The id of the point does not change. The iteration must not
// have ended. The actor needs the right to update.
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

// DeleteMetric deletes a point. The iteration must not have ended. The actor needs the right to
// delete.
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

// RewindMetric deletes all points of a metric with step >= from. A run that continues from a
// checkpoint uses RewindMetric. Deleting no points is not an error. The iteration must not have
// ended. The actor needs the right to delete.
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

// MaxHistory is the maximum number of points in a page of MetricHistory.
const MaxHistory = 1_000_000

// MetricHistory returns a page of the points of a metric, sorted by time, then step, then
// value. more reports whether more points follow the page. The actor needs the right to read.
func (db *DB) MetricHistory(ctx context.Context, actor domain.Actor, iterationID, key string, p domain.Page) (found []Metric, more bool, err error) {
	limit := max(0, min(p.Limit, MaxHistory))
	found, err = domain.Read(ctx, db.base, func(tx *domain.Tx) ([]Metric, error) {
		it, err := tx.AllowIteration(actor, iterationID, domain.RightRead)
		if err != nil {
			return nil, err
		}
		// The query reads the tables, because the view metric_points omits runs in the trash.
		var all []Metric
		rows, err := tx.Rows(`SELECT step, value, recorded_at FROM (
				SELECT metric.step, metric.value, metric.recorded_at
				FROM series JOIN metric ON metric.series_id = series.id
				WHERE series.iteration_num = ? AND series.key = ?
				UNION ALL
				SELECT recent.step, recent.value, recent.recorded_at
				FROM series JOIN recent ON recent.series_id = series.id AND recent.seq > series.moved_seq
				WHERE series.iteration_num = ? AND series.key = ?)
			ORDER BY recorded_at, step, value LIMIT ? OFFSET ?`, it.Num, key, it.Num, key, limit+1, max(0, p.Offset))
		err = sqlite.Each(rows, err, func() error {
			m := Metric{IterationID: iterationID, Key: key}
			if err := rows.Scan(&m.Step, &m.Value, &m.RecordedAt); err != nil {
				return err
			}
			all = append(all, m)
			return nil
		})
		return all, err
	})
	if more = len(found) > limit; more {
		found = found[:limit]
	}
	return found, more, err
}

// EachMetric calls fn for each point of an iteration. The calls are sorted by metric, then by
// step, then by the order of writing. The actor needs the right to read.
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

// EachMetricOf calls fn for each point of one metric, as EachMetric does for all metrics. The
// actor needs the right to read.
func (v *View) EachMetricOf(iterationID, key string, fn func(key string, step scalar.Step, value scalar.Value, at scalar.Time) error) error {
	it, err := v.tx.AllowIteration(v.tx.Actor, iterationID, domain.RightRead)
	if err != nil {
		return err
	}
	return v.tx.Points().Each(it.Num, key, fn)
}
