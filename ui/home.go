package ui

import (
	"slices"
	"strings"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/goal"
	"tracker/store/runs"
	"tracker/ui/plain"
)

const (
	// homeRuns is the maximum number of runs in each list on the home page.
	homeRuns = 5
	// homeExperiments is the maximum number of experiments whose best run is searched for the
	// home page.
	homeExperiments = 6
)

// homeView is the view of the home page. It shows recent runs of all projects.
type homeView struct {
	Running []homeRun
	Ended   []homeRun
	Best    []homeRun // best runs of the experiments of the runs in Running and Ended
}

// empty reports whether there are no runs to show.
func (v homeView) empty() bool { return len(v.Running)+len(v.Ended) == 0 }

// homeRun is a run in a list on the home page.
type homeRun struct {
	Path       string
	Name       string
	Status     string
	Experiment link
	Project    string
	Metric     string // metric of the experiment's objective, "" for none
	Value      string // value of Metric, "" for none
	When       moment // end time of an ended run, start time of a running run
}

// home reads the running runs, the runs that ended last, and the best runs of their
// experiments.
func (s *site) home(db *store.View) (v homeView, err error) {
	running, err := db.Runs.RunningIterations(homeRuns)
	if err != nil {
		return v, err
	}
	ended, err := db.Runs.EndedIterations(homeRuns)
	if err != nil {
		return v, err
	}
	all := slices.Concat(running, ended)
	ids := map[string][]string{} // run IDs by experiment ID
	var experiments []runs.RecentIteration
	for _, r := range all {
		if ids[r.ExperimentID] == nil {
			experiments = append(experiments, r)
		}
		ids[r.ExperimentID] = append(ids[r.ExperimentID], r.ID)
	}
	objectives, values := map[string]*goal.Objective{}, map[string]string{}
	for _, r := range experiments[:min(len(experiments), homeExperiments)] {
		e, err := db.Projects.Experiment(r.ExperimentID)
		if err != nil {
			return v, err
		}
		o, err := db.Projects.Objective(e)
		if err != nil {
			return v, err
		}
		if o == nil {
			continue
		}
		objectives[e.ID] = o
		list, err := db.Runs.Iterations(e.ID, runs.IterationQuery{Page: domain.FirstPage, Columns: o.Value(),
			Filter: "id in ('" + strings.Join(ids[e.ID], "', '") + "')"})
		if err != nil {
			return v, err
		}
		for _, i := range list.Data {
			values[i.ID] = onlyValue(i)
		}
		best, err := db.Runs.Iterations(e.ID, runs.IterationQuery{Page: domain.Page{Limit: 1}, Sort: o.BestFirst(), Columns: o.Value()})
		if err != nil {
			return v, err
		}
		if len(best.Data) == 1 && onlyValue(best.Data[0]) != "" && e.IterationCount > 1 {
			i := best.Data[0]
			values[i.ID] = onlyValue(i)
			v.Best = append(v.Best, s.homeRun(runs.RecentIteration{Iteration: i, Experiment: r.Experiment, Project: r.Project, ProjectID: r.ProjectID}, o, values))
		}
	}
	for _, r := range running {
		v.Running = append(v.Running, s.homeRun(r, objectives[r.ExperimentID], values))
	}
	for _, r := range ended {
		v.Ended = append(v.Ended, s.homeRun(r, objectives[r.ExperimentID], values))
	}
	return v, nil
}

// onlyValue returns the formatted value of an iteration that was read with a single metric, ""
// for none.
func onlyValue(i runs.Iteration) string {
	for _, value := range i.Metrics {
		return plain.Number(value)
	}
	return ""
}

func (s *site) homeRun(r runs.RecentIteration, o *goal.Objective, values map[string]string) homeRun {
	h := homeRun{Path: "/iteration/" + r.ID, Name: r.Name, Status: s.status(r.Iteration), Project: r.Project,
		Experiment: link{Name: r.Experiment, Path: "/experiment/" + r.ExperimentID}, Value: values[r.ID], When: s.moment(r.CreatedDate)}
	if o != nil {
		h.Metric = o.Metric
	}
	if r.EndDate != nil {
		h.When = s.moment(*r.EndDate)
	}
	return h
}
