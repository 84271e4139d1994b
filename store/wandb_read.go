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

// WandbRecord is a run as W&B's clients read it.
type WandbRecord struct {
	Iteration
	WandbRun
	Metrics  []LatestMetric // by key, those of the system and of the summary included
	Snapshot *Snapshot      // nil when none was recorded
}

// MaxWandbRuns bounds the runs of a project that are searched at once.
const MaxWandbRuns = 20_000

// systemPrefix begins the names of the metrics of the system.
const systemPrefix = "system/"

// WandbRecord returns the run with a name in a project, both as W&B's clients name
// them; NOT_FOUND when there is none. Needs read.
func (db *DB) WandbRecord(ctx context.Context, actor Actor, project, name string) (WandbRecord, error) {
	return view(ctx, db, actor, func(v *View) (WandbRecord, error) {
		id, err := v.WandbIteration(project, name)
		if err != nil {
			return WandbRecord{}, err
		}
		return v.wandbRecord(id)
	})
}

// WandbRecordOf is WandbRecord for the id of an iteration.
func (db *DB) WandbRecordOf(ctx context.Context, actor Actor, id string) (WandbRecord, error) {
	return view(ctx, db, actor, func(v *View) (WandbRecord, error) { return v.wandbRecord(id) })
}

func (v *View) wandbRecord(id string) (WandbRecord, error) {
	it, err := v.tx.allowIteration(v.actor, id, rightRead)
	if err != nil {
		return WandbRecord{}, err
	}
	if _, err := v.tx.takeRecords([]int64{it.num}, 0); err != nil {
		return WandbRecord{}, err
	}
	all, err := v.tx.wandbRecords([]int64{it.num})
	if err != nil {
		return WandbRecord{}, err
	}
	return all[0], nil
}

// WandbRunNums returns the numbers of the runs of a project by the time of their creation.
// INVALID_PAYLOAD when there are more than MaxWandbRuns. Needs read.
func (db *DB) WandbRunNums(ctx context.Context, actor Actor, projectID string) ([]int64, error) {
	return read(ctx, db, func(tx *tx) ([]int64, error) {
		if err := tx.allowProject(actor, projectID, rightRead); err != nil {
			return nil, err
		}
		return tx.wandbRunNums(projectID, nil)
	})
}

// wandbRunNums returns the numbers of the runs of a project that exist, by the time of their
// creation: of those in some, or of all when it is nil.
func (tx *tx) wandbRunNums(projectID string, some []int64) (nums []int64, err error) {
	const from = `SELECT iteration.num FROM iteration
		JOIN experiment ON experiment.id = iteration.experiment_id
		WHERE experiment.project_id = ? AND iteration.deleted_date IS NULL AND experiment.deleted_date IS NULL`
	if some != nil {
		list, err := json.Marshal(some)
		if err != nil {
			return nil, err
		}
		err = tx.Select(&nums, from+` AND iteration.num IN (SELECT value FROM json_each(?))`, projectID, string(list))
		return nums, err
	}
	err = tx.Select(&nums, from+` ORDER BY iteration.created_date, iteration.num LIMIT ?`, projectID, MaxWandbRuns+1)
	if err == nil && len(nums) > MaxWandbRuns {
		err = Invalid("project", "The project has more than %d runs; read them through another API.", MaxWandbRuns)
	}
	return nums, err
}

