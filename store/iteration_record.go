package store

import (
	"context"
	"slices"

	"tracker/store/filter"
	"tracker/store/json"
	"tracker/store/points"
	"tracker/store/search"
)

// IterationRecord is an iteration with all its records. Of its points it has the last one
// of each metric only. Its parent may be in the trash.
type IterationRecord struct {
	Iteration
	Latest     []LatestMetric // by key
	Parameters []Property     // by key
	Properties []Property     // by key
	Datasets   []DatasetUse
	Models     []LoggedModelUse
	Snapshot   *Snapshot // nil when none was recorded
}

// LatestMetric is the last point of a metric.
type LatestMetric = points.Latest

// RecordQuery selects and sorts iterations of several experiments.
type RecordQuery struct {
	Page                         // up to MaxRecords
	Experiments []string         // ids; those that do not exist are ignored
	Filter      filter.Expr      // nil for all
	Sort        []filter.SortKey // then by age
	Trash       TrashFilter      // the iterations of an experiment in the trash are there as well
}

const (
	// MaxRecords is the size of the largest page of records.
	MaxRecords = 50_000
	// MaxRecordBytes is about the largest size of a page of records in memory: a page
	// ends after the records that go beyond it, and its limit is then the number of its
	// records.
	MaxRecordBytes = 32 << 20
	// recordsAtOnce is the number of iterations whose records are read together.
	recordsAtOnce = 500
)

// MaxSearched is the largest number of experiments that one query selects.
const MaxSearched = 10_000

// IterationRecord returns one iteration with its records. Needs read.
func (v *View) IterationRecord(id string) (IterationRecord, error) {
	it, err := v.tx.allowIteration(v.actor, id, rightRead)
	if err != nil {
		return IterationRecord{}, err
	}
	if _, err := v.tx.takeRecords([]int64{it.num}, 0); err != nil {
		return IterationRecord{}, err
	}
	all, err := v.tx.recordsOf([]int64{it.num})
	if err != nil {
		return IterationRecord{}, err
	}
	all[0].Deleted = it.deleted
	return all[0], nil
}

// IterationRecord is View.IterationRecord.
func (db *DB) IterationRecord(ctx context.Context, actor Actor, id string) (IterationRecord, error) {
	return view(ctx, db, actor, func(v *View) (IterationRecord, error) { return v.IterationRecord(id) })
}

