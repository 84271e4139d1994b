package ui

import (
	"cmp"
	"fmt"
	"slices"

	"tracker/store/difference"
	"tracker/store/scalar"
	"tracker/ui/chart"
	"tracker/ui/plain"
)

const (
	maxDiffs    = 8      // maximum number of diffs in a comparison
	maxDiffSize = 20_000 // maximum number of characters shown of one diff
	maxPackages = 200    // maximum number of packages listed in a comparison
	maxExtremes = 50_000 // maximum number of minimum and maximum values in a response
)

// sharedDiff holds an uncommitted diff and the runs that recorded it.
type sharedDiff struct {
	Runs []run
	Text string
}

// sharedDiffs returns the distinct uncommitted diffs, most common first, and the number of
// omitted diffs.
func sharedDiffs(all []compared) (diffs []sharedDiff, more int) {
	places := map[string]int{}
	for _, c := range all {
		text := c.snapshot.GitDiff
		if text == "" {
			continue
		}
		at, ok := places[text]
		if !ok {
			at = len(diffs)
			places[text] = at
			diffs = append(diffs, sharedDiff{Text: plain.Clip(text, maxDiffSize)})
		}
		diffs[at].Runs = append(diffs[at].Runs, c.run)
	}
	slices.SortStableFunc(diffs, func(a, b sharedDiff) int { return cmp.Compare(len(b.Runs), len(a.Runs)) })
	more = max(0, len(diffs)-maxDiffs)
	return diffs[:len(diffs)-more], more
}

// diffOf returns a title that names the first run with the diff and the number of further runs.
func diffOf(d sharedDiff) string {
	name := d.Runs[0].Name
	if more := len(d.Runs) - 1; more > 0 {
		name += fmt.Sprintf(" and %d more", more)
	}
	return name
}

// packageSection lists the packages whose versions differ among runs. Runs without recorded
// dependencies are not compared.
func packageSection(all []compared) compareSection {
	versions := map[string]map[string]string{} // by run ID, then package name
	for _, c := range all {
		if c.snapshot.Dependencies != "" {
			versions[c.ID] = difference.Packages(c.snapshot.Dependencies)
		}
	}
	s := compareSection{Title: "Packages"}
	if len(versions) < 2 {
		return s
	}
	same := 0
	for _, name := range keysOf(all, func(c compared) []string { return keys(versions[c.ID]) }) {
		row := newCompareRow(all, name, func(c compared) string { return versions[c.ID][name] })
		row.Differs = false
		var first *string
		for _, c := range all {
			v, recorded := versions[c.ID]
			version := v[name]
			if recorded && first == nil {
				first = &version
			}
			row.Differs = row.Differs || recorded && version != *first
		}
		switch {
		case !row.Differs:
			same++
		case len(s.Rows) < maxPackages:
			s.Rows = append(s.Rows, row)
		default:
			s.Note = fmt.Sprintf("Only the first %d packages that differ are shown. ", maxPackages)
		}
	}
	switch same {
	case 0:
	case 1:
		s.Note += "1 package has the same version in all runs."
	default:
		s.Note += fmt.Sprintf("%d packages have the same versions in all runs.", same)
	}
	return s
}

// extremes holds the minimum and maximum of a metric for each run. An element is nil if the run
// has none.
type extremes struct {
	Min []*scalar.Value `json:"min"`
	Max []*scalar.Value `json:"max"`
}

// extremesOf returns the minima and maxima of the most interesting metrics, up to maxExtremes
// values in total.
func extremesOf(all []compared) map[string]extremes {
	names := keysOf(all, func(c compared) []string { return keys(c.Metrics) })
	chart.Sort(names, func(name string) string { return name }, nil)
	names = names[:min(len(names), maxExtremes/(2*len(all)))]
	found := map[string]extremes{}
	for _, name := range names {
		var e extremes
		for _, c := range all {
			m := c.summary.Metrics[name]
			e.Min, e.Max = append(e.Min, m.Min), append(e.Max, m.Max)
		}
		found[name] = e
	}
	return found
}
