package ui

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"
	"github.com/dustin/go-humanize"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/goal"
	"tracker/store/json"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/ui/plain"
)

// experimentView is the view of an experiment's page.
type experimentView struct {
	ID          string
	Cursor      string // change cursor at the time of the snapshot
	Name        string
	Description string
	Status      string
	Ended       string // note if the experiment is not in progress
	Total       string
	Filter      string
	Wrong       string // error message about the search, "" for none
	Sort        string
	Objective   *goal.Objective // objective, nil for none
	Sweeps      bool            // whether the experiment has sweeps
	Failed      string          // text of the link to failures, "" if no run has failed
	Guessed     bool            // whether the objective was guessed instead of chosen
	Best        string          // path of the best run that matches the filter, "" for none
	Columns     string          // columns to show, in search syntax
	Wide        string          // further columns for a wide table, "" if the user has selected the columns
	Params      []string
	Metrics     []string
	Places      map[string]int // decimals of each metric
	Rows        []run
	Pager       pager
	Rights      domain.Permission
	First       string   // JSON of the data that the scripts need first
	Lesson      *lesson  // nil if the experiment has runs
	Nothing     *nothing // nil if runs match the filter
	Table       string   // query of the files with the table
	All         string   // path of the form that changes all runs
}

// experiment shows an experiment's runs in a table. The table works without scripts. Scripts
// add interactive features.
func (s *site) experiment(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.show(w, r, user, http.StatusOK, func(db *store.View) (templ.Component, error) {
		e, err := db.Projects.Experiment(idOf(r))
		if err != nil {
			return nil, err
		}
		project, err := db.Projects.Project(e.ProjectID)
		if err != nil {
			return nil, err
		}
		v := experimentView{ID: e.ID, Cursor: db.Cursor(), Name: e.Name, Description: e.Description, Status: experimentWords[e.Status]}
		if e.Status != domain.InProgress {
			v.Ended = "Experiment " + v.Status
		}
		if v.Rights, err = db.Users.Rights(e.ProjectID); err != nil {
			return nil, err
		}
		query := r.URL.Query()
		o, err := db.Projects.Objective(e)
		if err != nil {
			return nil, err
		}
		q := searchOf(query)
		if o != nil {
			v.Objective, v.Guessed = o, e.Objective == ""
			if query.Get("sort") == "" {
				q.Sort = o.BestFirst()
			}
		}
		if !query.Has("columns") {
			if q.Columns, v.Wide, err = s.columnsOf(db, e.ID, o); err != nil {
				return nil, err
			}
		}
		v.Filter, v.Sort, v.Columns = q.Filter, plain.Readable(query.Get("sort")), q.Columns
		if e.IterationCount == 0 {
			v.Lesson = s.lesson(r, user, lessonFrom{experimentID: e.ID, project: project.Name, experiment: e.Name})
		}
		if v.Wide != "" {
			q.Columns += ", " + v.Wide
		}
		asked := q
		if q.Page == domain.FirstPage { // read all runs that the charts draw, even if they are not on the first page
			pages := (drawnRuns(query) + q.Limit - 1) / q.Limit // the scripts store whole table pages
			asked.Limit = q.Limit * max(1, pages)
		}
		list, err := db.Runs.Iterations(e.ID, asked)
		if bad := web.AsError(err); bad != nil && bad.Code == domain.CodeInvalidPayload {
			v.Wrong = bad.Message
		} else if err != nil {
			return nil, err
		}
		first := list
		list.Data = list.Data[:min(len(list.Data), q.Limit)]
		s.fillRuns(&v, list, query, q.Page)
		if v.Wrong == "" && list.Total == 0 && strings.TrimSpace(q.Filter) != "" {
			if v.Nothing, err = s.nothing(db, e.ID, q.Filter); err != nil {
				return nil, err
			}
		}
		if o != nil && v.Wrong == "" {
			best, err := s.best(db, e.ID, *o, q.Filter)
			if err != nil {
				return nil, err
			}
			if best != nil {
				v.Best = "/iteration/" + best.ID
			}
		}
		if v.Sweeps, err = db.Wandb.HasSweep(e.ID); err != nil {
			return nil, err
		}
		if v.Failed, err = failedText(db, e.ID); err != nil {
			return nil, err
		}
		v.Table = url.Values{"filter": {q.Filter}, "sort": {q.Sort}, "columns": {v.Columns}}.Encode()
		v.All = "/experiment/" + e.ID + "/change" + filterQuery(q.Filter)
		var early string
		if v.Lesson == nil {
			if v.First, early, err = s.first(db, e.ID, o, query, q, first, v.Nothing); err != nil {
				return nil, err
			}
		}
		f, err := s.inside(db, e.Name, user, place{projectID: e.ProjectID, experimentID: e.ID})
		if err != nil {
			return nil, err
		}
		f.Module, f.Charts, f.Early, f.Wide = "workbench.js", true, early, v.Lesson == nil
		f.Crumbs = []crumb{{"Projects", "/"}, {project.Name, "/project/" + project.ID}, {Name: e.Name}}
		return experimentPage(f, v), nil
	})
}

// firstKeys is the number of metric names that the scripts request first.
const firstKeys = 60

