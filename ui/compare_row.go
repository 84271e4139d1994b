package ui

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"tracker/store/goal"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/ui/chart"
	"tracker/ui/plain"
)

func compareSections(all []compared, o *goal.Objective) []compareSection {
	environment := []struct {
		name string
		of   func(runs.Snapshot) string
	}{
		{"Command", func(s runs.Snapshot) string { return cell(s.Command) }},
		{"Entry point", func(s runs.Snapshot) string { return s.Entrypoint }},
		{"Host", func(s runs.Snapshot) string { return s.Hostname }},
		{"Runtime", func(s runs.Snapshot) string { return s.Runtime }},
		{"Commit", func(s runs.Snapshot) string { return strings.TrimSuffix(plain.Clip(s.GitSHA, 12), "…") }},
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
	chart.SortParams(paramNames)
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
	var summaries []runs.Summary
	for _, c := range all {
		summaries = append(summaries, c.summary)
	}
	chart.Sort(names, func(name string) string { return name }, chart.Spreads(summaries))
	chart.PutFirst(names, o, func(name string) string { return name })
	values := func(key, metric string, goal goal.Goal, of func(compared) (scalar.Value, bool)) {
		var known []scalar.Value
		for _, c := range all {
			if v, ok := of(c); ok {
				known = append(known, v)
			}
		}
		places := plain.Decimals(known)
		row := newCompareRow(all, key, func(c compared) string {
			if v, ok := of(c); ok {
				return plain.Fixed(v, places)
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
		aim := goal.Of(key)
		if o != nil && key == o.Metric {
			aim = o.Goal
			values(key+" "+map[goal.Goal]string{goal.Minimize: "min", goal.Maximize: "max"}[aim], "", aim, bestValue(*o))
		}
		values(key, key, aim, func(c compared) (scalar.Value, bool) {
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

// differingFirst moves rows with different values before rows with equal values.
func differingFirst(rows []compareRow) {
	slices.SortStableFunc(rows, func(a, b compareRow) int {
		rank := map[bool]int{true: 0, false: 1}
		return cmp.Compare(rank[a.Differs], rank[b.Differs])
	})
}

// bestValue returns a function that returns a run's best value of the objective. The function
// returns false if the run has none.
func bestValue(o goal.Objective) func(compared) (scalar.Value, bool) {
	return func(c compared) (scalar.Value, bool) {
		m := c.summary.Metrics[o.Metric]
		v := m.Min
		if o.Goal == goal.Maximize {
			v = m.Max
		}
		if v == nil {
			return 0, false
		}
		return *v, true
	}
}

// bestOf returns the indexes of the runs with the best value. It returns nil if aim is "".
func bestOf(all []compared, aim goal.Goal, of func(compared) (scalar.Value, bool)) (places []int) {
	if aim == "" {
		return nil
	}
	var best scalar.Value
	for at, c := range all {
		v, ok := of(c)
		switch {
		case !ok || math.IsNaN(float64(v)):
		case len(places) == 0 || v < best && aim == goal.Minimize || v > best && aim == goal.Maximize:
			best, places = v, []int{at}
		case v == best:
			places = append(places, at)
		}
	}
	return places
}

// workingTree describes whether the working tree had uncommitted changes. It returns "" if the run
// recorded no commit.
func workingTree(s runs.Snapshot) string {
	if s.GitDirty == nil || s.GitSHA == "" {
		return ""
	}
	return map[bool]string{true: "uncommitted changes", false: "as committed"}[*s.GitDirty]
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

// keysOf returns the sorted names that at least one run has.
func keysOf(all []compared, of func(compared) []string) []string {
	var names []string
	for _, c := range all {
		names = append(names, of(c)...)
	}
	slices.SortFunc(names, cmp.Compare)
	return slices.Compact(names)
}
