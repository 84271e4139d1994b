package store_test

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// operation is a write to both the store and the model. The write to the model takes the ids of
// the new points and returns the expected error.
type operation struct {
	name  string
	store func(*store.DB) (ids []string, err error)
	model func(ids []string) (want int, code domain.Code)
}

// pick returns a random iteration. It rarely returns a deleted one.
func (p *property) pick() *modelIteration {
	i := p.iterations[p.IntN(len(p.iterations))]
	if i.deleted && p.IntN(10) > 0 {
		return p.iterations[len(p.iterations)-1]
	}
	return i
}

func (p *property) operation() operation {
	i := p.pick()
	switch n := p.IntN(100); {
	case n < 35:
		return p.create(i)
	case n < 55:
		return p.batch(i)
	case n < 60:
		return p.bulk(i)
	case n < 82:
		return p.update(i)
	case n < 92:
		return p.delete(i)
	case n < 95:
		return p.end(i)
	case n < 97: // an error that ends the transaction of all writes in it
		return operation{"break the transaction",
			func(db *store.DB) ([]string, error) {
				_, err := db.Runs.CreateTag(ctx, domain.System, runs.ExperimentTag, p.experiment, "breaks")
				return nil, err
			},
			func([]string) (int, domain.Code) { return 0, domain.CodeServerError }}
	case n < 98:
		return operation{"delete iteration " + i.id,
			func(db *store.DB) ([]string, error) { return nil, db.Runs.DeleteIteration(ctx, domain.System, i.id) },
			func([]string) (int, domain.Code) {
				if i.deleted {
					return 0, domain.CodeNotFound
				}
				p.removeIteration(i)
				return 0, ""
			}}
	}
	return operation{"create iteration",
		func(db *store.DB) ([]string, error) {
			c, err := db.Runs.CreateIteration(ctx, domain.System, p.experiment, runs.NewIteration{})
			return []string{c.ID}, err
		},
		func(ids []string) (int, domain.Code) {
			p.iterations = append(p.iterations, &modelIteration{id: ids[0]})
			return 1, ""
		}}
}

func (p *property) create(i *modelIteration) operation {
	m := p.metric()
	return operation{fmt.Sprintf("create in %s: %s", i.id, show(m)),
		func(db *store.DB) ([]string, error) {
			c, err := db.Runs.CreateMetric(ctx, domain.System, i.id, m)
			if err != nil {
				return nil, err
			}
			return []string{c.ID}, nil
		},
		func(ids []string) (int, domain.Code) {
			if !validKey(m.Key) {
				return 0, domain.CodeInvalidPayload
			}
			return p.apply(i, []points.Sample{m}, ids)
		}}
}

func (p *property) batch(i *modelIteration) operation {
	batch := p.metrics()
	return operation{fmt.Sprintf("batch in %s: %s", i.id, show(batch...)),
		func(db *store.DB) ([]string, error) {
			b, err := db.Runs.CreateMetricBatch(ctx, domain.System, i.id, batch)
			if err == nil && b.Failed != nil {
				err = b.Failed
			}
			return b.IDs, err
		},
		func(ids []string) (int, domain.Code) { return p.apply(i, batch, ids) }}
}

// apply writes points with the given ids to the model.
func (p *property) apply(i *modelIteration, metrics []points.Sample, ids []string) (int, domain.Code) {
	if code := i.refusal(); code != "" {
		return 0, code
	}
	added, stopped := i.add(metrics, p.clock.Time())
	for n, point := range added {
		if n < len(ids) {
			if _, other := p.find(ids[n]); other != nil || slices.Contains(p.gone, ids[n]) {
				p.fail("the id %s was given twice", ids[n])
			}
			point.ID = ids[n]
		}
	}
	return len(added), stopped
}

func (p *property) bulk(i *modelIteration) operation {
	bulk := p.metrics()
	return operation{fmt.Sprintf("bulk in %s: %s", i.id, show(bulk...)),
		func(db *store.DB) ([]string, error) {
			return nil, db.Runs.CreateMetrics(ctx, domain.System, i.id, bulk)
		},
		func([]string) (int, domain.Code) {
			if slices.ContainsFunc(bulk, func(m points.Sample) bool { return !validKey(m.Key) }) {
				return 0, domain.CodeInvalidPayload
			}
			before := slices.Clone(i.points)
			_, code := p.apply(i, bulk, nil)
			if code != "" {
				i.points = before
			}
			return 0, code
		}}
}

// someID returns the id of one of i's points, of a deleted point, or an id that does not exist.
func (p *property) someID(i *modelIteration) string {
	if len(i.points) > 0 && p.IntN(10) > 0 {
		if id := i.points[p.IntN(len(i.points))].ID; id != "" {
			return id
		}
	}
	if len(p.gone) > 0 {
		return p.gone[p.IntN(len(p.gone))]
	}
	return "0.0.0"
}