// first returns the data that the scripts need first, as JSON in text. The data holds the first
// table rows and the metric names. The rows are null if the page does not begin with the first row.
// The parameter none is the explanation of an empty table. The result early is the URL of the first
// curves.
func (s *site) first(db *store.View, experimentID string, o *goal.Objective, query url.Values,
	q runs.IterationQuery, list domain.List[runs.Iteration], none *nothing) (text, early string, err error) {
	var first struct {
		Rows any                    `json:"rows"`
		Keys *domain.List[chartKey] `json:"keys"` // null if the search for metric names is invalid

		Panels *projects.Layout `json:"panels,omitzero"`  // layout of the saved view in the query
		NoView bool             `json:"no_view,omitzero"` // whether the saved view does not exist or can't be read
	}
	var runs domain.List[run]
	switch {
	case q.Page != domain.FirstPage:
	case query.Get("group") != "":
		g := groupsOf(query)
		g.Columns = q.Columns
		groups, err := db.Runs.Groups(experimentID, g)
		if bad := web.AsError(err); bad != nil && bad.Code == domain.CodeInvalidPayload {
			first.Rows = mistake{Wrong: bad}
		} else if err != nil {
			return "", "", err
		} else {
			if first.Rows, err = explained(s, db, experimentID, q.Filter, groups); err != nil {
				return "", "", err
			}
		}
	case list.Limit > 0: // the search is valid
		runs = s.runs(list)
		first.Rows = found[run]{runs, none}
	}
	keys, err := chartKeys(db, experimentID, o, plain.Readable(query.Get("m")), query.Has("pattern"), domain.Page{Limit: firstKeys})
	if bad := web.AsError(err); bad != nil && bad.Code == domain.CodeInvalidPayload {
		err = nil // the scripts repeat the search and show the error
	} else {
		first.Keys = &keys
	}
	if err != nil {
		return "", "", err
	}
	if id := query.Get("view"); id != "" {
		first.Panels, err = db.Projects.ViewLayout(id)
		switch bad := web.AsError(err); {
		case bad != nil && (bad.Code == domain.CodeNotFound || bad.Code == domain.CodeInvalidPayload || bad.Code == domain.CodeProjectPermissionRequired):
			first.NoView = true
		case err != nil:
			return "", "", err
		}
	}
	body, err := json.Marshal(first, json.AllowInvalidUTF8(true), json.EscapeForHTML(true), json.Deterministic(true))
	return string(body), earlyCurves(query, runs.Data, keys.Data), err
}

var experimentWords = map[domain.ExperimentStatus]string{
	domain.InProgress: "in progress", domain.Stopped: "stopped", domain.Finished: "finished",
}

// fillRuns sets the rows, columns and pager of the table.
func (s *site) fillRuns(v *experimentView, list domain.List[runs.Iteration], query url.Values, page domain.Page) {
	params, metrics := map[string]bool{}, map[string]bool{}
	for _, i := range list.Data {
		one := s.run(i)
		for key := range one.Params {
			params[key] = true
		}
		for key := range one.Metrics {
			metrics[key] = true
		}
		v.Rows = append(v.Rows, one)
	}
	v.Params, v.Metrics = slices.Sorted(maps.Keys(params)), slices.Sorted(maps.Keys(metrics))
	v.Places = map[string]int{}
	for _, key := range v.Metrics {
		v.Places[key] = plain.MetricDecimals(list.Data, key)
	}
	v.Total = humanize.Comma(int64(list.Total))
	keep := maps.Clone(query)
	keep.Del("offset")
	v.Pager = newPager(keep, page, len(list.Data), list.Total)
}

// projectView is the view of a project's page.
type projectView struct {
	Form        recordForm // form that creates an experiment
	Rights      domain.Permission
	ID          string
	Name        string
	Description string
	Created     moment
	By          *string // user name of the creator; nil if unknown
	Query       string
	Found       string
	Rows        []experimentRow
	Pager       pager
	Lesson      *lesson // nil if the project has experiments
}

type experimentRow struct {
	Path        string
	Name        string
	Description string
	Status      string
	Iterations  string
	Created     moment
	By          *string // user name of the creator; nil if unknown
}

// project shows the experiments of a project.
func (s *site) project(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.showProject(w, r, user, http.StatusOK, recordForm{})
}

func (s *site) showProject(w http.ResponseWriter, r *http.Request, user domain.User, status int, typed recordForm) error {
	return s.show(w, r, user, status, func(db *store.View) (templ.Component, error) {
		p, err := db.Projects.Project(idOf(r))
		if err != nil {
			return nil, err
		}
		query := r.URL.Query()
		q := projects.ExperimentQuery{Page: pageOf(query), Name: nameQuery(query)}
		list, err := db.Projects.Experiments(p.ID, q)
		if err != nil {
			return nil, err
		}
		keep := keptQuery(q.Name, q.Page)
		v := projectView{Form: typed, ID: p.ID, Name: p.Name, Description: p.Description, Created: s.moment(p.CreatedDate), By: p.CreatedBy, Query: q.Name,
			Found: plain.Counted(list.Total, "experiment", "experiments"), Pager: newPager(keep, q.Page, len(list.Data), list.Total)}
		for _, e := range list.Data {
			v.Rows = append(v.Rows, experimentRow{
				Path:        "/experiment/" + e.ID,
				Name:        e.Name,
				Description: plain.Line(e.Description, 200),
				Status:      experimentWords[e.Status],
				Iterations:  humanize.Comma(int64(e.IterationCount)),
				Created:     s.moment(e.CreatedDate),
				By:          e.CreatedBy,
			})
		}
		if list.Total == 0 && q.Name == "" {
			v.Lesson = s.lesson(r, user, lessonFrom{projectID: p.ID, project: p.Name})
		}
		if v.Rights, err = db.Users.Rights(p.ID); err != nil {
			return nil, err
		}
		f, err := s.inside(db, p.Name, user, place{projectID: p.ID})
		if err != nil {
			return nil, err
		}
		f.Crumbs = []crumb{{"Projects", "/"}, {Name: p.Name}}
		return projectPage(f, v), nil
	})
}

// file returns the path of a file with the table of runs.
func (v experimentView) file(ending string) string {
	return "/experiment/" + v.ID + "/runs." + ending + "?" + v.Table
}
