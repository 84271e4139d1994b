package runs

import (
	"cmp"
	"context"
	"database/sql/driver"
	"math"
	"slices"

	"tracker/store/domain"
	"tracker/store/filter"
	"tracker/store/goal"
	"tracker/store/importance"
	"tracker/store/search"
	"tracker/store/sqlite"
	"tracker/store/suggest"
)

// MaxImportanceRuns is the maximum number of runs in an importance estimate. If there are more
// runs, the estimate uses the newest runs.
const MaxImportanceRuns = 10_000

// importanceCharacters is the maximum length of a compared parameter value. Longer values are
// truncated.
const importanceCharacters = `60`

// ImportanceQuery selects the runs and the metric of an importance estimate.
type ImportanceQuery struct {
	ExperimentID string

	Filter string    // filter for iterations; "" selects all iterations
	Target string    // metric in the search language, such as metric.loss.min
	Goal   goal.Goal // "" if unknown
	Next   bool      // whether to suggest settings for the next runs
}

// Importance holds the importance of each parameter: its share of the variation of a metric
// between runs.
type Importance struct {
	importance.Result
	Total int // number of iterations that match the filter
	// Missing is the number of iterations without the metric. The estimate ignores them.
	Missing int
	// NaN is the number of iterations whose value is NaN. If the query has a goal, NaN counts as
	// the worst value. Otherwise, the estimate ignores these iterations.
	NaN int

	// Best is the iteration with the best value, "" if the goal is unknown. Command is the
	// command that started it, "" if it is not recorded.
	Best, Command string
	BestValue     float64
	// BestParams holds the parameters of the best iteration, with truncated values.
	BestParams map[string]string
	// Next holds suggestions for the next runs. If there are none, Refusal is the reason. Both
	// are empty if the query does not ask for suggestions.
	Next    []suggest.Suggestion
	Refusal suggest.Reason
}

// ImportanceInput holds the input of an importance estimate.
type ImportanceInput struct {
	counts  Importance // counts only; Result is not set
	values  []float64
	columns []importance.Column
	aim     goal.Goal
	next    bool
	best    int // index of the best value
}

// Importance estimates how much each parameter influences a metric. Only one estimate runs at a
// time, because an estimate uses all cores. read must return the result of View.ImportanceInput.
// Importance calls read only when no other estimate runs, so a waiting call holds no input in
// memory.
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
	out.BestParams = map[string]string{}
	for _, c := range in.columns {
		if in.best < len(c.Values) && c.Values[in.best] != nil {
			out.BestParams[c.Name] = *c.Values[in.best]
		}
	}
	out.Result, err = importance.Of(ctx, in.values, in.columns, in.aim)
	if err == nil && in.next {
		out.Next, out.Refusal, err = suggest.Next(ctx, out.Result, in.values, in.columns, in.aim)
	}
	return out, err
}

// ImportanceInput returns the input of an importance estimate. It uses the newest iterations
// that match the filter, at most MaxImportanceRuns. If the query has no target, the input is
// empty. ImportanceInput returns INVALID_PAYLOAD if the query can't be parsed. The actor needs
// the right to read.
func (v *View) ImportanceInput(q ImportanceQuery) (in ImportanceInput, err error) {
	if q.Target == "" {
		return in, nil
	}
	parsed, err := parse(func(p *filter.Parser) (targeted, error) { return parseImportance(p, q) })
	if err != nil {
		return in, err
	}
	if _, err := v.tx.AllowExperiment(v.tx.Actor, q.ExperimentID, domain.RightRead); err != nil {
		return in, err
	}
	s, err := parsed.resolve(v.tx, q.ExperimentID)
	if err != nil {
		return in, err
	}
	in.aim, in.next = q.Goal, q.Next
	in.columns, err = Limited(v.tx, s.Query, func(from *search.Snapshot) ([]importance.Column, error) {
		var nums []int64
		if nums, in.values, err = in.counts.results(from, s.Query, s.target, q); err != nil {
			return nil, err
		}
		if in.best, err = in.counts.readBest(v.tx, nums, in.values, q.Goal); err != nil {
			return nil, err
		}
		return importanceColumns(v.tx, nums)
	})
	return in, err
}

// readBest sets the best iteration and its command. It returns the index of the best value.
// values[i] is the value of iteration nums[i].
func (out *Importance) readBest(tx *domain.Tx, nums []int64, values []float64, aim goal.Goal) (best int, err error) {
	if len(nums) == 0 || aim == "" {
		return 0, nil
	}
	for i, v := range values {
		if aim == goal.Minimize && v < values[best] || aim == goal.Maximize && v > values[best] {
			best = i
		}
	}
	out.BestValue = values[best]
	return best, tx.Row(`SELECT iteration.id, coalesce(snapshot.command, '') FROM iteration
		LEFT JOIN snapshot ON snapshot.iteration_num = iteration.num
		WHERE iteration.num = ?`, nums[best]).Scan(&out.Best, &out.Command)
}

