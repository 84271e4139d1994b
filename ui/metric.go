package ui

import (
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/goal"
	"tracker/store/runs"
	"tracker/store/search"
	"tracker/ui/chart"
)

// These constants limit the data from which spreads are estimated.
const (
	spreadRuns   = 20   // maximum number of runs, oldest first
	spreadValues = 2000 // approximate maximum number of metric summaries
)

// spreadsOf returns the spread of each metric of an experiment, for chart.Sort. It returns nil
// if the experiment has too many metrics.
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
	return chart.Spreads(summaries), err
}

// metricKeys returns a page of an experiment's metrics whose names contain part or, if pattern is
// true, match the pattern part. Among the first domain.MaxLimit metrics, the objective's metric
// comes first, and all others are sorted by interest and spread. Later metrics are sorted by name.
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
	chart.Sort(list.Data, name, spread)
	chart.PutFirst(list.Data, o, name)
	from := min(page.Offset, len(list.Data))
	list.Data = list.Data[from:min(from+page.Limit, len(list.Data))]
	list.Limit, list.Offset = page.Limit, page.Offset
	return list, nil
}

// chartKey is a metric with its definition, for charts.
type chartKey struct {
	search.Key
	Definition runs.Definition `json:"definition,omitzero"`
}

// chartKeys returns the same page as metricKeys, with the definitions of the metrics.
func chartKeys(db *store.View, experimentID string, o *goal.Objective, part string, pattern bool, page domain.Page) (domain.List[chartKey], error) {
	found, err := metricKeys(db, experimentID, o, part, pattern, page)
	list := domain.List[chartKey]{Data: []chartKey{}, Total: found.Total, Limit: found.Limit, Offset: found.Offset}
	if err != nil {
		return list, err
	}
	defined, err := db.Runs.Definitions(experimentID)
	for _, k := range found.Data {
		list.Data = append(list.Data, chartKey{k, defined.Of(k.Key)})
	}
	return list, err
}
