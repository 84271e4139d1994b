package store

import (
	"context"
	"math"
)

// MetricSummary says in a few numbers how a metric went. Minimum, maximum and
// mean are over the values that are finite, and nil when none is.
type MetricSummary struct {
	Count    int64  `json:"count"`
	Last     Value  `json:"last"` // at the largest step
	LastStep Step   `json:"last_step"`
	Min      *Value `json:"min"`
	MinStep  *Step  `json:"min_step"`
	Max      *Value `json:"max"`
	MaxStep  *Step  `json:"max_step"`
	Mean     *Value `json:"mean"`
}

// Summary is an iteration in a few numbers.
type Summary struct {
	IterationID string                   `json:"iteration_id"`
	Metrics     map[string]MetricSummary `json:"metrics"` // by key
	Params      map[string]string        `json:"params"`  // by key
	Tags        Strings                  `json:"tags"`    // sorted
}

// Summary returns the statistics of every metric of an iteration, with its
// parameters and tags. Needs read.
func (db *DB) Summary(ctx context.Context, actor Actor, iterationID string) (Summary, error) {
	return read(ctx, db, func(tx *tx) (Summary, error) {
		s := Summary{IterationID: iterationID, Metrics: map[string]MetricSummary{}, Params: map[string]string{}, Tags: Strings{}}
		it, err := tx.allowIteration(actor, iterationID, rightRead)
		if err != nil {
			return s, err
		}
		all, err := tx.seriesOfIteration(it.num, nil)
		if err != nil {
			return s, err
		}
		for _, m := range all {
			s.Metrics[m.key] = m.summary()
		}
		var params []Parameter
		if err := tx.all(&params, `SELECT key, value FROM parameter WHERE iteration_num = ?`, it.num); err != nil {
			return s, err
		}
		for _, p := range params {
			s.Params[p.Key] = p.Value
		}
		return s, tx.all(&s.Tags, `SELECT value FROM tag WHERE iteration_num = ? ORDER BY value`, it.num)
	})
}

func (s stats) summary() MetricSummary {
	m := MetricSummary{Count: s.Count, Last: s.Last, LastStep: *s.LastStep,
		Min: s.Min, MinStep: s.MinStep, Max: s.Max, MaxStep: s.MaxStep}
	if s.Finite > 0 {
		mean := s.Sum / Value(s.Finite)
		if math.IsInf(float64(mean), 0) || math.IsNaN(float64(mean)) {
			return m // the sum of very large values is beyond a double
		}
		m.Mean = &mean
	}
	return m
}
