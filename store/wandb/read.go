package wandb

import (
	"context"
	"slices"

	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/sqlite"
)

// Record is a run with all data that W&B's clients read.
type Record struct {
	runs.Iteration
	Run
	Metrics  []points.Latest // sorted by key, including system metrics and summary values
	Snapshot *runs.Snapshot  // nil if no snapshot was recorded
}

// MaxRuns is the maximum number of runs of a project that are searched at once.
const MaxRuns = 20_000

// Record returns a run. project and name are the names that W&B's clients send. It returns
// NOT_FOUND if the run does not exist. The actor needs the right to read.
func (db *DB) Record(ctx context.Context, actor domain.Actor, project, name string) (Record, error) {
	return view(ctx, db, actor, func(v *View) (Record, error) {
		id, err := v.Iteration(project, name)
		if err != nil {
			return Record{}, err
		}
		return v.wandbRecord(id)
	})
}

// RecordOf returns the run with the given iteration id. The actor needs the right to read.
func (db *DB) RecordOf(ctx context.Context, actor domain.Actor, id string) (Record, error) {
	return view(ctx, db, actor, func(v *View) (Record, error) { return v.wandbRecord(id) })
}

func (v *View) wandbRecord(id string) (Record, error) {
	it, err := v.tx.AllowIteration(v.tx.Actor, id, domain.RightRead)
	if err != nil {
		return Record{}, err
	}
	if _, err := runs.TakeRecords(v.tx, []int64{it.Num}, 0); err != nil {
		return Record{}, err
	}
	all, err := wandbRecords(v.tx, []int64{it.Num})
	if err != nil {
		return Record{}, err
	}
	return all[0], nil
}

// RunNums returns the row numbers of a project's runs, sorted by creation time. It returns
// INVALID_PAYLOAD if the project has more than MaxRuns runs. The actor needs the right to read.
func (db *DB) RunNums(ctx context.Context, actor domain.Actor, projectID string) ([]int64, error) {
	return domain.Read(ctx, db.base, func(tx *domain.Tx) ([]int64, error) {
		if err := tx.AllowProject(actor, projectID, domain.RightRead); err != nil {
			return nil, err
		}
		return wandbRunNums(tx, projectID, nil)
	})
}

// wandbRunNums returns the row numbers of a project's runs, sorted by creation time. If some is not
// nil, it returns only numbers that are also in some.
func wandbRunNums(tx *domain.Tx, projectID string, some []int64) (nums []int64, err error) {
	const from = `SELECT iteration.num FROM iteration
		JOIN experiment ON experiment.id = iteration.experiment_id
		WHERE experiment.project_id = ? AND iteration.deleted_date IS NULL AND experiment.deleted_date IS NULL`
	if some != nil {
		err = tx.Select(&nums, from+` AND iteration.num IN (SELECT value FROM json_each(?))`, projectID, sqlite.JSON(some))
		return nums, err
	}
	err = tx.Select(&nums, from+` ORDER BY iteration.created_date, iteration.num LIMIT ?`, projectID, MaxRuns+1)
	if err == nil && len(nums) > MaxRuns {
		err = domain.Invalid("project", "The project has more than %d runs; read them through another API.", MaxRuns)
	}
	return nums, err
}

// EachRecord calls each for the runs of a project with the given row numbers, in the order of nums.
// It reads a few runs at a time, skips deleted runs and stops at the first error. The actor needs
// the right to read.
func (db *DB) EachRecord(ctx context.Context, actor domain.Actor, projectID string, nums []int64, each func(*Record) error) error {
	return db.base.Ask(ctx, func(tx *domain.Tx) error {
		if err := tx.AllowProject(actor, projectID, domain.RightRead); err != nil {
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
					if err := domain.Take(tx.Context(), size-held); err != nil {
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

// wandbChunk is the size in bytes of the runs that EachRecord reads together.
const wandbChunk = 4 << 20

// wandbRecords returns the runs with the given row numbers, in the order of nums.
func wandbRecords(tx *domain.Tx, nums []int64) ([]Record, error) {
	records := make([]Record, 0, len(nums))
	all, err := runs.RecordsOf(tx, nums)
	if err != nil {
		return nil, err
	}
	for i := range all {
		r := Record{Iteration: all[i].Iteration, Metrics: all[i].Latest, Snapshot: all[i].Snapshot}
		r.Run, err = wandbRun(tx, domain.IterationRef{Num: r.Num, ID: r.ID})
		if err != nil {
			return nil, err
		}
		if r.Config == "{}" {
			r.Config = ConfigOf(func(yield func(key, value string) bool) {
				for _, p := range all[i].Parameters {
					if !yield(p.Key, p.Value) {
						return
					}
				}
			})
		}
		if r.Summary == "{}" {
			texts, err := runs.TextsOf(tx, r.Num)
			if err != nil {
				return nil, err
			}
			if r.Summary, err = SummaryOf(r.Metrics, texts); err != nil {
				return nil, err
			}
		}
		records = append(records, r)
	}
	return records, nil
}

// History returns the history rows of an iteration, sorted by step. The actor needs the right
// to read.
func (db *DB) History(ctx context.Context, actor domain.Actor, id string, q HistoryQuery) ([]Row, error) {
	return domain.Read(ctx, db.base, func(tx *domain.Tx) ([]Row, error) {
		it, err := tx.AllowIteration(actor, id, domain.RightRead)
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

// Deleted reports whether a run is in the trash. project and name are the names that W&B's
// clients send. The actor needs no right.
func (v *View) Deleted(project, name string) (bool, error) {
	projectID, err := wandbProjectNamed(v.tx, v.tx.Actor, project)
	if err != nil {
		return false, err
	}
	return v.tx.Has(`SELECT 1 FROM iteration JOIN experiment ON experiment.id = iteration.experiment_id
		WHERE iteration.id = ? AND (iteration.deleted_date IS NOT NULL OR experiment.deleted_date IS NOT NULL)`, wandbID(projectID, name))
}
