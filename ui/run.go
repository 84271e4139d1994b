package ui

import (
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

// palette is the number of curve colours, which style.css defines.
const palette = 12

// run is an iteration in a table. Times are Unix milliseconds.
type run struct {
	ID      string                  `json:"id"`
	Name    string                  `json:"name"`
	Status  string                  `json:"status"`
	Color   int                     `json:"color"` // colour of the curves; the same on every page
	Created scalar.Value            `json:"created"`
	Seconds scalar.Value            `json:"seconds"` // until its end, or until it was last seen
	Tags    []string                `json:"tags"`
	Parent  *string                 `json:"parent"`
	Below   int                     `json:"below"` // runs that lie under it in a folded table
	Params  map[string]string       `json:"params"`
	Metrics map[string]scalar.Value `json:"metrics"`

	started moment
}

// colorClass returns the CSS class for the colour of a run.
func colorClass(r run) string { return "c" + strconv.Itoa(r.Color) }

// distinctColors assigns colours to runs that are drawn together. No colour is used twice before
// all are in use. A run keeps its own colour if no earlier run has it. color.js does the same.
func distinctColors(runs []run) {
	var used [palette]int
	for i := range runs {
		least := slices.Min(used[:])
		color := runs[i].Color
		for used[color] > least {
			color = (color + 1) % palette
		}
		used[color]++
		runs[i].Color = color
	}
}

// statusWords holds the names of the states of a run on pages.
var statusWords = map[domain.IterationStatus]string{
	domain.Running: "running", domain.Succeeded: "succeeded", domain.Failed: "failed", domain.Killed: "killed",
}

const lost = "lost"

func (s *site) run(i runs.Iteration) run {
	return run{
		ID:      i.ID,
		Name:    i.Name,
		Status:  s.status(i),
		Color:   int(i.Num % palette),
		Created: scalar.Value(i.CreatedDate),
		Seconds: scalar.Value(lasted(i).Seconds()),
		Tags:    i.Tags,
		Parent:  i.ParentIterationID,
		Below:   i.Children,
		Params:  short(i.Params),
		Metrics: i.Metrics,
		started: s.moment(i.CreatedDate),
	}
}

// running reports whether the run has not ended.
func (r run) running() bool { return r.Status == statusWords[domain.Running] || r.Status == lost }

func (s *site) status(i runs.Iteration) string {
	if i.Status.Lost(i.LastSeen, scalar.TimeOf(s.Now())) {
		return lost
	}
	return statusWords[i.Status]
}

// lostBefore returns the time limit for lost runs: a running run that was last seen before it
// counts as lost.
func (s *site) lostBefore() scalar.Time {
	return domain.LostBefore(scalar.TimeOf(s.Now()))
}

func lasted(i runs.Iteration) time.Duration {
	end := i.LastSeen
	if i.EndDate != nil {
		end = *i.EndDate
	}
	return end.Time().Sub(i.CreatedDate.Time())
}

// searchIn is searchOf for the runs of an experiment. If the experiment has an objective, the best
// runs come first by default.
func searchIn(db *store.View, experimentID string, query url.Values) (runs.IterationQuery, error) {
	q := searchOf(query)
	if strings.TrimSpace(query.Get("sort")) != "" {
		return q, nil
	}
	e, err := db.Projects.Experiment(experimentID)
	if err != nil {
		return q, err
	}
	o, err := db.Projects.Objective(e)
	if o != nil {
		q.Sort = o.BestFirst()
	}
	return q, err
}

// searchOf returns the search for runs in a query. By default the newest come first.
func searchOf(query url.Values) runs.IterationQuery {
	q := runs.IterationQuery{Page: pageOf(query), Filter: plain.Readable(query.Get("filter")),
		Sort: plain.Readable(query.Get("sort")), Columns: plain.Readable(query.Get("columns"))}
	if strings.TrimSpace(q.Sort) == "" {
		q.Sort = "-created"
	}
	if q.Fold = query.Has("tree") && !query.Has("group"); q.Fold && query.Has("parent") {
		q.Parent = new(query.Get("parent"))
	}
	return q
}

// groupsOf returns the search for groups in a query.
func groupsOf(query url.Values) runs.GroupQuery {
	q := searchOf(query)
	return runs.GroupQuery{Page: q.Page, By: query.Get("group"), Filter: q.Filter, Sort: plain.Readable(query.Get("sort")), Columns: q.Columns}
}

// best returns the best run that passes a filter, nil if none has a value.
func (s *site) best(db *store.View, experimentID string, o goal.Objective, filter string) (*run, error) {
	list, err := db.Runs.Iterations(experimentID, runs.IterationQuery{Page: domain.Page{Limit: 1}, Filter: filter, Sort: o.BestFirst(), Columns: o.Value()})
	if err != nil || len(list.Data) == 0 || len(list.Data[0].Metrics) == 0 {
		return nil, err
	}
	return new(s.run(list.Data[0])), nil
}

// bestData returns the best run of an experiment, null for none.
func (s *site) bestData(r *http.Request, db *store.View) (any, error) {
	e, err := db.Projects.Experiment(idOf(r))
	if err != nil {
		return nil, err
	}
	var answer struct {
		Best *run `json:"best"`
	}
	o, err := db.Projects.Objective(e)
	if err == nil && o != nil {
		answer.Best, err = s.best(db, e.ID, *o, plain.Readable(r.URL.Query().Get("filter")))
	}
	return answer, err
}
