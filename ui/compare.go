package ui

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/dustin/go-humanize"

	"tracker/store"
	"tracker/store/goal"
)

// maxCompared is the maximum number of runs that are compared at once.
const maxCompared = 200

// compareView sets runs side by side.
type compareView struct {
	ExperimentID string
	Best         string // id of the best run, "" for none

	Runs     []run
	Note     string // what is left out, "" for nothing
	Sections []compareSection
	Diffs    []sharedDiff
	MoreDiff int // diffs that are not shown
}

type compareSection struct {
	Title string
	Rows  []compareRow
	Note  string // what is left out, "" for nothing
}

// compareRow holds the values of the runs under one name.
type compareRow struct {
	Key     string
	Metric  string // whose last values they are, "" for none
	Cells   []string
	Best    []bool // by run: whether it has the best value; nil where it is not known which that is
	Differs bool
}

// compared is a run with all that it is compared by.
type compared struct {
	run
	summary  store.Summary
	snapshot store.Snapshot
}

// comparedIDs returns the ids of the runs that an address compares: those that it names in
// full or, as runs of one experiment, in short, or the first of an experiment that pass a
// filter. note says what is left out.
func (s *site) comparedIDs(db *store.View, query url.Values) (ids []string, note string, err error) {
	ids = distinct(query["i"])
	if short := query.Get("runs"); short != "" {
		endings, err := runEndings(short)
		if err != nil {
			return nil, "", err
		}
		if ids, err = db.IterationsEndingIn(query.Get("of"), endings); err != nil {
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
		q.Page = store.Page{Limit: maxCompared}
		list, err := db.Iterations(experiment, q)
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
		return nil, "", store.Invalid("i", "Choose 2 to %d runs in the table first.", maxCompared)
	}
	return ids, note, nil
}

// leftOutRuns returns a note about the runs of an address that do not exist any
// more.
func leftOutRuns(missing int) string {
	if missing == 1 {
		return "One of these runs was deleted and is left out."
	}
	return fmt.Sprintf("%d of these runs were deleted and are left out.", missing)
}

// runEndings reads the short form in which addresses name many runs: the last 48 bits of each
// id, in base64, with dots between them.
func runEndings(short string) ([]string, error) {
	var endings []string
	for part := range strings.SplitSeq(short, ".") {
		b, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil || len(b) != store.EndingLength/2 {
			return nil, store.Invalid("runs", "The address does not name runs; choose them in the table again.")
		}
		endings = append(endings, hex.EncodeToString(b))
	}
	if len(endings) > maxCompared {
		return nil, store.Invalid("runs", "Choose 2 to %d runs in the table first.", maxCompared)
	}
	return distinct(endings), nil
}

// distinct returns each of some texts once, in the order of the first ones.
func distinct(all []string) []string {
	known := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(all), func(text string) bool {
		again := known[text]
		known[text] = true
		return again
	})
}

// compared returns the runs that an address compares, without those that were
// deleted, and the experiment of the first one. note says what is left out. Errors:
// NOT_FOUND when none of them is there.
func (s *site) compared(db *store.View, query url.Values) (all []compared, experimentID, note string, err error) {
	ids, note, err := s.comparedIDs(db, query)
	if err != nil {
		return nil, "", "", err
	}
	runs, err := db.IterationsByID(ids)
	if err == nil && len(runs) == 0 {
		err = errRunsGone
	}
	if err != nil {
		return nil, "", "", err
	}
	if missing := len(ids) - len(runs); missing > 0 {
		note = leftOutRuns(missing)
	}
	ids = ids[:0:0]
	for _, i := range runs {
		ids = append(ids, i.ID)
	}
	summaries, err := db.Summaries(ids)
	if err != nil {
		return nil, "", "", err
	}
	snapshots, err := db.Snapshots(ids)
	if err != nil {
		return nil, "", "", err
	}
	for at, i := range runs {
		c := compared{run: s.run(i), summary: summaries[at], snapshot: snapshots[i.ID]}
		c.Params, c.Metrics = short(c.summary.Params), map[string]store.Value{}
		for key, m := range c.summary.Metrics {
			c.Metrics[key] = m.Last
		}
		all = append(all, c)
	}
	return all, runs[0].ExperimentID, note, nil
}

