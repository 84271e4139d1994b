package ui

import (
	"cmp"
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
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/search"
	"tracker/ui/chart"
	"tracker/ui/plain"
)

const (
	// projectColumns is the default number of metrics, and of parameters, in the table of a
	// project's runs.
	projectColumns = 3
	// projectExperiments is the number of newest experiments from which the default columns are
	// computed.
	projectExperiments = 20
)

// projectRunsView is the view of the page that lists a project's runs.
type projectRunsView struct {
	ID      string
	Name    string
	Total   string
	Filter  string
	Sort    string
	Columns string // columns in the query, "" for the default
	Wrong   string // error message about the search, "" for none
	Heads   []runHead
	Rows    []projectRun
	Pager   pager
}

// runHead is the head of a sortable table column.
type runHead struct {
	Label  string
	Number bool
	Query  string // query string that sorts by this column
	Order  string // value of the attribute aria-sort: ascending, descending or none
}

// projectRun is a table row. Cells holds the parameters and metrics in the order of the column
// heads.
type projectRun struct {
	run
	Experiment link
	Cells      []plain.Cell
}

// projectRuns shows the runs of all experiments in a project.
func (s *site) projectRuns(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.show(w, r, user, http.StatusOK, func(db *store.View) (templ.Component, error) {
		p, err := db.Projects.Project(idOf(r))
		if err != nil {
			return nil, err
		}
		experiments, err := db.Projects.Experiments(p.ID, projects.ExperimentQuery{Page: domain.Page{Limit: domain.MaxLimit}})
		if err != nil {
			return nil, err
		}
		query := r.URL.Query()
		q := searchOf(query)
		v := projectRunsView{ID: p.ID, Name: p.Name, Filter: q.Filter, Sort: plain.Readable(query.Get("sort")), Columns: q.Columns}
		if q.Columns == "" {
			if q.Columns, err = s.projectDefault(db, experiments.Data); err != nil {
				return nil, err
			}
		}
		list, err := db.Runs.ProjectIterations(p.ID, q)
		if bad := web.AsError(err); bad != nil && bad.Code == domain.CodeInvalidPayload {
			v.Wrong = bad.Message
		} else if err != nil {
			return nil, err
		}
		names := map[string]string{}
		for _, e := range experiments.Data {
			names[e.ID] = e.Name
		}
		if v.Wrong == "" {
			if err := s.fillProjectRuns(db, &v, q, query, list, names); err != nil {
				return nil, err
			}
		}
		f, err := s.inside(db, "Runs of "+p.Name, user, place{projectID: p.ID})
		if err != nil {
			return nil, err
		}
		f.Crumbs = []crumb{{"Projects", "/"}, {p.Name, "/project/" + p.ID}, {Name: "Runs"}}
		return projectRunsPage(f, v), nil
	})
}

func (s *site) fillProjectRuns(db *store.View, v *projectRunsView, q runs.IterationQuery, query url.Values,
	list domain.List[runs.Iteration], names map[string]string) error {
	columns, err := runs.Columns(q.Columns)
	if err != nil {
		return err
	}
	v.Total = humanize.Comma(int64(list.Total))
	head := func(label, sort string, number bool) {
		h := runHead{Label: label, Number: number, Order: "none"}
		keep := maps.Clone(query)
		keep.Del("offset")
		keep.Set("sort", sort)
		switch v.Sort {
		case sort:
			h.Order = "ascending"
			keep.Set("sort", "-"+sort)
		case "-" + sort:
			h.Order = "descending"
		}
		h.Query = "?" + keep.Encode()
		v.Heads = append(v.Heads, h)
	}
	head("Name", "name", false)
	head("Status", "status", false)
	for _, c := range columns {
		head(c.Name, c.Text, c.Kind == search.MetricKey)
	}
	head("Started", "created", false)
	head("Duration", "duration", true)
	cells := plain.Cells(list.Data, columns)
	for n, i := range list.Data {
		row := projectRun{run: s.run(i), Experiment: link{Name: names[i.ExperimentID], Path: "/experiment/" + i.ExperimentID}}
		if row.Experiment.Name == "" {
			e, err := db.Projects.Experiment(i.ExperimentID)
			if err != nil {
				return err
			}
			names[e.ID], row.Experiment.Name = e.Name, e.Name
		}
		row.Cells = cells[n]
		v.Rows = append(v.Rows, row)
	}
	keep := maps.Clone(query)
	keep.Del("offset")
	v.Pager = newPager(keep, q.Page, len(list.Data), list.Total)
	return nil
}

// projectDefault returns the default columns of the table. The default columns are the
// objectives of the newest experiments, and the parameters that vary in most of these
// experiments.
func (s *site) projectDefault(db *store.View, experiments []projects.Experiment) (string, error) {
	var metrics, params []string
	seen := map[string]int{}
	for _, e := range experiments[:min(len(experiments), projectExperiments)] {
		o, err := db.Projects.Objective(e)
		if err != nil {
			return "", err
		}
		if o != nil && len(metrics) < projectColumns && !slices.Contains(metrics, o.Value()) {
			metrics = append(metrics, o.Value())
		}
		varying, err := db.Runs.VaryingParams(e.ID, telling)
		if err != nil {
			return "", err
		}
		for _, key := range varying {
			name := search.Key{Kind: search.ParamKey, Key: key}.Column()
			if seen[name]++; seen[name] == 1 {
				params = append(params, name)
			}
		}
	}
	slices.SortStableFunc(params, func(a, b string) int {
		return cmp.Or(seen[b]-seen[a], cmp.Compare(chart.ParamRank(a), chart.ParamRank(b)))
	})
	return strings.Join(slices.Concat(metrics, params[:min(len(params), projectColumns)]), ", "), nil
}
