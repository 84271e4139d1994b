package ui

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/goal"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/ui/plain"
)

const (
	// homeRuns is the maximum number of runs in each list on the home page.
	homeRuns = 5
	// homeExperiments is the maximum number of experiments whose best run is searched for the
	// home page.
	homeExperiments = 6
	// homeRead is the maximum number of running and of ended runs that are read. Several ended
	// runs of an experiment are one line.
	homeRead = 100
	// homeSweep is the minimum number of an experiment's runs that are shown as one line if they
	// ended within homeSpan.
	homeSweep = 3
	homeSpan  = 24 * time.Hour
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
	When       moment // end of an ended run, last sign of life of a lost run, start of a running run
	Runs       string // for a line of several runs: their number and how many failed; "" for a run
}

// home reads the running runs, the runs that ended last, and the best runs of their
// experiments.
func (s *site) home(db *store.View) (v homeView, err error) {
	running, err := db.Runs.RunningIterations(homeRead)
	if err != nil {
		return v, err
	}
	ended, err := db.Runs.EndedIterations(homeRead)
	if err != nil {
		return v, err
	}
	var alive []runs.RecentIteration
	for _, r := range running {
		if s.status(r.Iteration) == lost {
			ended = append(ended, r)
		} else if len(alive) < homeRuns {
			alive = append(alive, r)
		}
	}
	running = alive
	slices.SortStableFunc(ended, func(a, b runs.RecentIteration) int { return cmp.Compare(endOf(b), endOf(a)) })
	ended, sweeps := s.homeSweeps(ended)
	all := slices.Concat(running, ended)
	ids := map[string][]string{} // run IDs by experiment ID
	var experiments []runs.RecentIteration
	for _, r := range all {
		if ids[r.ExperimentID] == nil {
			experiments = append(experiments, r)
		}
		ids[r.ExperimentID] = append(ids[r.ExperimentID], r.ID)
	}
	objectives, values, bests := map[string]*goal.Objective{}, map[string]string{}, map[string]string{}
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
			bests[e.ID] = values[i.ID]
			v.Best = append(v.Best, s.homeRun(runs.RecentIteration{Iteration: i, Experiment: r.Experiment, Project: r.Project, ProjectID: r.ProjectID}, o, values))
		}
	}
	for _, r := range running {
		v.Running = append(v.Running, s.homeRun(r, objectives[r.ExperimentID], values))
	}
	for _, r := range ended {
		h := s.homeRun(r, objectives[r.ExperimentID], values)
		if line, ok := sweeps[r.ExperimentID]; ok {
			h.Path, h.Name, h.Runs, h.Value = h.Experiment.Path, h.Experiment.Name, line, bests[r.ExperimentID]
		}
		v.Ended = append(v.Ended, h)
	}
	return v, nil
}

// endOf returns the time at which a run ended or, if it is lost, was last seen.
func endOf(r runs.RecentIteration) scalar.Time {
	if r.EndDate != nil {
		return *r.EndDate
	}
	return r.LastSeen
}

// homeSweeps returns the lines for ended runs: only the last ended run of an experiment in which
// several ended, and all ended runs of other experiments. ended is sorted, last ended first. The
// map lines holds the description of several runs by experiment ID.
func (s *site) homeSweeps(ended []runs.RecentIteration) (shown []runs.RecentIteration, lines map[string]string) {
	groups := map[string][]runs.RecentIteration{}
	for _, r := range ended {
		of := groups[r.ExperimentID]
		if len(of) == 0 || endOf(of[0]).Time().Sub(endOf(r).Time()) <= homeSpan {
			groups[r.ExperimentID] = append(of, r)
		}
	}
	lines = map[string]string{}
	for _, r := range ended {
		if len(shown) == homeRuns {
			break
		}
		of := groups[r.ExperimentID]
		if len(of) < homeSweep {
			shown = append(shown, r)
			continue
		}
		if lines[r.ExperimentID] != "" {
			continue
		}
		bad := 0
		for _, one := range of {
			if status := s.status(one.Iteration); status == lost || one.Status == domain.Failed {
				bad++
			}
		}
		line := strconv.Itoa(len(of)) + " runs ended"
		if len(of) >= homeRead {
			line = strconv.Itoa(homeRead) + " or more runs ended"
		}
		if bad > 0 {
			line += ", " + strconv.Itoa(bad) + " failed or lost"
		}
		lines[r.ExperimentID] = line
		shown = append(shown, r)
	}
	return shown, lines
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
	if r.EndDate != nil || h.Status == lost {
		h.When = s.moment(endOf(r))
	}
	return h
}
