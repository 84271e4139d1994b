package runs

import (
	"context"
	"slices"

	"tracker/store/domain"
	"tracker/store/filter"
	"tracker/store/points"
	"tracker/store/registry"
	"tracker/store/search"
	"tracker/store/sqlite"
)

// IterationRecord is an iteration with all its records. It contains only the last point of each
// metric. The parent of the iteration can be in the trash.
type IterationRecord struct {
	Iteration
	Latest     []points.Latest   // sorted by key
	Parameters []domain.Property // sorted by key
	Properties []domain.Property // sorted by key
	Datasets   []DatasetUse
	Models     []registry.LoggedModelUse
	Snapshot   *Snapshot // nil if no snapshot was recorded
}

// RecordQuery selects and sorts iterations in several experiments.
type RecordQuery struct {
	domain.Page                    // Limit is at most MaxRecords
	Experiments []string           // ids of experiments; ids that do not exist are ignored
	Filter      filter.Expr        // nil selects all iterations
	Sort        []filter.SortKey   // sort keys; iterations with equal keys are sorted by age
	Trash       domain.TrashFilter // an iteration of an experiment in the trash counts as in the trash
}

const (
	// MaxRecords is the maximum number of records in a page.
	MaxRecords = 50_000
	// MaxRecordBytes is the approximate maximum size in bytes of a page of records in memory. A
	// page ends with the first records that exceed MaxRecordBytes. The limit of a shortened page
	// is the number of records on it.
	MaxRecordBytes = 32 << 20
	// RecordsAtOnce is the maximum number of iterations whose records are read together.
	RecordsAtOnce = 500
)

// IterationRecord returns an iteration with all its records. The actor needs the right to read.
func (v *View) IterationRecord(id string) (IterationRecord, error) {
	it, err := v.tx.AllowIteration(v.tx.Actor, id, domain.RightRead)
	if err != nil {
		return IterationRecord{}, err
	}
	if _, err := TakeRecords(v.tx, []int64{it.Num}, 0); err != nil {
		return IterationRecord{}, err
	}
	all, err := RecordsOf(v.tx, []int64{it.Num})
	if err != nil {
		return IterationRecord{}, err
	}
	all[0].Deleted = it.Deleted
	return all[0], nil
}

// IterationRecord calls View.IterationRecord in a new read transaction.
func (db *DB) IterationRecord(ctx context.Context, actor domain.Actor, id string) (IterationRecord, error) {
	return view(ctx, db, actor, func(v *View) (IterationRecord, error) { return v.IterationRecord(id) })
}

// IterationRecords returns a page of iterations with their records. The total counts at most one
// iteration after the page. The actor needs the right to read every existing experiment.
func (v *View) IterationRecords(q RecordQuery) (domain.List[IterationRecord], error) {
	p := domain.Page{Limit: max(0, min(q.Limit, MaxRecords)), Offset: max(0, q.Offset)}
	l := domain.List[IterationRecord]{Data: []IterationRecord{}, Limit: p.Limit, Offset: p.Offset}
	if len(q.Experiments) > domain.MaxSearched {
		return l, domain.Invalid("experiment_ids", "At most %d experiments can be searched at once.", domain.MaxSearched)
	}
	experiments, inTrash, err := v.tx.AllowExperiments(v.tx.Actor, q.Experiments, domain.RightRead, q.Trash != domain.NotTrash)
	if err != nil || len(experiments) == 0 {
		return l, err
	}
	keys, err := filter.Keys(q.Filter, q.Sort)
	if err != nil {
		return l, domain.Refused(err)
	}
	s := search.Query{Filter: q.Filter, Sort: q.Sort, Metrics: MetricsOf(keys), Uncounted: true, Where: q.Trash.Condition("iteration")}
	if q.Trash == domain.OnlyTrash {
		// Moving an experiment to the trash does not invalidate cached search results. The query
		// therefore contains the ids of the experiments in the trash.
		s.Where = `(` + s.Where + ` OR iteration.experiment_id IN (SELECT value FROM json_each(?)))`
		s.Bound = []any{sqlite.JSON(slices.DeleteFunc(slices.Clone(experiments), func(id string) bool { return !inTrash[id] }))}
	}
	h, err := findIn(v.tx, experiments, s, p)
	if err != nil {
		return l, err
	}
	l.Total = h.Total
	size := 0
	for nums := range slices.Chunk(h.Nums, RecordsAtOnce) {
		some, err := TakeRecords(v.tx, nums, MaxRecordBytes)
		if err != nil {
			return l, err
		}
		records, err := RecordsOf(v.tx, some)
		if err != nil {
			return l, err
		}
		for i := range records {
			size += records[i].memory()
			records[i].Deleted = records[i].Deleted || inTrash[records[i].ExperimentID]
		}
		l.Data = append(l.Data, records...)
		if (len(some) < len(nums) || size > MaxRecordBytes) && len(l.Data) < len(h.Nums) {
			l.Limit = len(l.Data)
			break
		}
	}
	return l, nil
}

