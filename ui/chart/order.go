package chart

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"tracker/store/goal"
	"tracker/store/runs"
)

// groupOf returns the part of a metric's name before the slash, "" for none.
func groupOf(key string) string {
	if at := strings.IndexByte(key, '/'); at > 0 {
		return key[:at]
	}
	return ""
}

// Sort sorts names of metrics in the order of charts. Groups stay together and are placed by
// their most interesting metric. Within a group the most interesting metrics come first; among
// equals, metrics in which runs differ most, by spread. Metrics without a group come after groups
// of the same interest.
func Sort[T any](all []T, key func(T) string, spread map[string]int) {
	type ranked struct {
		one        T
		key, group string
		rank       goal.Interest
		spread     int
	}
	// Each name is ranked once, not in each comparison: there may be 100,000.
	sorted := make([]ranked, len(all))
	best, most := map[string]goal.Interest{}, map[string]int{}
	for i, one := range all {
		name := key(one)
		r := ranked{one, name, groupOf(name), goal.InterestOf(name), spread[name]}
		if known, ok := best[r.group]; !ok || r.rank < known {
			best[r.group] = r.rank
		}
		most[r.group] = max(most[r.group], r.spread)
		sorted[i] = r
	}
	last := func(group string) int {
		if group == "" {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(sorted, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(best[a.group], best[b.group]), cmp.Compare(last(a.group), last(b.group)), cmp.Compare(most[b.group], most[a.group]),
			cmp.Compare(a.group, b.group), cmp.Compare(a.rank, b.rank), cmp.Compare(b.spread, a.spread), cmp.Compare(a.key, b.key))
	})
	for i, r := range sorted {
		all[i] = r.one
	}
}

// Spreads returns the differences between runs in each metric: the standard deviation of the runs'
// means as a share of the range of all values, from 0 to 5 in tenths. For a metric that only one
// run has, it is 1 if the metric changes. It is coarse, so that the order of charts does not change
// with every point.
func Spreads(runs []runs.Summary) map[string]int {
	type moments struct{ n, sum, squares, low, high float64 }
	all := map[string]moments{}
	for _, run := range runs {
		for key, s := range run.Metrics {
			if s.Mean == nil || s.Min == nil || s.Max == nil {
				continue
			}
			m, ok := all[key]
			if !ok {
				m.low, m.high = math.Inf(1), math.Inf(-1)
			}
			mean := float64(*s.Mean)
			m.n, m.sum, m.squares = m.n+1, m.sum+mean, m.squares+mean*mean
			m.low, m.high = min(m.low, float64(*s.Min)), max(m.high, float64(*s.Max))
			all[key] = m
		}
	}
	found := map[string]int{}
	for key, m := range all {
		if m.n == 1 {
			if m.high > m.low {
				found[key] = 1
			}
			continue
		}
		deviation := math.Sqrt(max(0, m.squares/m.n-m.sum*m.sum/m.n/m.n))
		if share := 10 * deviation / (m.high - m.low); !math.IsNaN(share) && !math.IsInf(share, 0) {
			found[key] = int(math.Ceil(min(share, 5)))
		}
	}
	return found
}

// PutFirst moves the group of the objective's metric, and that metric within it, to the beginning,
// before groups of greater interest.
func PutFirst[T any](all []T, o *goal.Objective, key func(T) string) {
	if o == nil {
		return
	}
	slices.SortStableFunc(all, func(x, y T) int {
		rank := func(key string) int {
			switch {
			case key == o.Metric:
				return 0
			case groupOf(key) != "" && groupOf(key) == groupOf(o.Metric):
				return 1
			}
			return 2
		}
		return cmp.Compare(rank(key(x)), rank(key(y)))
	})
}