// EachWandbRecord calls each with the runs of a project that have these numbers, in their
// order, without those that were deleted meanwhile. It holds few of them at a time, and
// ends with the first error. Needs read.
func (db *DB) EachWandbRecord(ctx context.Context, actor Actor, projectID string, nums []int64, each func(*WandbRecord) error) error {
	return db.ask(ctx, func(tx *tx) error {
		if err := tx.allowProject(actor, projectID, rightRead); err != nil {
			return err
		}
		there, err := tx.wandbRunNums(projectID, append([]int64{}, nums...))
		if err != nil {
			return err
		}
		exists := make(map[int64]bool, len(there))
		for _, num := range there {
			exists[num] = true
		}
		nums = slices.DeleteFunc(slices.Clone(nums), func(num int64) bool { return !exists[num] })
		var held int64
		for some := range slices.Chunk(nums, recordsAtOnce) {
			sizes, err := tx.recordSizes(some)
			if err != nil {
				return err
			}
			for len(some) > 0 {
				n, size := fitting(some, sizes, wandbChunk)
				if size > held {
					if err := Take(tx.Context(), size-held); err != nil {
						return err
					}
					held = size
				}
				all, err := tx.wandbRecords(some[:n])
				if err != nil {
					return err
				}
				for i := range all {
					if err := each(&all[i]); err != nil {
						return err
					}
				}
				some = some[n:]
			}
		}
		return nil
	})
}

// wandbChunk is how many bytes of runs are read together.
const wandbChunk = 4 << 20

// wandbRecords returns the records of the iterations with these numbers, in their
// order.
func (tx *tx) wandbRecords(nums []int64) ([]WandbRecord, error) {
	records := make([]WandbRecord, 0, len(nums))
	all, err := tx.recordsOf(nums)
	if err != nil {
		return nil, err
	}
	for i := range all {
		r := WandbRecord{Iteration: all[i].Iteration, Metrics: all[i].Latest, Snapshot: all[i].Snapshot}
		r.WandbRun, err = tx.wandbRun(iterationRef{num: r.Num, id: r.ID})
		if err != nil {
			return nil, err
		}
		if r.Config == "{}" {
			r.Config = nativeConfig(all[i].Parameters)
		}
		if r.Summary == "{}" {
			r.Summary = nativeSummary(r.Metrics)
		}
		records = append(records, r)
	}
	return records, nil
}

// nativeConfig returns parameters as a configuration of W&B. Numbers and words of JSON
// are what they are, all else is text.
func nativeConfig(params []Property) string {
	var members []wandb.Member
	for _, p := range params {
		value := wandb.Quote(p.Value)
		if _, ok := wandb.Number(p.Value); ok || p.Value == "null" {
			value = p.Value
		}
		members = append(members, wandb.Member{Key: p.Key, Value: wandb.Object([]wandb.Member{{Key: "value", Value: value}})})
	}
	return wandb.Object(members)
}

// nativeSummary returns the last values of metrics as a summary of W&B.
func nativeSummary(all []LatestMetric) string {
	var members []wandb.Member
	for _, m := range all {
		if !strings.HasPrefix(m.Key, systemPrefix) && !strings.HasPrefix(m.Key, summaryPrefix) {
			members = append(members, wandb.Member{Key: m.Key, Value: WandbNumber(m.Value)})
		}
	}
	for _, m := range all {
		if key, ok := strings.CutPrefix(m.Key, summaryPrefix); ok {
			members = append(members, wandb.Member{Key: key, Value: WandbNumber(m.Value)})
		}
	}
	return wandb.Object(members)
}

// WandbNumber returns a number as Python writes it in JSON.
func WandbNumber(v Value) string {
	x := float64(v)
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "Infinity"
	case math.IsInf(x, -1):
		return "-Infinity"
	case x == math.Trunc(x) && math.Abs(x) < 1<<53:
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

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

// WandbDeleted reports whether the run with a name in a project, both as W&B's clients
// name them, is in the trash. It needs no right.
func (v *View) WandbDeleted(project, name string) (bool, error) {
	projectID, err := v.tx.wandbProjectNamed(v.actor, project)
	if err != nil {
		return false, err
	}
	return v.tx.has(`SELECT 1 FROM iteration JOIN experiment ON experiment.id = iteration.experiment_id
		WHERE iteration.id = ? AND (iteration.deleted_date IS NOT NULL OR experiment.deleted_date IS NOT NULL)`, wandbID(projectID, name))
}