// IterationRecords lists iterations with their records. The total counts no
// iterations beyond the one after the page. Needs read on all of the experiments that
// exist.
func (v *View) IterationRecords(q RecordQuery) (List[IterationRecord], error) {
	p := Page{Limit: max(0, min(q.Limit, MaxRecords)), Offset: max(0, q.Offset)}
	l := List[IterationRecord]{Data: []IterationRecord{}, Limit: p.Limit, Offset: p.Offset}
	if len(q.Experiments) > MaxSearched {
		return l, Invalid("experiment_ids", "Search up to %d experiments at once.", MaxSearched)
	}
	experiments, inTrash, err := v.tx.allowExperiments(v.actor, q.Experiments, q.Trash != NotTrash)
	if err != nil || len(experiments) == 0 {
		return l, err
	}
	keys, err := filter.Keys(q.Filter, q.Sort)
	if err != nil {
		return l, refused(err)
	}
	s := search.Query{Filter: q.Filter, Sort: q.Sort, Metrics: metricsOf(keys), Uncounted: true, Where: q.Trash.condition("iteration")}
	if q.Trash == OnlyTrash {
		s.Where = `(` + s.Where + ` OR iteration.experiment_id IN (SELECT id FROM experiment WHERE deleted_date IS NOT NULL))`
	}
	h, err := v.tx.findIn(experiments, s, p)
	if err != nil {
		return l, err
	}
	l.Total = h.Total
	size := 0
	for nums := range slices.Chunk(h.Nums, recordsAtOnce) {
		some, err := v.tx.takeRecords(nums, MaxRecordBytes)
		if err != nil {
			return l, err
		}
		records, err := v.tx.recordsOf(some)
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

// IterationRecords is View.IterationRecords.
func (db *DB) IterationRecords(ctx context.Context, actor Actor, q RecordQuery) (List[IterationRecord], error) {
	return view(ctx, db, actor, func(v *View) (List[IterationRecord], error) { return v.IterationRecords(q) })
}

// memory returns about how many bytes r takes.
func (r *IterationRecord) memory() int {
	n := 1000 + len(r.Notes) + 100*len(r.Latest) + 100*len(r.Models)
	for _, all := range [][]Property{r.Parameters, r.Properties} {
		for _, p := range all {
			n += 50 + len(p.Key) + len(p.Value)
		}
	}
	for _, d := range r.Datasets {
		n += 300 + len(d.Source) + len(d.Schema) + len(d.Profile)
	}
	return n
}

// allowExperiments returns those of ids that exist, once each, and which of them are in
// the trash. Those in the trash are left out unless trash is set. It fails unless actor
// may read them all.
func (tx *tx) allowExperiments(actor Actor, ids []string, trash bool) (existing []string, inTrash map[string]bool, err error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, nil, err
	}
	var found []struct {
		ID        string `db:"id"`
		ProjectID string `db:"project_id"`
		Deleted   bool   `db:"deleted"`
	}
	err = tx.Select(&found, `SELECT experiment.id, experiment.project_id, experiment.deleted_date IS NOT NULL AS deleted
		FROM experiment
		JOIN project ON project.id = experiment.project_id AND project.deleted_date IS NULL
		WHERE experiment.id IN (SELECT value FROM json_each(?)) ORDER BY experiment.id`, string(list))
	inTrash = map[string]bool{}
	for _, e := range found {
		if e.Deleted && !trash {
			continue
		}
		if err := tx.allow(actor, e.ProjectID, rightRead); err != nil {
			return nil, nil, err
		}
		existing, inTrash[e.ID] = append(existing, e.ID), e.Deleted
	}
	return existing, inTrash, err
}

// recordsOf returns the records of the iterations with these numbers, in the order of
// nums. The number of queries does not depend on that of the iterations.
func (tx *tx) recordsOf(nums []int64) ([]IterationRecord, error) {
	list, err := json.Marshal(nums)
	if err != nil {
		return nil, err
	}
	rows, err := tx.selectIterations(recordColumns, nums, nil)
	if err != nil {
		return nil, err
	}
	all := make([]IterationRecord, len(rows))
	byNum := make(map[int64]*IterationRecord, len(rows))
	for i := range rows {
		all[i].Iteration = rows[i]
		byNum[rows[i].Num] = &all[i]
	}
	latest, err := tx.points().Latest(nums)
	if err != nil {
		return nil, err
	}
	for _, l := range latest {
		r := byNum[l.Iteration]
		r.Latest = append(r.Latest, l)
	}
	err = tx.eachText(`SELECT iteration_num, key, value FROM parameter
		WHERE iteration_num IN (SELECT value FROM json_each(?)) ORDER BY iteration_num, key`,
		func(num int64, key, value string) {
			byNum[num].Parameters = append(byNum[num].Parameters, Property{key, value})
		}, string(list))
	if err != nil {
		return nil, err
	}
	err = propertiesOf(tx, "iteration_num", nums, func(num int64, p Property) {
		byNum[num].Properties = append(byNum[num].Properties, p)
	})
	if err != nil {
		return nil, err
	}
	err = tx.datasetsOf(string(list), func(num int64, d DatasetUse) {
		byNum[num].Datasets = append(byNum[num].Datasets, d)
	})
	if err != nil {
		return nil, err
	}
	err = tx.modelUsesOf(string(list), func(num int64, u LoggedModelUse) {
		byNum[num].Models = append(byNum[num].Models, u)
	})
	if err != nil {
		return nil, err
	}
	var snapshots []Snapshot
	err = tx.Select(&snapshots, `SELECT `+snapshotColumns+`
		WHERE snapshot.iteration_num IN (SELECT value FROM json_each(?))`, string(list))
	byID := make(map[string]*Snapshot, len(snapshots))
	for i := range snapshots {
		byID[snapshots[i].IterationID] = &snapshots[i]
	}
	for i := range all {
		all[i].Snapshot = byID[all[i].ID]
	}
	return all, err
}