// comparison shows runs side by side.
func (s *site) comparison(w http.ResponseWriter, r *http.Request, user store.User) error {
	return s.show(w, r, user, http.StatusOK, func(db *store.View) (templ.Component, error) {
		all, experimentID, note, err := s.compared(db, r.URL.Query())
		if err != nil {
			return nil, err
		}
		e, p, err := s.experimentOf(db, experimentID)
		if err != nil {
			return nil, err
		}
		o, err := db.Objective(e)
		if err != nil {
			return nil, err
		}
		v := compareView{ExperimentID: e.ID, Note: note, Sections: compareSections(all, o)}
		v.Diffs, v.MoreDiff = sharedDiffs(all)
		if o != nil {
			if at := bestOf(all, o.Goal, bestValue(*o)); len(at) > 0 {
				v.Best = all[at[0]].ID
			}
		}
		for _, c := range all {
			v.Runs = append(v.Runs, c.run)
		}
		f, err := s.inside(db, "Compare", user, place{projectID: e.ProjectID, experimentID: e.ID})
		if err != nil {
			return nil, err
		}
		f.Module, f.Charts = "compare.js", true
		f.Crumbs = []crumb{{"Projects", "/"}, {p.Name, "/project/" + p.ID}, {e.Name, "/experiment/" + e.ID}, {Name: "Compare"}}
		return comparePage(f, v), nil
	})
}

// comparedData returns the runs for the plots of the page.
func (s *site) comparedData(r *http.Request, db *store.View) (any, error) {
	all, experimentID, _, err := s.compared(db, r.URL.Query())
	if err != nil {
		return nil, err
	}
	answer := struct {
		Runs      []run               `json:"runs"`
		Objective string              `json:"objective,omitempty"` // name of the best values
		Best      []*store.Value      `json:"best,omitempty"`      // by run, nil for none
		Extremes  map[string]extremes `json:"extremes,omitempty"`  // by metric
	}{Extremes: extremesOf(all)}
	e, err := db.Experiment(experimentID)
	if err != nil {
		return nil, err
	}
	o, err := db.Objective(e)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		answer.Runs = append(answer.Runs, c.run)
		if o == nil {
			continue
		}
		answer.Objective = o.Metric + " " + o.Statistic()
		if v, ok := bestValue(*o)(c); ok {
			answer.Best = append(answer.Best, &v)
		} else {
			answer.Best = append(answer.Best, nil)
		}
	}
	return answer, nil
}

