package projects

import (
	"cmp"
	"context"
	"slices"

	"tracker/store/domain"
	"tracker/store/filter"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/search"
	"tracker/store/sqlite"
)

// ExperimentRecord holds an experiment and its properties.
type ExperimentRecord struct {
	Experiment
	Properties []domain.Property // sorted by key
}

// Updated returns the time of the last change. If there was no change, it returns the creation
// time.
func (e Experiment) Updated() scalar.Time { return max(e.CreatedDate, e.UpdatedDate) }

// ExperimentRecordQuery selects and sorts experiments of a project.
type ExperimentRecordQuery struct {
	domain.Page
	Filter filter.Expr      // nil for all experiments; fields: property, name, id, created, updated
	Sort   []filter.SortKey // fields as in Filter; equal experiments are sorted by id
	Trash  domain.TrashFilter
}

// ExperimentRecord returns an experiment with its properties. It requires the right to read.
func (v *View) ExperimentRecord(id string) (ExperimentRecord, error) {
	if _, err := v.tx.AllowExperiment(v.tx.Actor, id, domain.RightFind); err != nil {
		return ExperimentRecord{}, err
	}
	all, err := experimentRecords(v.tx, []string{id})
	if err != nil {
		return ExperimentRecord{}, err
	}
	return all[0], nil
}

// ExperimentRecord calls View.ExperimentRecord on a new snapshot.
func (db *DB) ExperimentRecord(ctx context.Context, actor domain.Actor, id string) (ExperimentRecord, error) {
	return view(ctx, db, actor, func(v *View) (ExperimentRecord, error) { return v.ExperimentRecord(id) })
}

// ExperimentNamed returns the experiment of a project with the given name. If several
// experiments have the name, ExperimentNamed returns the oldest one. It prefers experiments
// outside the trash. It requires the right to read.
func (v *View) ExperimentNamed(projectID, name string) (e ExperimentRecord, err error) {
	if err := v.tx.AllowProject(v.tx.Actor, projectID, domain.RightFind); err != nil {
		return e, err
	}
	var id string
	err = v.tx.Row(`SELECT id FROM experiment WHERE project_id = ? AND name = ? AND `+v.tx.Found("experiment")+`
		ORDER BY deleted_date IS NOT NULL, created_date, id LIMIT 1`, projectID, name).Scan(&id)
	if err != nil {
		return e, domain.OrNotFound(err, "experiment")
	}
	return v.ExperimentRecord(id)
}

// ExperimentNamed calls View.ExperimentNamed on a new snapshot.
func (db *DB) ExperimentNamed(ctx context.Context, actor domain.Actor, projectID, name string) (ExperimentRecord, error) {
	return view(ctx, db, actor, func(v *View) (ExperimentRecord, error) { return v.ExperimentNamed(projectID, name) })
}

// ExperimentRecords returns experiments of a project with their properties. It requires the
// right to read.
func (v *View) ExperimentRecords(projectID string, q ExperimentRecordQuery) (domain.List[ExperimentRecord], error) {
	p := q.Clamp()
	l := domain.List[ExperimentRecord]{Data: []ExperimentRecord{}, Limit: p.Limit, Offset: p.Offset}
	if err := v.tx.AllowProject(v.tx.Actor, projectID, domain.RightFind); err != nil {
		return l, err
	}
	sort := append(q.Sort[:len(q.Sort):len(q.Sort)], filter.SortKey{Ref: filter.Ref{Key: filter.Key{Field: filter.ID}}})
	ids, total, err := searchRecords(v.tx, searchableExperiments, q.Filter, sort, p, `experiment.project_id = ? AND `+q.Trash.Condition("experiment"), projectID)
	if err != nil {
		return l, err
	}
	l.Total = total
	l.Data, err = experimentRecords(v.tx, ids)
	return l, err
}

// ExperimentRecords calls View.ExperimentRecords on a new snapshot.
func (db *DB) ExperimentRecords(ctx context.Context, actor domain.Actor, projectID string, q ExperimentRecordQuery) (domain.List[ExperimentRecord], error) {
	return view(ctx, db, actor, func(v *View) (domain.List[ExperimentRecord], error) { return v.ExperimentRecords(projectID, q) })
}

// experimentRecords returns the experiments with the given ids, in the order of ids.
func experimentRecords(tx *domain.Tx, ids []string) ([]ExperimentRecord, error) {
	var rows []Experiment
	err := tx.Select(&rows, `SELECT `+experimentColumns+` FROM experiment
		WHERE experiment.id IN (SELECT value FROM json_each(?))`, sqlite.JSON(ids))
	if err != nil {
		return nil, err
	}
	at := make(map[string]int, len(ids))
	for i, id := range ids {
		at[id] = i
	}
	slices.SortFunc(rows, func(a, b Experiment) int { return cmp.Compare(at[a.ID], at[b.ID]) })
	all := make([]ExperimentRecord, len(rows))
	for i, e := range rows {
		all[i].Experiment, at[e.ID] = e, i
	}
	err = domain.PropertiesOf(tx, "experiment_id", ids, func(id string, p domain.Property) {
		all[at[id]].Properties = append(all[at[id]].Properties, p)
	})
	return all, err
}

// searchableExperiments describes the experiment columns that searches can use.
var searchableExperiments = search.Table{
	Name: "experiment",
	Columns: map[filter.Field]string{
		filter.ID:      "experiment.id",
		filter.Name:    "experiment.name",
		filter.Created: "experiment.created_date",
		filter.Updated: "max(experiment.created_date, experiment.updated_date)",
	},
	Property: "experiment_id",
}

// searchRecords returns one page of record ids and the total number of matching records. A record
// matches if it satisfies the SQL condition and the filter e.
func searchRecords(tx *domain.Tx, of search.Table, e filter.Expr, sort []filter.SortKey, p domain.Page, condition string, args ...any) (ids []string, total int, err error) {
	if _, err := filter.Keys(e, sort); err != nil {
		return nil, 0, domain.Refused(err)
	}
	ids, err = runs.Limited(tx, search.Query{Filter: e, Sort: sort}, func(in *search.Snapshot) (ids []string, err error) {
		ids, total, err = of.Find(in.Tx.Tx, e, sort, p.Limit, p.Offset, condition, args...)
		return ids, err
	})
	return ids, total, err
}
