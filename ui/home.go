package ui

import (
	"cmp"
	"net/http"
	"net/url"
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
	// homeRuns is the maximum number of lines in each list on the home page.
	homeRuns = 6
	// homeEarlier is the maximum number of lines about runs that the user has seen.
	homeEarlier = 5
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
	// homeUnseen is the period of the list of unseen runs for a user who has never marked runs as
	// seen.
	homeUnseen = 7 * 24 * time.Hour
)

// homeView is the view of the home page. It shows recent runs of all projects.
type homeView struct {
	Running     []homeRun
	MoreRunning string    // number of omitted running runs, "" for none
	News        []homeRun // runs that ended or were lost since the user marked runs as seen
	MoreNews    string    // number of omitted lines in News, "" for none
	Seen        *moment   // time up to which the user has seen the runs, nil for never
	Until       string    // time of this page in milliseconds, for the form that marks the runs as seen
	Earlier     []homeRun // runs that ended before, without omitted lines
	Best        []homeRun // best runs of the experiments of the other runs
}

// empty reports whether there are no runs to show.
func (v homeView) empty() bool { return len(v.Running)+len(v.News)+len(v.Earlier) == 0 }

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
	NewBest    bool   // whether the run, or a run of the line, has become the best run of its experiment
	Pace       *paceView
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
	more := len(ended) == homeRead
	seen, err := db.Users.Seen()
	if err != nil {
		return v, err
	}
	now := scalar.TimeOf(s.Now())
	v.Until = strconv.FormatInt(int64(now), 10)
	if seen > 0 {
		v.Seen = new(s.moment(seen))
	} else {
		seen = scalar.TimeOf(s.Now().Add(-homeUnseen))
	}
	var alive []runs.RecentIteration
	for _, r := range running {
		if s.status(r.Iteration) == lost {
			ended = append(ended, r)
		} else {
			alive = append(alive, r)
		}
	}
	v.MoreRunning = moreOf(len(alive)-homeRuns, len(running) == homeRead)
	running = alive[:min(len(alive), homeRuns)]
	slices.SortStableFunc(ended, func(a, b runs.RecentIteration) int { return cmp.Compare(endOf(b), endOf(a)) })
	var unseen, earlier []runs.RecentIteration
	for _, r := range ended {
		if noticed(r) > seen {
			unseen = append(unseen, r)
		} else {
			earlier = append(earlier, r)
		}
	}
	more = more && len(earlier) == 0
	unseen, sweeps := s.homeSweeps(unseen)
	v.MoreNews = moreOf(len(unseen)-homeRuns, more)
	unseen = unseen[:min(len(unseen), homeRuns)]
	earlier, before := s.homeSweeps(earlier)
	earlier = earlier[:min(len(earlier), homeEarlier)]
	b, err := s.homeBests(db, slices.Concat(running, unseen, earlier))
	if err != nil {
		return v, err
	}
	for _, r := range running {
		h := s.homeRun(r, b)
		p, err := db.Runs.Pace(r.ID, false)
		if err != nil {
			return v, err
		}
		h.Pace = newPace(p)
		v.Running = append(v.Running, h)
	}
	line := func(r runs.RecentIteration, sweeps map[string]string) homeRun {
		h := s.homeRun(r, b)
		if line, ok := sweeps[r.ExperimentID]; ok {
			h.Path, h.Name, h.Runs, h.Value = h.Experiment.Path, h.Experiment.Name, line, b.best[r.ExperimentID].value
		}
		return h
	}
	for _, r := range unseen {
		h, best := line(r, sweeps), b.best[r.ExperimentID]
		h.NewBest = best.ID == r.ID || h.Runs != "" && best.EndDate != nil && *best.EndDate > seen
		v.News = append(v.News, h)
	}
	for _, r := range earlier {
		v.Earlier = append(v.Earlier, line(r, before))
	}
	for _, best := range b.list {
		h := s.homeRun(best.RecentIteration, b)
		h.NewBest = best.EndDate != nil && *best.EndDate > seen
		v.Best = append(v.Best, h)
	}
	return v, nil
}

// moreOf returns the number of omitted lines as text, "" for none. If unknown is set, there can be
// more.
func moreOf(n int, unknown bool) string {
	switch {
	case unknown:
		return "more"
	case n > 0:
		return strconv.Itoa(n) + " more"
	}
	return ""
}

