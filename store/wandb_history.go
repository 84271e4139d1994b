package store

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"tracker/store/json"
	"tracker/store/transfer/wandb"
)

// WandbStep is a row of a history as it is read.
type WandbStep struct {
	Step    Step
	At      Time
	Members []wandb.Member // without those of W&B's own
}

// WandbHistoryQuery selects rows of a history.
type WandbHistoryQuery struct {
	From, To Step // the first step, and the one after the last
	System   bool // the metrics of the system instead of those of the run
	Limit    int  // the largest number of rows that are read
	// Keep reports whether a row is wanted; nil for all.
	Keep func(WandbStep) bool
	// Samples, unless it is 0, is how many rows are wanted: of more than twice as many
	// every second one is left out, as often as it takes.
	Samples int
}

// wandbRows are the rows of a history that are kept.
type wandbRows struct {
	ctx    context.Context
	q      WandbHistoryQuery
	limit  int
	read   int // rows
	wanted int // those of them that are wanted
	stride int // of those, every which one is kept
	size   int64
	all    []WandbStep
}

// add takes the next row. full reports that no more are read.
func (r *wandbRows) add(row WandbStep) (full bool, err error) {
	if r.read++; r.read > r.limit {
		return true, nil
	}
	if r.q.Keep != nil && !r.q.Keep(row) {
		return false, nil
	}
	r.wanted++
	if (r.wanted-1)%r.stride != 0 {
		return false, nil
	}
	r.all = append(r.all, row)
	r.size += rowBytes
	for _, m := range row.Members {
		r.size += int64(len(m.Key)+len(m.Value)) + textBytes
	}
	if n := r.q.Samples; n > 0 && len(r.all) > 2*n {
		for i := range (len(r.all) + 1) / 2 {
			r.all[i] = r.all[2*i]
		}
		clear(r.all[(len(r.all)+1)/2:])
		r.all = r.all[:(len(r.all)+1)/2]
		r.stride *= 2
		r.size /= 2
	}
	if r.size > rowsAtOnce {
		err, r.size = Take(r.ctx, r.size), 0
	}
	return false, err
}

const (
	rowBytes   = 600     // that a row takes beside its members
	rowsAtOnce = 1 << 20 // bytes of rows that are counted together
)

// MaxWandbRows is the largest number of rows of a history that are read at once, and
// maxWandbPoints that of the values in them.
const (
	MaxWandbRows   = 100_000
	maxWandbPoints = 2_000_000
)

// WandbHistory returns the rows of a history, by step. Needs read.
func (db *DB) WandbHistory(ctx context.Context, actor Actor, id string, q WandbHistoryQuery) ([]WandbStep, error) {
	return read(ctx, db, func(tx *tx) ([]WandbStep, error) {
		it, err := tx.allowIteration(actor, id, rightRead)
		if err != nil {
			return nil, err
		}
		w, err := tx.wandbRun(it.iterationRef)
		if err != nil {
			return nil, err
		}
		return tx.wandbHistory(it, w, q)
	})
}

