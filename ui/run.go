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

// palette is the number of curve colours. The style sheets define these colours.
const palette = 12

// run is an iteration in the form that pages and scripts use. Times are in Unix milliseconds.
type run struct {
	ID      string                        `json:"id"`
	Name    string                        `json:"name"`
	Status  string                        `json:"status"`
	Color   int                           `json:"color"` // index of the curve colour, the same on all pages
	Created scalar.Value                  `json:"created"`
	Seconds scalar.Value                  `json:"seconds"` // duration until the end or, without an end, until last seen
	Tags    []string                      `json:"tags"`
	By      *string                       `json:"by,omitempty"` // user name of the creator; nil if unknown
	Parent  *string                       `json:"parent"`
	Below   int                           `json:"below"` // number of matching runs that are nested under the run
	Params  map[string]string             `json:"params"`
	Metrics map[string]scalar.Value       `json:"metrics"`
	Texts   map[string]scalar.SummaryText `json:"summary,omitempty"` // columns with texts of the summary

	started moment
}

// colorClass returns the CSS class of the run's colour.
func colorClass(r run) string { return "c" + strconv.Itoa(r.Color) }

// distinctColors assigns colours to runs that are drawn together. A colour is repeated only
// after all colours are in use. A run keeps its own colour if no earlier run has the same
// colour. The script color.js implements the same rule.
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

// statusWords maps a run's status to the word that pages show.
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
		By:      i.CreatedBy,
		Parent:  i.ParentIterationID,
		Below:   i.Children,
		Params:  short(i.Params),
		Metrics: i.Metrics,
		Texts:   short(i.Texts),
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

// lostBefore returns the time before which a running run must have been last seen to count as lost.
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

// searchIn is searchOf for the runs of one experiment. If the query sets no order and the
// experiment has an objective, the best runs come first.
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

// searchOf returns the search for runs in a query. If the query sets no order, the newest runs
// come first.
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

// groupsOf returns the search for groups of runs in a query.
func groupsOf(query url.Values) runs.GroupQuery {
	q := searchOf(query)
	return runs.GroupQuery{Page: q.Page, By: query.Get("group"), Filter: q.Filter, Sort: plain.Readable(query.Get("sort")), Columns: q.Columns}
}

// best returns the best run that matches the filter. It returns nil if no matching run has a
// value of the objective.
func (s *site) best(db *store.View, experimentID string, o goal.Objective, filter string) (*run, error) {
	list, err := db.Runs.Iterations(experimentID, runs.IterationQuery{Page: domain.Page{Limit: 1}, Filter: filter, Sort: o.BestFirst(), Columns: o.Value()})
	if err != nil || len(list.Data) == 0 || len(list.Data[0].Metrics) == 0 {
		return nil, err
	}
	return new(s.run(list.Data[0])), nil
}

// bestData returns the best run of an experiment, or null for none.
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