// noticed returns the time at which a run ended or, if it is lost, counted as lost.
func noticed(r runs.RecentIteration) scalar.Time {
	if r.EndDate != nil {
		return *r.EndDate
	}
	return r.LastSeen + scalar.Time(domain.LostAfter.Milliseconds())
}

// homeBests holds the objectives of experiments, and the values of runs.
type homeBests struct {
	objectives map[string]*goal.Objective // by experiment ID
	values     map[string]string          // by run ID
	best       map[string]homeBest        // by experiment ID
	list       []homeBest
}

// homeBest is the best run of an experiment.
type homeBest struct {
	runs.RecentIteration
	value string
}

// homeBests reads the best runs of the experiments of all, at most homeExperiments, and the values
// of the runs.
func (s *site) homeBests(db *store.View, all []runs.RecentIteration) (homeBests, error) {
	b := homeBests{map[string]*goal.Objective{}, map[string]string{}, map[string]homeBest{}, nil}
	ids := map[string][]string{} // run IDs by experiment ID
	var experiments []runs.RecentIteration
	for _, r := range all {
		if ids[r.ExperimentID] == nil {
			experiments = append(experiments, r)
		}
		ids[r.ExperimentID] = append(ids[r.ExperimentID], r.ID)
	}
	for _, r := range experiments[:min(len(experiments), homeExperiments)] {
		e, err := db.Projects.Experiment(r.ExperimentID)
		if err != nil {
			return b, err
		}
		o, err := db.Projects.Objective(e)
		if err != nil {
			return b, err
		}
		if o == nil {
			continue
		}
		b.objectives[e.ID] = o
		list, err := db.Runs.Iterations(e.ID, runs.IterationQuery{Page: domain.FirstPage, Columns: o.Value(),
			Filter: "id in ('" + strings.Join(ids[e.ID], "', '") + "')"})
		if err != nil {
			return b, err
		}
		for _, i := range list.Data {
			b.values[i.ID] = onlyValue(i)
		}
		best, err := db.Runs.Iterations(e.ID, runs.IterationQuery{Page: domain.Page{Limit: 1}, Sort: o.BestFirst(), Columns: o.Value()})
		if err != nil {
			return b, err
		}
		if len(best.Data) == 1 && onlyValue(best.Data[0]) != "" && e.IterationCount > 1 {
			i := best.Data[0]
			b.values[i.ID] = onlyValue(i)
			found := homeBest{runs.RecentIteration{Iteration: i, Experiment: r.Experiment, Project: r.Project, ProjectID: r.ProjectID}, b.values[i.ID]}
			b.best[e.ID] = found
			b.list = append(b.list, found)
		}
	}
	return b, nil
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

// markSeen records that the user has seen the runs that ended before the page was requested.
func (s *site) markSeen(w http.ResponseWriter, r *http.Request, user domain.User, fields url.Values) error {
	until, err := strconv.ParseInt(fields.Get("until"), 10, 64)
	if err != nil {
		return domain.Invalid("until", "The form lacks the time of its page. Reload the page.")
	}
	if err := s.DB.Users.MarkSeen(r.Context(), user.Actor(), scalar.Time(until)); err != nil {
		return err
	}
	s.redirect(w, r, "/")
	return nil
}

// onlyValue returns the formatted value of an iteration that was read with a single metric, ""
// for none.
func onlyValue(i runs.Iteration) string {
	for _, value := range i.Metrics {
		return plain.Number(value)
	}
	return ""
}

func (s *site) homeRun(r runs.RecentIteration, b homeBests) homeRun {
	h := homeRun{Path: "/iteration/" + r.ID, Name: r.Name, Status: s.status(r.Iteration), Project: r.Project,
		Experiment: link{Name: r.Experiment, Path: "/experiment/" + r.ExperimentID}, Value: b.values[r.ID], When: s.moment(r.CreatedDate)}
	if o := b.objectives[r.ExperimentID]; o != nil {
		h.Metric = o.Metric
	}
	if r.EndDate != nil || h.Status == lost {
		h.When = s.moment(endOf(r))
	}
	return h
}