func (tx *tx) wandbHistory(it iterationState, w WandbRun, q WandbHistoryQuery) ([]WandbStep, error) {
	limit := max(0, min(q.Limit, MaxWandbRows))
	rest := map[Step][]wandb.Member{}
	var restSteps []Step
	if !q.System {
		rows, err := tx.Rows(`SELECT step, content FROM wandb_row WHERE iteration_num = ? AND step >= ? AND step < ? ORDER BY step LIMIT ?`,
			it.num, q.From, q.To, limit)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		for rows.Next() {
			var step Step
			var content string
			if err := rows.Scan(&step, &content); err != nil {
				return nil, err
			}
			if err := Take(tx.Context(), 2*int64(len(content))+rowBytes); err != nil {
				return nil, err
			}
			if rest[step], err = wandb.Members(content); err != nil {
				return nil, err
			}
			restSteps = append(restSteps, step)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return nil, err
		}
	}
	condition := `key NOT LIKE 'system/%' AND key NOT LIKE 'summary/%'`
	if q.System {
		condition = `key LIKE 'system/%'`
	}
	rows, err := tx.Rows(`SELECT key, step, value, recorded_at FROM metric_points
		WHERE iteration_id = ? AND step >= ? AND step < ? AND `+condition+` ORDER BY step, key, recorded_at LIMIT ?`,
		it.id, q.From, q.To, maxWandbPoints)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	kept := wandbRows{ctx: tx.Context(), q: q, limit: limit, stride: 1}
	var current *nested
	flush := func() (full bool, err error) {
		if current == nil {
			return false, nil
		}
		row := current.row(w, rest[current.step])
		current = nil
		return kept.add(row)
	}
	next := 0 // of restSteps
	before := func(step Step) (full bool, err error) {
		for ; next < len(restSteps) && restSteps[next] < step && !full && err == nil; next++ {
			full, err = kept.add((&nested{step: restSteps[next]}).row(w, rest[restSteps[next]]))
		}
		if next < len(restSteps) && restSteps[next] == step {
			next++
		}
		return full, err
	}
	full := false
	for !full && rows.Next() {
		var key string
		var step Step
		var value sql.NullFloat64
		var at Time
		if err := rows.Scan(&key, &step, &value, &at); err != nil {
			return nil, err
		}
		if current == nil || current.step != step {
			if full, err = flush(); err == nil && !full {
				full, err = before(step)
			}
			if err != nil {
				return nil, err
			}
			if full {
				break
			}
			current = &nested{step: step}
		}
		x := Value(math.NaN())
		if value.Valid {
			x = Value(value.Float64)
		}
		current.add(w, key, x, at)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	if full, err = flush(); err == nil && !full {
		_, err = before(math.MaxInt64)
	}
	if err == nil {
		err = Take(tx.Context(), kept.size)
	}
	return kept.all, err
}

// nested collects the values of a row.
type nested struct {
	step Step
	at   Time
	keys []string
	tree map[string]any // of texts of JSON and further trees
}

// add adds a value under its name, or the names that its name was made of.
func (n *nested) add(w WandbRun, key string, x Value, at Time) {
	n.at = max(n.at, at)
	path := w.Paths[key]
	if path == nil {
		path = []string{key}
	}
	if n.tree == nil {
		n.tree = map[string]any{}
	}
	if _, there := n.tree[path[0]]; !there {
		n.keys = append(n.keys, path[0])
	}
	in := n.tree
	for _, name := range path[:len(path)-1] {
		below, ok := in[name].(map[string]any)
		if !ok {
			below = map[string]any{}
			in[name] = below
		}
		in = below
	}
	in[path[len(path)-1]] = WandbNumber(x)
}

// memberNames returns the names of members.
func memberNames(members []wandb.Member) map[string]bool {
	names := make(map[string]bool, len(members))
	for _, m := range members {
		names[m.Key] = true
	}
	return names
}

// row returns the row, where the values of rest are in the place of those of the same
// names.
func (n *nested) row(w WandbRun, rest []wandb.Member) WandbStep {
	row := WandbStep{Step: n.step, At: n.at}
	named := memberNames(rest)
	for _, key := range n.keys {
		if !named[key] {
			row.Members = append(row.Members, wandb.Member{Key: key, Value: treeText(n.tree[key])})
		}
	}
	row.Members = append(row.Members, rest...)
	if row.At == 0 {
		row.At = w.Start
	}
	return row
}

func treeText(v any) string {
	below, ok := v.(map[string]any)
	if !ok {
		text, _ := v.(string)
		return text
	}
	var members []wandb.Member
	for key, v := range below {
		members = append(members, wandb.Member{Key: key, Value: treeText(v)})
	}
	slices.SortFunc(members, func(a, b wandb.Member) int { return strings.Compare(a.Key, b.Key) })
	return wandb.Object(members)
}

// Text returns the row as W&B's clients read it. start is the beginning of the run.
func (s WandbStep) Text(start Time) string {
	at := float64(s.At) / 1000
	members := append([]wandb.Member{
		{Key: "_step", Value: strconv.FormatInt(int64(s.Step), 10)},
		{Key: "_timestamp", Value: strconv.FormatFloat(at, 'f', -1, 64)},
		{Key: "_runtime", Value: strconv.FormatFloat(float64(s.At-start)/1000, 'f', -1, 64)},
	}, s.Members...)
	return wandb.Object(members)
}

// WandbLines returns texts as a JSON list of texts.
func WandbLines(lines []string) string {
	b, err := json.Marshal(lines, json.AllowInvalidUTF8(true))
	if err != nil {
		return "[]" // texts can't fail
	}
	return string(b)
}
