package wandb

import (
	"database/sql"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"tracker/store/sqlite"
	"tracker/store/wandb/format"
)

// Row is one row of a history.
type Row struct {
	Step    Step
	At      Time
	Members []format.Member // excluding the members that W&B adds, such as _step
}

// HistoryQuery selects rows of a history.
type HistoryQuery struct {
	From, To Step // steps from From up to but not including To
	System   bool // read system metrics instead of the run's metrics
	Limit    int  // maximum number of rows to read
	// Keep reports whether to include a row. If Keep is nil, all rows are included.
	Keep func(Row) bool
	// Samples is the approximate number of rows in the result, 0 for all rows. Whenever the result
	// has more than 2*Samples rows, every second row is dropped.
	Samples int
}

// keptRows collects the rows of a history that match a query.
type keptRows struct {
	take   func(bytes int64) error
	q      HistoryQuery
	limit  int
	read   int // number of rows read
	wanted int // number of rows accepted by Keep
	stride int // every stride-th accepted row is stored in all
	size   int64
	all    []Row
}

// add adds the next row. full reports that the limit was reached and the row was not added.
func (r *keptRows) add(row Row) (full bool, err error) {
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
		err, r.size = r.take(r.size), 0
	}
	return false, err
}

const (
	rowBytes   = 600     // estimated memory size of a row without its members
	textBytes  = 100     // estimated memory size of a string without its bytes
	rowsAtOnce = 1 << 20 // memory that is reserved for rows at once
)

// MaxRows is the maximum number of history rows read at once. maxValues is the maximum number
// of points read at once.
const (
	MaxRows   = 100_000
	maxValues = 2_000_000
)

// rest returns the non-numeric values of a history by step, and the steps in ascending order.
func (tx Tx) rest(num int64, q HistoryQuery, limit int) (all map[Step][]format.Member, steps []Step, err error) {
	all = map[Step][]format.Member{}
	rows, err := tx.Rows(`SELECT step, content FROM wandb_row WHERE iteration_num = ? AND step >= ? AND step < ? ORDER BY step LIMIT ?`,
		num, q.From, q.To, limit)
	err = sqlite.Each(rows, err, func() error {
		var step Step
		var content string
		if err := rows.Scan(&step, &content); err != nil {
			return err
		}
		if err := tx.Take(2*int64(len(content)) + rowBytes); err != nil {
			return err
		}
		if all[step], err = format.Members(content); err != nil {
			return err
		}
		steps = append(steps, step)
		return nil
	})
	return all, steps, err
}

// History returns the history rows of an iteration, sorted by step. num is the row number of
// the iteration, and id is its id.
func (tx Tx) History(num int64, id string, r Run, q HistoryQuery) (_ []Row, err error) {
	limit := max(0, min(q.Limit, MaxRows))
	var rest map[Step][]format.Member
	var restSteps []Step
	if !q.System {
		if rest, restSteps, err = tx.rest(num, q, limit); err != nil {
			return nil, err
		}
	}
	condition := `key NOT LIKE 'system/%' AND key NOT LIKE 'summary/%'`
	if q.System {
		condition = `key LIKE 'system/%'`
	}
	rows, err := tx.Rows(`SELECT key, step, value, recorded_at FROM metric_points
		WHERE iteration_id = ? AND step >= ? AND step < ? AND `+condition+` ORDER BY step, key, recorded_at LIMIT ?`,
		id, q.From, q.To, maxValues)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	kept := keptRows{take: tx.Take, q: q, limit: limit, stride: 1}
	var current *nested
	flush := func() (full bool, err error) {
		if current == nil {
			return false, nil
		}
		row := current.row(r, rest[current.step])
		current = nil
		return kept.add(row)
	}
	next := 0 // index of the next step in restSteps
	before := func(step Step) (full bool, err error) {
		for ; next < len(restSteps) && restSteps[next] < step && !full && err == nil; next++ {
			full, err = kept.add((&nested{step: restSteps[next]}).row(r, rest[restSteps[next]]))
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
		current.add(r, key, x, at)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	if full, err = flush(); err == nil && !full {
		_, err = before(math.MaxInt64)
	}
	if err == nil {
		err = tx.Take(kept.size)
	}
	return kept.all, err
}

// nested collects the numbers of one history row.
type nested struct {
	step Step
	at   Time
	keys []string
	tree map[string]any // each value is a string of JSON or another tree
}

// add adds a number with the given key. If the key was joined from the names of nested objects, add
// rebuilds these objects.
func (n *nested) add(r Run, key string, x Value, at Time) {
	n.at = max(n.at, at)
	path := r.Paths[key]
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
	in[path[len(path)-1]] = numberText(x)
}

// row returns the collected row with the values in rest. A value in rest replaces a number with
// the same name.
func (n *nested) row(r Run, rest []format.Member) Row {
	row := Row{Step: n.step, At: n.at}
	named := memberNames(rest)
	for _, key := range n.keys {
		if !named[key] {
			row.Members = append(row.Members, format.Member{Key: key, Value: treeText(n.tree[key])})
		}
	}
	row.Members = append(row.Members, rest...)
	if row.At == 0 {
		row.At = r.Start
	}
	return row
}

func treeText(v any) string {
	below, ok := v.(map[string]any)
	if !ok {
		text, _ := v.(string)
		return text
	}
	var members []format.Member
	for key, v := range below {
		members = append(members, format.Member{Key: key, Value: treeText(v)})
	}
	slices.SortFunc(members, func(a, b format.Member) int { return strings.Compare(a.Key, b.Key) })
	return format.Object(members)
}

// Text returns the row as JSON in the format of W&B's clients. start is the start time of the
// run.
func (r Row) Text(start Time) string { return format.Object(r.All(start)) }

// All returns the members of the row, including the members that W&B adds, such as _step.
func (r Row) All(start Time) []format.Member {
	at := float64(r.At) / 1000
	return append([]format.Member{
		{Key: "_step", Value: strconv.FormatInt(int64(r.Step), 10)},
		{Key: "_timestamp", Value: strconv.FormatFloat(at, 'f', -1, 64)},
		{Key: "_runtime", Value: strconv.FormatFloat(float64(r.At-start)/1000, 'f', -1, 64)},
	}, r.Members...)
}
