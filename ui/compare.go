package ui

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"tracker/store"
)

// maxCompared is how many runs are compared at once.
const maxCompared = 200

// compareView sets runs side by side.
type compareView struct {
	Runs     []run
	Sections []compareSection
}

type compareSection struct {
	Title string
	Rows  []compareRow
}

// compareRow is what the runs have under one name.
type compareRow struct {
	Key     string
	Metric  bool
	Cells   []string
	Differs bool
}

// compared is a run with all that it is compared by.
type compared struct {
	run
	summary  store.Summary
	snapshot store.Snapshot
}

func (s *site) compared(r *http.Request, actor store.Actor) ([]compared, error) {
	ids := r.URL.Query()["i"]
	if len(ids) < 2 || len(ids) > maxCompared {
		return nil, store.Invalid("i", "Choose 2 to %d runs in the table first.", maxCompared)
	}
	var all []compared
	for _, id := range ids {
		i, err := s.DB.Iteration(r.Context(), actor, id)
		if err != nil {
			return nil, err
		}
		c := compared{run: s.run(i)}
		if c.summary, err = s.DB.Summary(r.Context(), actor, id); err != nil {
			return nil, err
		}
		c.snapshot, err = s.DB.Snapshot(r.Context(), actor, id)
		if err != nil && store.AsError(err).Code != store.CodeNotFound {
			return nil, err
		}
		c.Params, c.Metrics = c.summary.Params, map[string]store.Value{}
		for key, m := range c.summary.Metrics {
			c.Metrics[key] = m.Last
		}
		all = append(all, c)
	}
	return all, nil
}

// comparison shows runs side by side.
func (s *site) comparison(w http.ResponseWriter, r *http.Request, user store.User) error {
	ctx, actor := r.Context(), store.Actor{UserID: user.ID}
	all, err := s.compared(r, actor)
	if err != nil {
		return err
	}
	first, err := s.DB.Iteration(ctx, actor, all[0].ID)
	if err != nil {
		return err
	}
	e, p, err := s.experimentOf(ctx, actor, first.ExperimentID)
	if err != nil {
		return err
	}
	v := compareView{Sections: compareSections(all)}
	for _, c := range all {
		v.Runs = append(v.Runs, c.run)
	}
	f, err := s.inside(ctx, "Compare", user, place{projectID: e.ProjectID, experimentID: e.ID})
	if err != nil {
		return err
	}
	f.Module = "compare.js"
	f.Crumbs = []crumb{{"Projects", "/"}, {p.Name, "/project/" + p.ID}, {e.Name, "/experiment/" + e.ID}, {Name: "Compare"}}
	return s.render(w, r, http.StatusOK, comparePage(f, v))
}

// comparedData answers the runs for the plots of the page.
func (s *site) comparedData(r *http.Request, actor store.Actor) (any, error) {
	all, err := s.compared(r, actor)
	answer := struct {
		Runs []run `json:"runs"`
	}{}
	for _, c := range all {
		answer.Runs = append(answer.Runs, c.run)
	}
	return answer, err
}

func compareSections(all []compared) []compareSection {
	environment := []struct {
		name string
		of   func(store.Snapshot) string
	}{
		{"Command", func(s store.Snapshot) string { return s.Command }},
		{"Entry point", func(s store.Snapshot) string { return s.Entrypoint }},
		{"Host", func(s store.Snapshot) string { return s.Hostname }},
		{"Runtime", func(s store.Snapshot) string { return s.Runtime }},
		{"Commit", func(s store.Snapshot) string { return s.GitSHA }},
		{"Working tree", workingTree},
		{"Changes since the commit", func(s store.Snapshot) string { return clip(s.GitDiff, 200) }},
		{"Dependencies", func(s store.Snapshot) string { return s.Dependencies }},
	}
	var env []compareRow
	for _, e := range environment {
		env = append(env, newCompareRow(all, e.name, func(c compared) string { return e.of(c.snapshot) }))
	}
	env = slices.DeleteFunc(env, func(r compareRow) bool {
		return !slices.ContainsFunc(r.Cells, func(c string) bool { return c != "" })
	})
	var params, metrics []compareRow
	for _, key := range keysOf(all, func(c compared) []string { return keys(c.Params) }) {
		params = append(params, newCompareRow(all, key, func(c compared) string { return c.Params[key] }))
	}
	for _, key := range keysOf(all, func(c compared) []string { return keys(c.Metrics) }) {
		row := newCompareRow(all, key, func(c compared) string {
			if v, ok := c.Metrics[key]; ok {
				return number(v)
			}
			return ""
		})
		row.Metric = true
		metrics = append(metrics, row)
	}
	return []compareSection{{"Parameters", params}, {"Environment", env}, {"Metrics, last values", metrics}}
}

func workingTree(s store.Snapshot) string {
	if s.GitDirty == nil {
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
