package runs

import (
	"context"
	"math"

	"tracker/store/domain"
	"tracker/store/filter"
	"tracker/store/goal"
	"tracker/store/importance"
	"tracker/store/json"
	"tracker/store/search"
)

// MaxImportanceRuns is the largest number of runs that an importance is estimated from. If there
// are more, the newest runs are used.
const MaxImportanceRuns = 10_000

// importanceCharacters is the length to which values of parameters are cut before they are
// compared.
const importanceCharacters = `60`

// ImportanceQuery selects the runs and the metric for an estimate of importance.
type ImportanceQuery struct {
	ExperimentID string

	Filter string    // of iterations; "" for all
	Target string    // a metric in the language of searches, such as metric.loss.min
	Goal   goal.Goal // "" when it is not known
}

// Importance holds the share of each parameter in the differences of a metric between runs.
type Importance struct {
	importance.Result
	Total int // iterations that pass the filter
	// Missing is the number of iterations without the metric. They are ignored.
	Missing int
	// NaN is the number of iterations whose value is NaN. With a goal they count as the worst
	// value; without one they are ignored.
	NaN int
}

// ImportanceInput holds the values from which an importance is estimated.
type ImportanceInput struct {
	counts  Importance // without a result
	values  []float64
	columns []importance.Column
	aim     goal.Goal
}

// Importance estimates how much each parameter matters for a metric. One estimate runs at a time,
// since each uses all cores. read returns the input, from View.ImportanceInput. It is called when
// no other estimate runs, so that waiting callers hold no input.
func (db *DB) Importance(ctx context.Context, read func() (ImportanceInput, error)) (out Importance, err error) {
	select {
	case db.estimating <- struct{}{}:
		defer func() { <-db.estimating }()
	case <-ctx.Done():
		return out, ctx.Err()
	}
	in, err := read()
	if err != nil {
		return out, err
	}
	out = in.counts
	out.Result, err = importance.Of(ctx, in.values, in.columns, in.aim)
	return out, err
}

// ImportanceInput returns the values of the newest iterations that pass a filter, at most
// MaxImportanceRuns. Without a target the input is empty. It returns INVALID_PAYLOAD if a part of the
// query can't be parsed. Needs read.
func (v *View) ImportanceInput(q ImportanceQuery) (in ImportanceInput, err error) {
	if q.Target == "" {
		return in, nil
	}
	s, target, err := parseImportance(q)
	if err != nil {
		return in, err
	}
	if _, err := v.tx.AllowExperiment(v.tx.Actor, q.ExperimentID, domain.RightRead); err != nil {
		return in, err
	}
	in.aim = q.Goal
	in.columns, err = Limited(v.tx, s, func(from *search.Snapshot) ([]importance.Column, error) {
		var nums []int64
		if nums, in.values, err = in.counts.results(from, s, target, q); err != nil {
			return nil, err
		}
		return importanceColumns(v.tx, nums)
	})
	return in, err
}

func parseImportance(q ImportanceQuery) (s search.Query, target filter.Ref, err error) {
	if q.Goal != "" {
		if err := domain.OneOf("goal", q.Goal, goal.Minimize, goal.Maximize); err != nil {
			return s, target, err
		}
	}
	var p filter.Parser
	if s.Filter, err = p.Filter(q.Filter); err != nil {
		return s, target, domain.Refused(err)
	}
	keys, err := p.Sort(q.Target)
	if err != nil {
		return s, target, domain.Refused(err)
	}
	if len(keys) != 1 || keys[0].Field != filter.Metric {
		return s, target, domain.Invalid("target", "Name one metric as the target, such as metric.loss.min.")
	}
	s.Metrics, s.Where = MetricsOf(p.Keys()), domain.NotTrashed("iteration")
	return s, keys[0].Ref, nil
}

// results returns the iterations that have the metric, and its values. It counts the other
// iterations.
func (out *Importance) results(in *search.Snapshot, s search.Query, target filter.Ref, q ImportanceQuery) (nums []int64, values []float64, err error) {
	out.Total, err = in.Results(q.ExperimentID, s, target, MaxImportanceRuns, func(r search.Result) {
		switch {
		case !r.There:
			out.Missing++
			return
		case r.Value == nil:
			if out.NaN++; q.Goal == "" {
				return
			}
			r.Value = new(math.Inf(1))
			if q.Goal == goal.Maximize {
				r.Value = new(math.Inf(-1))
			}
		}
		nums, values = append(nums, r.Num), append(values, *r.Value)
	})
	return nums, values, err
}

// importanceColumns returns the parameters that differ between iterations, most common first, at most
// importance.MaxColumns. Values are cut.
func importanceColumns(tx *domain.Tx, nums []int64) ([]importance.Column, error) {
	list, err := json.Marshal(nums)
	if err != nil {
		return nil, err
	}
	var keys []string
	err = tx.Select(&keys, `SELECT key FROM parameter WHERE iteration_num IN (SELECT value FROM json_each(?))
		GROUP BY key HAVING min(value) <> max(value) OR count(*) < ?
		ORDER BY count(*) DESC, key LIMIT ?`, string(list), len(nums), importance.MaxColumns)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	columns := make([]importance.Column, len(keys))
	place, texts, at := map[string]int{}, make([]map[string]*string, len(keys)), map[int64]int{}
	for i, key := range keys {
		columns[i] = importance.Column{Name: key, Values: make([]*string, len(nums))}
		place[key], texts[i] = i, map[string]*string{}
	}
	for i, num := range nums {
		at[num] = i
	}
	keyList, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	err = EachText(tx, `SELECT iteration_num, key, substr(value, 1, `+importanceCharacters+`) FROM parameter
		WHERE iteration_num IN (SELECT value FROM json_each(?)) AND key IN (SELECT value FROM json_each(?))`,
		func(num int64, key, value string) {
			known := texts[place[key]]
			if known[value] == nil {
				known[value] = &value // one copy of each text
			}
			columns[place[key]].Values[at[num]] = known[value]
		}, string(list), string(keyList))
	return columns, err
}
