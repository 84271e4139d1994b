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
	sizes, err := v.tx.wandbSizes([]int64{it.num})
	if err == nil {
		err = Take(v.tx.Context(), sizes[it.num])
	}
	if err != nil {
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
			sizes, err := tx.wandbSizes(some)
			if err != nil {
				return err
			}
			for len(some) > 0 {
				n, size := 1, sizes[some[0]]
				for ; n < len(some) && size+sizes[some[n]] <= wandbChunk; n++ {
					size += sizes[some[n]]
				}
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

// wandbSizes returns what runs hold in memory, by number, before they are read.
func (tx *tx) wandbSizes(nums []int64) (map[int64]int64, error) {
	list, err := json.Marshal(nums)
	if err != nil {
		return nil, err
	}
	var found []struct {
		Num  int64 `db:"num"`
		Size int64 `db:"size"`
	}
	err = tx.Select(&found, `SELECT
			iteration.num,
			octet_length(iteration.notes) + ? +
			coalesce((SELECT octet_length(config) + octet_length(summary) + 2 * octet_length(about) FROM wandb_run WHERE iteration_num = iteration.num), 0) +
			coalesce((SELECT sum(2 * octet_length(key) + ?) FROM series WHERE iteration_num = iteration.num), 0) +
			coalesce((SELECT sum(2 * (octet_length(key) + octet_length(value)) + ?) FROM parameter WHERE iteration_num = iteration.num), 0) +
			coalesce((SELECT sum(octet_length(key) + octet_length(value) + ?) FROM property WHERE iteration_num = iteration.num), 0) AS size
		FROM iteration
		WHERE iteration.num IN (SELECT value FROM json_each(?))`, iterationBytes, summaryBytes, textBytes, textBytes, string(list))
	sizes := make(map[int64]int64, len(found))
	for _, f := range found {
		sizes[f.Num] = f.Size
	}
	return sizes, err
}

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
	Limit    int  // the largest number of rows
}

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
	var all []WandbStep
	var current *nested
	flush := func() {
		if current != nil {
			all = append(all, current.row(w, rest[current.step]))
			current = nil
		}
	}
	next := 0 // of restSteps
	before := func(step Step) {
		for ; next < len(restSteps) && restSteps[next] < step; next++ {
			all = append(all, (&nested{step: restSteps[next]}).row(w, rest[restSteps[next]]))
		}
		if next < len(restSteps) && restSteps[next] == step {
			next++
		}
	}
	for rows.Next() {
		var key string
		var step Step
		var value sql.NullFloat64
		var at Time
		if err := rows.Scan(&key, &step, &value, &at); err != nil {
			return nil, err
		}
		if current == nil || current.step != step {
			flush()
			if len(all) >= limit {
				break
			}
			before(step)
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
	flush()
	before(math.MaxInt64)
	if len(all) > limit {
		all = all[:limit]
	}
	return all, nil
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

// row returns the row, where the values of rest are in the place of those of the same
// names.
func (n *nested) row(w WandbRun, rest []wandb.Member) WandbStep {
	row := WandbStep{Step: n.step, At: n.at}
	for _, key := range n.keys {
		if !slices.ContainsFunc(rest, func(m wandb.Member) bool { return m.Key == key }) {
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
