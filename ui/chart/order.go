package chart

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"tracker/store/goal"
	"tracker/store/runs"
)

// groupOf returns the part of a metric name before the first slash, or "" if there is no slash.
func groupOf(key string) string {
	if at := strings.IndexByte(key, '/'); at > 0 {
		return key[:at]
	}
	return ""
}

// Sort sorts elements in the order in which pages show charts. The function key returns an
// element's metric name. The metrics of a group stay together.
//
// Groups are sorted by the interest of their most interesting metric. Groups of equal interest are
// sorted by spread. Metrics without a group follow all groups of equal interest. Within a group,
// metrics are sorted by interest, and metrics of equal interest by spread. Larger spreads come
// first.
func Sort[T any](all []T, key func(T) string, spread map[string]int) {
	type ranked struct {
		one        T
		key, group string
		rank       goal.Interest
		spread     int
	}
	// Rank each name once, not in each comparison. A list can contain 100,000 names.
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

// Spreads returns a number from 0 to 5 for each metric, which grows with the differences
// between runs. The number is the standard deviation of the runs' means, in tenths of the range
// of all values, rounded up. A metric that only one run logged gets 1 if its value changes. Because
// the scale is coarse, the order of charts stays stable while new points arrive.
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

// PutFirst moves the group of the objective's metric to the beginning, before more interesting
// groups. Within the group, PutFirst moves the objective's metric to the beginning.
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
