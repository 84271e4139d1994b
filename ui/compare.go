package ui

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// maxCompared is the maximum number of runs in a comparison.
const maxCompared = 200

// compareView is the view of the page that compares runs.
type compareView struct {
	ExperimentID string
	Query        string // part of the address that selects the runs
	Best         string // ID of the best run, "" for none

	Runs       []run
	Note       string          // note about omitted runs or rows, "" for none
	Difference *differenceView // nil if the runs do not form two sides
	Sections   []compareSection
	Diffs      []sharedDiff
	MoreDiff   int // number of diffs that are not shown
}

type compareSection struct {
	Title string
	Rows  []compareRow
	Note  string // note about omitted runs or rows, "" for none
}

// compareRow holds one value per run, for example the values of one parameter.
type compareRow struct {
	Key     string
	Metric  string // name of the metric whose last values the row shows, "" for none
	Cells   []string
	Best    []bool // whether each run has the best value; nil if the best value is unknown
	Differs bool
}

// compared is a run with the data that the page compares.
type compared struct {
	run
	summary  runs.Summary
	snapshot runs.Snapshot
}

// comparedIDs returns the IDs of the runs that the query compares. The query contains full IDs,
// short IDs of runs of one experiment, or a filter. A filter selects the first matching runs of
// an experiment. The result note describes omitted runs.
func (s *site) comparedIDs(db *store.View, query url.Values) (ids []string, note string, err error) {
	ids = runs.Unique(query["i"])
	if short := query.Get("runs"); short != "" {
		endings, err := runEndings(short)
		if err != nil {
			return nil, "", err
		}
		if ids, err = db.Runs.IterationsEndingIn(query.Get("of"), endings); err != nil {
			return nil, "", err
		}
		if len(ids) == 0 {
			return nil, "", errRunsGone
		}
		if missing := len(endings) - len(ids); missing > 0 {
			note = leftOutRuns(missing)
		}
		return ids, note, nil
	}
	if experiment := query.Get("experiment"); experiment != "" {
		q, err := searchIn(db, experiment, query)
		if err != nil {
			return nil, "", err
		}
		q.Page = domain.Page{Limit: maxCompared}
		list, err := db.Runs.Iterations(experiment, q)
		if err != nil {
			return nil, "", err
		}
		for _, i := range list.Data {
			ids = append(ids, i.ID)
		}
		if list.Total > len(list.Data) {
			note = fmt.Sprintf("The first %d of %s runs that pass the filter.", len(list.Data), humanize.Comma(int64(list.Total)))
		}
	}
	if len(ids) < 2 || len(ids) > maxCompared {
		return nil, "", domain.Invalid("i", "Select 2 to %d runs in the table first.", maxCompared)
	}
	return ids, note, nil
}

// leftOutRuns returns a note with the number of requested runs that no longer exist.
func leftOutRuns(missing int) string {
	if missing == 1 {
		return "One of the runs was deleted and is not shown."
	}
	return fmt.Sprintf("%d of the runs were deleted and are not shown.", missing)
}

// runEndings parses a list of short run IDs. A short run ID is the last 48 bits of the ID in
// base64. Dots separate the short IDs.
func runEndings(short string) ([]string, error) {
	var endings []string
	for part := range strings.SplitSeq(short, ".") {
		b, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil || len(b) != runs.EndingLength/2 {
			return nil, domain.Invalid("runs", "The address has no valid runs. Select them in the table again.")
		}
		endings = append(endings, hex.EncodeToString(b))
	}
	if len(endings) > maxCompared {
		return nil, domain.Invalid("runs", "Select 2 to %d runs in the table first.", maxCompared)
	}
	return runs.Unique(endings), nil
}

// compared returns the existing runs that the query compares, and the experiment ID of the
// first run. The result note describes omitted runs. The error has the code NOT_FOUND if none
// of the runs exists.
func (s *site) compared(db *store.View, query url.Values) (all []compared, experimentID, note string, err error) {
	ids, note, err := s.comparedIDs(db, query)
	if err != nil {
		return nil, "", "", err
	}
	runs, err := db.Runs.IterationsByID(ids)
	if err == nil && len(runs) == 0 {
		err = errRunsGone
	}
	if err != nil {
		return nil, "", "", err
	}
	if missing := len(ids) - len(runs); missing > 0 {
		note = leftOutRuns(missing)
	}
	all, err = s.comparedRuns(db, runs)
	return all, runs[0].ExperimentID, note, err
}

