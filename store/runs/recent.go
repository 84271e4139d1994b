package runs

import "tracker/store/domain"

// RecentIteration is an iteration with the names of the iteration's experiment and project.
type RecentIteration struct {
	Iteration
	Experiment string // the name, not the id
	Project    string // the name, not the id
	ProjectID  string
}

// recentRead is the maximum number of iterations that one call examines.
const recentRead = 5000

// RunningIterations returns the newest running iterations that the actor may read. It returns
// at most limit iterations, newest first.
func (v *View) RunningIterations(limit int) ([]RecentIteration, error) {
	return v.recent(`SELECT num FROM iteration WHERE status = 'RUNNING' AND deleted_date IS NULL ORDER BY num DESC LIMIT ?`, limit)
}

// EndedIterations returns the ended iterations that the actor may read. It returns at most
// limit iterations, last ended first.
func (v *View) EndedIterations(limit int) ([]RecentIteration, error) {
	return v.recent(`SELECT num FROM iteration WHERE end_date IS NOT NULL AND deleted_date IS NULL ORDER BY end_date DESC LIMIT ?`, limit)
}

func (v *View) recent(from string, limit int) ([]RecentIteration, error) {
	readable, args, err := v.tx.Having(v.tx.Actor, domain.RightRead, `project.id`)
	if err != nil {
		return nil, err
	}
	var rows []struct {
		Num        int64  `db:"num"`
		Experiment string `db:"experiment"`
		Project    string `db:"project"`
		ProjectID  string `db:"project_id"`
	}
	err = v.tx.Select(&rows, `SELECT
			recent.num,
			experiment.name AS experiment,
			project.name AS project,
			project.id AS project_id
		FROM (`+from+`) AS recent
		CROSS JOIN iteration ON iteration.num = recent.num
		JOIN experiment ON experiment.id = iteration.experiment_id AND experiment.deleted_date IS NULL
		JOIN project ON project.id = experiment.project_id AND project.deleted_date IS NULL
		WHERE `+readable+`
		LIMIT ?`, append(append([]any{recentRead}, args...), min(limit, domain.MaxLimit))...)
	if err != nil {
		return nil, err
	}
	nums := make([]int64, len(rows))
	for i, r := range rows {
		nums[i] = r.Num
	}
	iterations, err := iterationsOf(v.tx, nums, nil)
	all := make([]RecentIteration, len(iterations))
	for i, it := range iterations { // iterations has one element for each number in nums, in the same order
		all[i] = RecentIteration{it, rows[i].Experiment, rows[i].Project, rows[i].ProjectID}
	}
	return all, err
}

// ProjectIterations searches all experiments of a project, as Iterations searches one
// experiment. It ignores the fields Fold, Group and Trash of q. The actor needs the right to
// read.
func (v *View) ProjectIterations(projectID string, q IterationQuery) (domain.List[Iteration], error) {
	p := q.Clamp()
	l := domain.List[Iteration]{Data: []Iteration{}, Limit: p.Limit, Offset: p.Offset}
	if err := v.tx.AllowProject(v.tx.Actor, projectID, domain.RightRead); err != nil {
		return l, err
	}
	parsed, err := parseSearch(IterationQuery{Filter: q.Filter, Sort: q.Sort, Columns: q.Columns})
	if err != nil {
		return l, err
	}
	var ids []string
	err = v.tx.Select(&ids, `SELECT id FROM experiment WHERE project_id = ? AND deleted_date IS NULL ORDER BY created_date DESC, id LIMIT ?`, projectID, domain.MaxSearched)
	if err != nil || len(ids) == 0 {
		return l, err
	}
	s, err := parsed.resolve(v.tx, ids...)
	if err != nil {
		return l, err
	}
	h, err := findIn(v.tx, ids, s.Query, p)
	if err != nil {
		return l, err
	}
	l.Total = h.Total
	l.Data, err = iterationsOf(v.tx, h.Nums, s.columns)
	return l, err
}
