package wandbruns

import (
	"context"
	"slices"

	"tracker/store/access"
	"tracker/store/json"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/wandb"
)

// WandbRecord is a run as W&B's clients read it.
type WandbRecord struct {
	runs.Iteration
	wandb.Run
	Metrics  []points.Latest // by key, those of the system and of the summary included
	Snapshot *runs.Snapshot  // nil when none was recorded
}

// MaxWandbRuns bounds the runs of a project that are searched at once.
const MaxWandbRuns = 20_000

// WandbRecord returns the run with a name in a project, both as W&B's clients name
// them; NOT_FOUND when there is none. Needs read.
func (db *DB) WandbRecord(ctx context.Context, actor access.Actor, project, name string) (WandbRecord, error) {
	return view(ctx, db, actor, func(v *View) (WandbRecord, error) {
		id, err := v.WandbIteration(project, name)
		if err != nil {
			return WandbRecord{}, err
		}
		return v.wandbRecord(id)
	})
}

// WandbRecordOf is WandbRecord for the id of an iteration.
func (db *DB) WandbRecordOf(ctx context.Context, actor access.Actor, id string) (WandbRecord, error) {
	return view(ctx, db, actor, func(v *View) (WandbRecord, error) { return v.wandbRecord(id) })
}

func (v *View) wandbRecord(id string) (WandbRecord, error) {
	it, err := v.tx.AllowIteration(v.tx.Actor, id, access.RightRead)
	if err != nil {
		return WandbRecord{}, err
	}
	if _, err := runs.TakeRecords(v.tx, []int64{it.Num}, 0); err != nil {
		return WandbRecord{}, err
	}
	all, err := wandbRecords(v.tx, []int64{it.Num})
	if err != nil {
		return WandbRecord{}, err
	}
	return all[0], nil
}

// WandbRunNums returns the numbers of the runs of a project by the time of their creation.
// INVALID_PAYLOAD when there are more than MaxWandbRuns. Needs read.
func (db *DB) WandbRunNums(ctx context.Context, actor access.Actor, projectID string) ([]int64, error) {
	return access.Read(ctx, db.base, func(tx *access.Tx) ([]int64, error) {
		if err := tx.AllowProject(actor, projectID, access.RightRead); err != nil {
			return nil, err
		}
		return wandbRunNums(tx, projectID, nil)
	})
}

// wandbRunNums returns the numbers of the runs of a project that exist, by the time of their
// creation: of those in some, or of all when it is nil.
func wandbRunNums(tx *access.Tx, projectID string, some []int64) (nums []int64, err error) {
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
		err = access.Invalid("project", "The project has more than %d runs; read them through another API.", MaxWandbRuns)
	}
	return nums, err
}

// EachWandbRecord calls each with the runs of a project that have these numbers, in their
// order, without those that were deleted meanwhile. It holds few of them at a time, and
// ends with the first error. Needs read.
func (db *DB) EachWandbRecord(ctx context.Context, actor access.Actor, projectID string, nums []int64, each func(*WandbRecord) error) error {
	return db.base.Ask(ctx, func(tx *access.Tx) error {
		if err := tx.AllowProject(actor, projectID, access.RightRead); err != nil {
			return err
		}
		there, err := wandbRunNums(tx, projectID, append([]int64{}, nums...))
		if err != nil {
			return err
		}
		exists := make(map[int64]bool, len(there))
		for _, num := range there {
			exists[num] = true
		}
		nums = slices.DeleteFunc(slices.Clone(nums), func(num int64) bool { return !exists[num] })
		var held int64
		for some := range slices.Chunk(nums, runs.RecordsAtOnce) {
			sizes, err := runs.RecordSizes(tx, some)
			if err != nil {
				return err
			}
			for len(some) > 0 {
				n, size := runs.Fitting(some, sizes, wandbChunk)
				if size > held {
					if err := access.Take(tx.Context(), size-held); err != nil {
						return err
					}
					held = size
				}
				all, err := wandbRecords(tx, some[:n])
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
func wandbRecords(tx *access.Tx, nums []int64) ([]WandbRecord, error) {
	records := make([]WandbRecord, 0, len(nums))
	all, err := runs.RecordsOf(tx, nums)
	if err != nil {
		return nil, err
	}
	for i := range all {
		r := WandbRecord{Iteration: all[i].Iteration, Metrics: all[i].Latest, Snapshot: all[i].Snapshot}
		r.Run, err = wandbRun(tx, access.IterationRef{Num: r.Num, ID: r.ID})
		if err != nil {
			return nil, err
		}
		if r.Config == "{}" {
			r.Config = wandb.ConfigOf(func(yield func(key, value string) bool) {
				for _, p := range all[i].Parameters {
					if !yield(p.Key, p.Value) {
						return
					}
				}
			})
		}
		if r.Summary == "{}" {
			r.Summary = wandb.SummaryOf(r.Metrics)
		}
		records = append(records, r)
	}
	return records, nil
}

// WandbHistory returns the rows of a history, by step. Needs read.
func (db *DB) WandbHistory(ctx context.Context, actor access.Actor, id string, q wandb.HistoryQuery) ([]wandb.Row, error) {
	return access.Read(ctx, db.base, func(tx *access.Tx) ([]wandb.Row, error) {
		it, err := tx.AllowIteration(actor, id, access.RightRead)
		if err != nil {
			return nil, err
		}
		r, err := wandbRun(tx, it.IterationRef)
		if err != nil {
			return nil, err
		}
		return wandbTx(tx).History(it.Num, it.ID, r, q)
	})
}

// WandbDeleted reports whether the run with a name in a project, both as W&B's clients
// name them, is in the trash. It needs no right.
func (v *View) WandbDeleted(project, name string) (bool, error) {
	projectID, err := wandbProjectNamed(v.tx, v.tx.Actor, project)
	if err != nil {
		return false, err
	}
	return v.tx.Has(`SELECT 1 FROM iteration JOIN experiment ON experiment.id = iteration.experiment_id
		WHERE iteration.id = ? AND (iteration.deleted_date IS NOT NULL OR experiment.deleted_date IS NOT NULL)`, wandbID(projectID, name))
}