// comparedRuns returns runs with the data that the comparison needs.
func (s *site) comparedRuns(db *store.View, of []runs.Iteration) (all []compared, err error) {
	var ids []string
	for _, i := range of {
		ids = append(ids, i.ID)
	}
	summaries, err := db.Runs.Summaries(ids)
	if err != nil {
		return nil, err
	}
	snapshots, err := db.Runs.Snapshots(ids)
	if err != nil {
		return nil, err
	}
	for at, i := range of {
		c := compared{run: s.run(i), summary: summaries[at], snapshot: snapshots[i.ID]}
		c.Params, c.Metrics = short(c.summary.Params), map[string]scalar.Value{}
		for key, m := range c.summary.Metrics {
			c.Metrics[key] = m.Last
		}
		all = append(all, c)
	}
	return all, nil
}

// comparison shows the page that compares runs.
func (s *site) comparison(w http.ResponseWriter, r *http.Request, user domain.User) error {
	var f frame
	var v compareView
	err := s.view(r, user, func(db *store.View) (err error) {
		if f, v, err = s.compareView(r, db, user); err == nil {
			r, err = s.offerUndo(r, db)
		}
		return err
	})
	if err == nil && v.Difference != nil {
		err = s.addSources(r.Context(), user.Actor(), v.Difference.Code)
	}
	if err != nil {
		return err
	}
	return s.render(w, r, http.StatusOK, comparePage(f, v))
}

func (s *site) compareView(r *http.Request, db *store.View, user domain.User) (f frame, v compareView, err error) {
	all, experimentID, note, err := s.compared(db, r.URL.Query())
	if err != nil {
		return f, v, err
	}
	e, p, err := s.experimentOf(db, experimentID)
	if err != nil {
		return f, v, err
	}
	o, err := db.Projects.Objective(e)
	if err != nil {
		return f, v, err
	}
	v = compareView{ExperimentID: e.ID, Query: compareQuery(r.URL.Query()), Note: note, Sections: compareSections(all, o)}
	for _, c := range all {
		v.Runs = append(v.Runs, c.run)
	}
	distinctColors(v.Runs)
	for i := range all {
		all[i].run = v.Runs[i]
	}
	if v.Difference, err = differenceOf(db, e.ID, all, o); err != nil {
		return f, v, err
	}
	if v.Difference == nil || len(v.Difference.Code.Files) == 0 && v.Difference.Code.Note != "" {
		v.Diffs, v.MoreDiff = sharedDiffs(all)
	}
	if o != nil {
		if at := bestOf(all, o.Goal, bestValue(*o)); len(at) > 0 {
			v.Best = all[at[0]].ID
		}
	}
	f, err = s.inside(db, "Compare", user, place{projectID: e.ProjectID, experimentID: e.ID})
	f.Module, f.Charts = "compare.js", true
	f.Crumbs = []crumb{{"Projects", "/"}, {p.Name, "/project/" + p.ID}, {e.Name, "/experiment/" + e.ID}, {Name: "Compare"}}
	return f, v, err
}

// comparedData returns the runs for the plots of the comparison page.
func (s *site) comparedData(r *http.Request, db *store.View) (any, error) {
	all, experimentID, _, err := s.compared(db, r.URL.Query())
	if err != nil {
		return nil, err
	}
	answer := struct {
		Runs      []run               `json:"runs"`
		Objective string              `json:"objective,omitempty"` // label of the values in Best
		Best      []*scalar.Value     `json:"best,omitempty"`      // best value of each run; a nil element for none
		Extremes  map[string]extremes `json:"extremes,omitempty"`  // extremes by metric name
		// Definitions holds the definitions that apply to metrics, by metric name.
		Definitions map[string]runs.Definition `json:"definitions,omitempty"`
	}{Extremes: extremesOf(all)}
	defined, err := db.Runs.Definitions(experimentID)
	if err != nil {
		return nil, err
	}
	names := keysOf(all, func(c compared) []string { return keys(c.Metrics) })
	answer.Definitions = defined.Among(slices.Values(names))
	e, err := db.Projects.Experiment(experimentID)
	if err != nil {
		return nil, err
	}
	o, err := db.Projects.Objective(e)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		answer.Runs = append(answer.Runs, c.run)
		if o == nil {
			continue
		}
		answer.Objective = o.Label()
		if v, ok := bestValue(*o)(c); ok {
			answer.Best = append(answer.Best, &v)
		} else {
			answer.Best = append(answer.Best, nil)
		}
	}
	return answer, nil
}