func compareSections(all []compared, o *store.Objective) []compareSection {
	environment := []struct {
		name string
		of   func(store.Snapshot) string
	}{
		{"Command", func(s store.Snapshot) string { return cell(s.Command) }},
		{"Entry point", func(s store.Snapshot) string { return s.Entrypoint }},
		{"Host", func(s store.Snapshot) string { return s.Hostname }},
		{"Runtime", func(s store.Snapshot) string { return s.Runtime }},
		{"Commit", func(s store.Snapshot) string { return strings.TrimSuffix(clipText(s.GitSHA, 12), "…") }},
		{"Working tree", workingTree},
	}
	var env []compareRow
	for _, e := range environment {
		env = append(env, newCompareRow(all, e.name, func(c compared) string { return e.of(c.snapshot) }))
	}
	env = slices.DeleteFunc(env, func(r compareRow) bool {
		return !slices.ContainsFunc(r.Cells, func(c string) bool { return c != "" })
	})
	var params, metrics []compareRow
	most := maxCells / len(all)
	paramNames := keysOf(all, func(c compared) []string { return keys(c.summary.Params) })
	size := func(key string) (n int) {
		for _, c := range all {
			n += min(len(c.summary.Params[key]), maxCell)
		}
		return n
	}
	for _, key := range fit(paramNames, most, size) {
		params = append(params, newCompareRow(all, key, func(c compared) string { return cell(c.summary.Params[key]) }))
	}
	names := keysOf(all, func(c compared) []string { return keys(c.Metrics) })
	var summaries []store.Summary
	for _, c := range all {
		summaries = append(summaries, c.summary)
	}
	byInterest(names, func(name string) string { return name }, spreads(summaries))
	putFirst(names, o, func(name string) string { return name })
	values := func(key, metric string, goal store.Goal, of func(compared) (store.Value, bool)) {
		row := newCompareRow(all, key, func(c compared) string {
			if v, ok := of(c); ok {
				return number(v)
			}
			return ""
		})
		row.Metric = metric
		if best := bestOf(all, goal, of); row.Differs && len(best) > 0 {
			row.Best = make([]bool, len(all))
			for _, at := range best {
				row.Best[at] = true
			}
		}
		metrics = append(metrics, row)
	}
	for _, key := range names[:min(len(names), most)] {
		goal := goal.Of(key)
		if o != nil && key == o.Metric {
			goal = o.Goal
			values(key+" "+map[store.Goal]string{store.Minimize: "min", store.Maximize: "max"}[goal], "", goal, bestValue(*o))
		}
		values(key, key, goal, func(c compared) (store.Value, bool) {
			v, ok := c.Metrics[key]
			return v, ok
		})
	}
	differingFirst(params)
	differingFirst(env)
	return []compareSection{
		{Title: "Parameters", Rows: params, Note: leftOut(len(params), len(paramNames))},
		{Title: "Metrics, last values", Rows: metrics, Note: leftOut(min(len(names), most), len(names))},
		{Title: "Environment", Rows: env}, packageSection(all),
	}
}

// differingFirst moves the rows in which runs differ before the others.
func differingFirst(rows []compareRow) {
	slices.SortStableFunc(rows, func(a, b compareRow) int {
		rank := map[bool]int{true: 0, false: 1}
		return cmp.Compare(rank[a.Differs], rank[b.Differs])
	})
}

// bestValue returns a function that returns the best value of a run.
func bestValue(o store.Objective) func(compared) (store.Value, bool) {
	return func(c compared) (store.Value, bool) {
		m := c.summary.Metrics[o.Metric]
		v := m.Min
		if o.Goal == store.Maximize {
			v = m.Max
		}
		if v == nil {
			return 0, false
		}
		return *v, true
	}
}

// bestOf returns the places of the runs that have the best value; none without a goal.
func bestOf(all []compared, goal store.Goal, of func(compared) (store.Value, bool)) (places []int) {
	if goal == "" {
		return nil
	}
	var best store.Value
	for at, c := range all {
		v, ok := of(c)
		switch {
		case !ok || math.IsNaN(float64(v)):
		case len(places) == 0 || v < best && goal == store.Minimize || v > best && goal == store.Maximize:
			best, places = v, []int{at}
		case v == best:
			places = append(places, at)
		}
	}
	return places
}

// workingTree returns whether the files were those of the commit, as text; "" if no
// commit was recorded.
func workingTree(s store.Snapshot) string {
	if s.GitDirty == nil || s.GitSHA == "" {
		return ""
	}
	return map[bool]string{true: "changed since the commit", false: "as committed"}[*s.GitDirty]
}

func newCompareRow(all []compared, key string, of func(compared) string) compareRow {
	row := compareRow{Key: key}
	for _, c := range all {
		row.Cells = append(row.Cells, of(c))
	}
	row.Differs = slices.ContainsFunc(row.Cells, func(c string) bool { return c != row.Cells[0] })
	return row
}

func keys[V any](m map[string]V) []string {
	var all []string
	for key := range m {
		all = append(all, key)
	}
	return all
}

// keysOf returns all names that one of the runs has, sorted.
func keysOf(all []compared, of func(compared) []string) []string {
	var names []string
	for _, c := range all {
		names = append(names, of(c)...)
	}
	slices.SortFunc(names, cmp.Compare)
	return slices.Compact(names)
}

func colorClass(r run) string { return "c" + strconv.Itoa(r.Color) }