// IterationRecords calls View.IterationRecords in a new read transaction.
func (db *DB) IterationRecords(ctx context.Context, actor domain.Actor, q RecordQuery) (domain.List[IterationRecord], error) {
	return view(ctx, db, actor, func(v *View) (domain.List[IterationRecord], error) { return v.IterationRecords(q) })
}

// memory returns the approximate size of r in bytes.
func (r *IterationRecord) memory() int {
	n := 1000 + len(r.Notes) + 100*len(r.Latest) + 100*len(r.Models)
	for _, all := range [][]domain.Property{r.Parameters, r.Properties} {
		for _, p := range all {
			n += 50 + len(p.Key) + len(p.Value)
		}
	}
	for _, d := range r.Datasets {
		n += 300 + len(d.Source) + len(d.Schema) + len(d.Profile)
	}
	return n
}

// RecordsOf returns the iterations with the given row numbers and their records, in the order
// of nums. It runs the same number of queries for any length of nums.
func RecordsOf(tx *domain.Tx, nums []int64) ([]IterationRecord, error) {
	list := sqlite.JSON(nums)
	rows, err := selectIterations(tx, recordColumns, nums, nil)
	if err != nil {
		return nil, err
	}
	all := make([]IterationRecord, len(rows))
	byNum := make(map[int64]*IterationRecord, len(rows))
	for i := range rows {
		all[i].Iteration = rows[i]
		byNum[rows[i].Num] = &all[i]
	}
	latest, err := tx.Points().Latest(nums)
	if err != nil {
		return nil, err
	}
	for len(latest) > 0 { // latest is sorted by iteration
		num, n := latest[0].Iteration, 1
		for n < len(latest) && latest[n].Iteration == num {
			n++
		}
		byNum[num].Latest, latest = latest[:n:n], latest[n:]
	}
	err = EachText(tx, `SELECT iteration_num, key, value FROM parameter
		WHERE iteration_num IN (SELECT value FROM json_each(?)) ORDER BY iteration_num, key`,
		func(num int64, key, value string) {
			byNum[num].Parameters = append(byNum[num].Parameters, domain.Property{Key: key, Value: value})
		}, list)
	if err != nil {
		return nil, err
	}
	err = domain.PropertiesOf(tx, "iteration_num", nums, func(num int64, p domain.Property) {
		byNum[num].Properties = append(byNum[num].Properties, p)
	})
	if err != nil {
		return nil, err
	}
	err = datasetsOf(tx, nums, func(num int64, d DatasetUse) {
		byNum[num].Datasets = append(byNum[num].Datasets, d)
	})
	if err != nil {
		return nil, err
	}
	err = registry.ModelUsesOf(tx, nums, func(num int64, u registry.LoggedModelUse) {
		byNum[num].Models = append(byNum[num].Models, u)
	})
	if err != nil {
		return nil, err
	}
	var snapshots []Snapshot
	err = tx.Select(&snapshots, `SELECT `+snapshotColumns+`
		WHERE snapshot.iteration_num IN (SELECT value FROM json_each(?))`, list)
	byID := make(map[string]*Snapshot, len(snapshots))
	for i := range snapshots {
		byID[snapshots[i].IterationID] = &snapshots[i]
	}
	for i := range all {
		all[i].Snapshot = byID[all[i].ID]
	}
	return all, err
}
