package wandb

import (
	"context"
	"math"
	"slices"
	"strings"

	"tracker/store/domain"
	"tracker/store/json"
	"tracker/store/scalar"
	"tracker/store/wandb"
	"tracker/store/wandb/format"
)

// historyKeys returns the names of all values in a run's history.
func historyKeys(r *wandb.Record) any {
	out := allKeys{Last: lastStep(r), Sets: []any{}, Keys: map[string]keyInfo{}}
	count := max(1, r.HistoryLines)
	for _, m := range r.Metrics {
		if strings.HasPrefix(m.Key, wandb.SystemPrefix) || strings.HasPrefix(m.Key, wandb.SummaryPrefix) {
			continue
		}
		name := m.Key
		if p := r.Paths[m.Key]; p != nil {
			name = strings.Join(p, ".")
		}
		out.Keys[name] = keyInfo{Types: []keyType{{"number", count}}, Previous: m.Value}
	}
	for _, name := range []string{"_step", "_timestamp", "_runtime"} {
		if len(out.Keys) > 0 {
			out.Keys[name] = keyInfo{Types: []keyType{{"number", count}}, Previous: scalar.Value(out.Last), Monotone: true}
		}
	}
	return out
}

// lastStep returns the last step in a run's history, or -1 if the history is empty.
func lastStep(r *wandb.Record) int64 {
	last := int64(-1)
	if r.HistoryLines > 0 {
		last = int64(r.LastStep)
	}
	for _, m := range r.Metrics {
		if !strings.HasPrefix(m.Key, wandb.SystemPrefix) && !strings.HasPrefix(m.Key, wandb.SummaryPrefix) {
			last = max(last, int64(m.Step))
		}
	}
	return last
}

// historyTail returns a JSON list with the last row of a run's history.
func (c *call) historyTail(r *wandb.Record) (any, error) {
	last := lastStep(r)
	if last < 0 {
		return "[]", nil
	}
	rows, err := c.db.Wandb.History(c.ctx, c.actor, r.ID, wandb.HistoryQuery{From: scalar.Step(last), To: scalar.Step(last + 1), Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		rows = []wandb.Row{{Step: scalar.Step(last), At: r.Last}}
	}
	return textList([]string{rows[0].Text(startOf(r))}), nil
}

func startOf(r *wandb.Record) scalar.Time {
	if r.Start > 0 {
		return r.Start
	}
	return r.CreatedDate
}

// history returns history rows as JSON strings. If system is set, it returns rows of the system
// metrics.
func (c *call) history(r *wandb.Record, a args, system bool) (any, error) {
	q := wandb.HistoryQuery{From: scalar.Step(a.number("minStep", math.MinInt64)), To: scalar.Step(a.number("maxStep", math.MaxInt64)),
		System: system, Limit: wandb.MaxRows, Samples: int(max(0, min(a.number("samples", 0), wandb.MaxRows)))}
	rows, err := c.db.Wandb.History(c.ctx, c.actor, r.ID, q)
	if err != nil {
		return nil, err
	}
	rows = sample(rows, q.Samples)
	out := make([]string, len(rows))
	for i, row := range rows {
		if system {
			row = systemRow(row)
		}
		out[i] = row.Text(startOf(r))
	}
	return out, nil
}

// systemRow returns a row of system metrics with W&B's metric names.
func systemRow(row wandb.Row) wandb.Row {
	members := make([]format.Member, len(row.Members))
	for i, m := range row.Members {
		members[i] = format.Member{Key: "system." + strings.TrimPrefix(m.Key, wandb.SystemPrefix), Value: m.Value}
	}
	row.Members = members
	return row
}

// sample returns at most n evenly distributed elements of all. If n is not positive, sample
// returns all.
func sample[T any](all []T, n int) []T {
	if n <= 0 || len(all) <= n {
		return all
	}
	some := make([]T, 0, n)
	for i := range n {
		some = append(some, all[i*len(all)/n])
	}
	return some
}

// sampleSpec is one query in the argument "specs" of sampledHistory.
type sampleSpec struct {
	Keys    []string `json:"keys"`
	Samples int64    `json:"samples"`
	Min     *int64   `json:"minStep"`
	Max     *int64   `json:"maxStep"`
}

var errSpec = domain.Invalid("specs", "A request for rows of the history must be a JSON object with keys and samples.")

// sampledHistory returns rows for each query. It returns only rows with values for all keys of the
// query.
func (c *call) sampledHistory(r *wandb.Record, a args) (any, error) {
	var out []any
	for _, text := range a.texts("specs") {
		var spec sampleSpec
		if err := inner("specs", text, &spec, errSpec); err != nil {
			return nil, err
		}
		n := spec.Samples
		if n <= 0 {
			n = 500
		}
		q := wandb.HistoryQuery{From: math.MinInt64, To: math.MaxInt64, Limit: wandb.MaxRows, Samples: int(min(n, wandb.MaxRows)),
			Keep: func(row wandb.Row) bool {
				_, ok := pick(c.ctx, row, spec.Keys, startOf(r))
				return ok
			}}
		if spec.Min != nil {
			q.From = scalar.Step(*spec.Min)
		}
		if spec.Max != nil {
			q.To = scalar.Step(*spec.Max)
			// Newer clients request all steps up to and including maxStep. Their number of
			// samples is then equal to the number of steps.
			if spec.Min != nil && spec.Samples == *spec.Max-*spec.Min+1 {
				q.To++
			}
		}
		rows, err := c.db.Wandb.History(c.ctx, c.actor, r.ID, q)
		if err != nil {
			return nil, err
		}
		var kept []any
		for _, row := range rows {
			if picked, ok := pick(c.ctx, row, spec.Keys, startOf(r)); ok {
				kept = append(kept, picked)
			}
		}
		if kept == nil {
			kept = []any{}
		}
		out = append(out, sample(kept, q.Samples))
	}
	return out, nil
}

// pick returns the values in a row for the given keys. ok is false if the row lacks a key or if
// ctx has ended.
func pick(ctx context.Context, row wandb.Row, keys []string, start scalar.Time) (picked map[string]any, ok bool) {
	members := map[string]string{}
	for _, m := range slices.Backward(row.All(start)) {
		members[m.Key] = m.Value // backward, so that the first of several equal keys wins
	}
	picked = map[string]any{}
	for _, key := range keys {
		if ctx.Err() != nil {
			return nil, false
		}
		value := members[key]
		if value == "" {
			name, below, nested := strings.Cut(key, ".")
			value = members[name]
			for nested && value != "" {
				name, below, nested = strings.Cut(below, ".")
				value = format.MemberOf(value, name)
			}
		}
		if value == "" {
			return nil, false
		}
		picked[key] = jsonValue(value)
	}
	return picked, true
}

// jsonValue decodes a JSON value. NaN and infinities are returned as strings.
func jsonValue(text string) any {
	switch text {
	case "NaN", "Infinity", "-Infinity":
		return text
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v, json.AllowDuplicateNames(true), json.AllowInvalidUTF8(true)); err != nil {
		return text
	}
	return v
}