// targeted is a search with the metric of an importance estimate.
type targeted struct {
	search.Query
	target filter.Ref
}

func parseImportance(p *filter.Parser, q ImportanceQuery) (s targeted, err error) {
	if q.Goal != "" {
		if err := domain.OneOf("goal", q.Goal, goal.Minimize, goal.Maximize); err != nil {
			return s, err
		}
	}
	if s.Filter, err = p.Filter(q.Filter); err != nil {
		return s, domain.Refused(err)
	}
	keys, err := p.Sort(q.Target)
	if err != nil {
		return s, domain.Refused(err)
	}
	if len(keys) != 1 || keys[0].Field != filter.Metric {
		return s, domain.Invalid("target", "Name one metric as the target, such as metric.loss.min.")
	}
	s.Metrics, s.Where = MetricsOf(p.Keys()), domain.NotTrashed("iteration")
	s.target = keys[0].Ref
	return s, nil
}

// results returns the numbers of the iterations that have the metric, and their values. It sets
// the counts in out.
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

// importanceColumns returns the parameters that differ between iterations, most common first.
// It returns at most importance.MaxColumns parameters. Values are truncated to
// importanceCharacters.
func importanceColumns(tx *domain.Tx, nums []int64) ([]importance.Column, error) {
	list := sqlite.JSON(nums)
	if columns, all, err := columnsInOnePass(tx, nums, list); all || err != nil {
		return columns, err
	}
	var keys []string
	err := tx.Select(&keys, `SELECT key FROM parameter WHERE iteration_num IN (SELECT value FROM json_each(?))
		GROUP BY key HAVING min(value) <> max(value) OR count(*) < ?
		ORDER BY count(*) DESC, key LIMIT ?`, list, len(nums), importance.MaxColumns)
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
	err = EachText(tx, `SELECT iteration_num, key, substr(value, 1, `+importanceCharacters+`) FROM parameter
		WHERE iteration_num IN (SELECT value FROM json_each(?)) AND +key IN (SELECT value FROM json_each(?))`,
		func(num int64, key, value string) {
			known := texts[place[key]]
			if known[value] == nil {
				known[value] = &value // equal values share one string
			}
			columns[place[key]].Values[at[num]] = known[value]
		}, list, sqlite.JSON(keys))
	return columns, err
}

// importanceRows is the maximum number of parameters for which columnsInOnePass is used.
const importanceRows = 500_000

// columnsInOnePass is importanceColumns for at most importanceRows parameters. It reads the
// parameter table only once, but holds all parameters in memory. It returns false if there are
// more parameters.
func columnsInOnePass(tx *domain.Tx, nums []int64, list driver.Valuer) (columns []importance.Column, all bool, err error) {
	type cell struct {
		key, run int32
		value    *string
	}
	type found struct {
		name  string
		place int
		count int
		texts map[string]*string
	}
	var cells []cell
	at := make(map[int64]int32, len(nums))
	for i, num := range nums {
		at[num] = int32(i)
	}
	var keys []*found
	places := map[string]int32{}
	err = EachText(tx, `SELECT parameter.iteration_num, parameter.key, substr(parameter.value, 1, `+importanceCharacters+`)
		FROM json_each(?) AS n CROSS JOIN parameter ON parameter.iteration_num = n.value LIMIT ?`,
		func(num int64, key, value string) {
			place, ok := places[key]
			if !ok {
				place = int32(len(keys))
				places[key] = place
				keys = append(keys, &found{name: key, place: int(place), texts: map[string]*string{}})
			}
			k := keys[place]
			k.count++
			if k.texts[value] == nil {
				k.texts[value] = &value // equal values share one string
			}
			cells = append(cells, cell{place, at[num], k.texts[value]})
		}, list, importanceRows+1)
	if err != nil || len(cells) > importanceRows {
		return nil, false, err
	}
	chosen := slices.DeleteFunc(slices.Clone(keys), func(k *found) bool { return len(k.texts) < 2 && k.count == len(nums) })
	slices.SortFunc(chosen, func(a, b *found) int { return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.name, b.name)) })
	chosen = chosen[:min(len(chosen), importance.MaxColumns)]
	columns = make([]importance.Column, len(chosen))
	values := make([][]*string, len(keys))
	for i, k := range chosen {
		columns[i] = importance.Column{Name: k.name, Values: make([]*string, len(nums))}
		values[k.place] = columns[i].Values
	}
	for _, c := range cells {
		if v := values[c.key]; v != nil {
			v[c.run] = c.value
		}
	}
	return columns, true, nil
}
