package ui

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/goal"
	"tracker/store/runs"
	"tracker/store/search"
)

// groupOf returns the part of a metric's name before the slash, "" for none.
func groupOf(key string) string {
	if at := strings.IndexByte(key, '/'); at > 0 {
		return key[:at]
	}
	return ""
}

// byInterest sorts names of metrics in the order of charts. Groups stay together and are placed by
// their most interesting metric. Within a group the most interesting metrics come first; among
// equals, metrics in which runs differ most, by spread. Metrics without a group come after groups
// of the same interest.
func byInterest[T any](all []T, key func(T) string, spread map[string]int) {
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

// spreads returns the differences between runs in each metric: the standard deviation of the runs'
// means as a share of the range of all values, from 0 to 5 in tenths. For a metric that only one
// run has, it is 1 if the metric changes. It is coarse, so that the order of charts does not change
// with every point.
func spreads(runs []runs.Summary) map[string]int {
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

// The data that spreads are estimated from.
const (
	spreadRuns   = 20   // first runs of an experiment
	spreadValues = 2000 // approximate number of metric summaries
)

// spreadsOf returns the spreads of the metrics of an experiment, nil if there are too many metrics.
func spreadsOf(db *store.View, experimentID string, metrics int) (map[string]int, error) {
	limit := min(spreadRuns, spreadValues/max(1, metrics))
	if limit < 2 {
		return nil, nil
	}
	runs, err := db.Runs.Iterations(experimentID, runs.IterationQuery{Sort: "created", Page: domain.Page{Limit: limit}})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, run := range runs.Data {
		ids = append(ids, run.ID)
	}
	summaries, err := db.Runs.Summaries(ids)
	return spreads(summaries), err
}

// putFirst moves the group of the objective's metric, and that metric within it, to the beginning,
// before groups of greater interest.
func putFirst[T any](all []T, o *goal.Objective, key func(T) string) {
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

// metricKeys returns a page of the metrics of an experiment whose names contain part. The first
// ones in alphabetical order, up to store.MaxLimit, are sorted by interest and spread, after the
// metric of the objective if there is one.
func metricKeys(db *store.View, experimentID string, o *goal.Objective, part string, pattern bool, page domain.Page) (domain.List[search.Key], error) {
	kind := search.MetricKey
	q := runs.KeyQuery{Page: page, Kind: &kind, Part: part, Pattern: pattern}
	if page.Offset+page.Limit > domain.MaxLimit {
		return db.Runs.Keys(experimentID, q)
	}
	q.Page = domain.Page{Limit: domain.MaxLimit}
	list, err := db.Runs.Keys(experimentID, q)
	if err != nil {
		return list, err
	}
	name := func(k search.Key) string { return k.Key }
	spread, err := spreadsOf(db, experimentID, list.Total)
	if err != nil {
		return list, err
	}
	byInterest(list.Data, name, spread)
	putFirst(list.Data, o, name)
	from := min(page.Offset, len(list.Data))
	list.Data = list.Data[from:min(from+page.Limit, len(list.Data))]
	list.Limit, list.Offset = page.Limit, page.Offset
	return list, nil
}