func (p *property) update(i *modelIteration) operation {
	id := p.someID(i)
	m := p.metric()
	patch := points.Patch{}
	for _, set := range []func(){
		func() { patch.Key = &m.Key },
		func() { patch.Value = &m.Value },
		func() { patch.Step = m.Step },
		func() { patch.RecordedAt = m.RecordedAt },
	} {
		if p.IntN(5) < 2 {
			set()
		}
	}
	if _, point := p.find(id); point != nil && p.IntN(4) == 0 { // back to its earlier place
		patch.Key, patch.Step = &point.firstKey, &point.firstStep
	}
	return operation{fmt.Sprintf("update %s: %s", id, showPatch(patch)),
		func(db *store.DB) ([]string, error) { return nil, db.Runs.UpdateMetric(ctx, domain.System, id, patch) },
		func([]string) (int, domain.Code) {
			if patch.Key != nil && !validKey(*patch.Key) {
				return 0, domain.CodeInvalidPayload
			}
			i, point := p.find(id)
			if point == nil {
				return 0, domain.CodeNotFound
			}
			if code := i.refusal(); code != "" {
				return 0, code
			}
			assign(&point.Key, patch.Key)
			assign(&point.Value, patch.Value)
			assign(&point.Step, patch.Step)
			assign(&point.RecordedAt, patch.RecordedAt)
			return 0, ""
		}}
}

func assign[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

func (p *property) delete(i *modelIteration) operation {
	id := p.someID(i)
	return operation{"delete " + id,
		func(db *store.DB) ([]string, error) { return nil, db.Runs.DeleteMetric(ctx, domain.System, id) },
		func([]string) (int, domain.Code) {
			i, point := p.find(id)
			if point == nil {
				return 0, domain.CodeNotFound
			}
			if code := i.refusal(); code != "" {
				return 0, code
			}
			p.remove(i, point)
			return 0, ""
		}}
}

// end ends an iteration or reopens it.
func (p *property) end(i *modelIteration) operation {
	status := domain.Running
	if p.IntN(3) == 0 {
		status = domain.Killed
	}
	return operation{fmt.Sprintf("set %s to %s", i.id, status),
		func(db *store.DB) ([]string, error) {
			return nil, db.Runs.UpdateIteration(ctx, domain.System, i.id, runs.IterationPatch{Status: &status})
		},
		func([]string) (int, domain.Code) {
			if i.deleted {
				return 0, domain.CodeNotFound
			}
			i.ended = status != domain.Running
			return 0, ""
		}}
}

func (p *property) metrics() []points.Sample {
	all := make([]points.Sample, p.IntN(20))
	for i := range all {
		all[i] = p.metric()
	}
	return all
}

func (p *property) metric() points.Sample {
	m := points.Sample{Key: pick(p, "loss", "loss", "acc", "val/loss, ŭnıcode 🙂", "'; DROP TABLE metric", " ")}
	if p.IntN(60) == 0 {
		m.Key = pick(p, "", "line\nbreak", strings.Repeat("k", domain.MaxName+1))
	}
	if p.IntN(2) == 0 {
		m.Step = new(scalar.Step(p.IntN(30) - 5))
		if p.IntN(30) == 0 {
			m.Step = new(pick[scalar.Step](p, math.MinInt64, math.MaxInt64, math.MaxInt64-1, 1<<53+1))
		}
	}
	if p.IntN(3) == 0 {
		m.RecordedAt = new(scalar.Time(p.IntN(1000) - 500))
	}
	m.Value = scalar.Value(p.NormFloat64())
	if p.IntN(3) == 0 {
		m.Value = scalar.Value(pick(p, 0, math.Copysign(0, -1), 1, -1, math.NaN(), math.Inf(1), math.Inf(-1),
			math.MaxFloat64, -math.MaxFloat64, 1e308, -1e308, math.SmallestNonzeroFloat64, 1<<53, 1e15, -1e300))
	}
	return m
}

func pick[T any](p *property, from ...T) T { return from[p.IntN(len(from))] }

func show(metrics ...points.Sample) string {
	var b strings.Builder
	for _, m := range metrics {
		fmt.Fprintf(&b, "[%.30q %v", m.Key, m.Value)
		if m.Step != nil {
			fmt.Fprintf(&b, " at %d", *m.Step)
		}
		b.WriteString("]")
	}
	return b.String()
}

func showPatch(p points.Patch) string {
	var b strings.Builder
	if p.Key != nil {
		fmt.Fprintf(&b, "key %.30q ", *p.Key)
	}
	if p.Value != nil {
		fmt.Fprintf(&b, "value %v ", *p.Value)
	}
	if p.Step != nil {
		fmt.Fprintf(&b, "step %d ", *p.Step)
	}
	return b.String()
}
