package ui

import (
	"cmp"
	"slices"
	"strings"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/goal"
	"tracker/store/search"
	"tracker/ui/chart"
)

const (
	defaultColumns = 3  // default number of parameters, and of metrics, in a table
	telling        = 20 // number of newest runs whose parameters are compared
)

// defaultColumns returns the default columns of a table. The default columns are the best value
// of the objective, parameters that differ among the newest runs, and the most interesting
// metrics.
func (s *site) defaultColumns(db *store.View, experimentID string, o *goal.Objective) (string, error) {
	params, err := db.Runs.VaryingParams(experimentID, telling)
	if err != nil {
		return "", err
	}
	found, err := metricKeys(db, experimentID, nil, "", false, domain.Page{Limit: domain.MaxLimit})
	if err != nil {
		return "", err
	}
	metrics := found.Data
	slices.SortStableFunc(metrics, func(a, b search.Key) int { return cmp.Compare(goal.InterestOf(a.Key), goal.InterestOf(b.Key)) })
	var names []string
	if o != nil {
		names = append(names, o.Value())
		chart.PutFirst(metrics, o, func(k search.Key) string { return k.Key })
	}
	for _, key := range params[:min(defaultColumns, len(params))] {
		names = append(names, search.Key{Kind: search.ParamKey, Key: key}.Column())
	}
	if o != nil {
		metrics = metrics[:min(defaultColumns-1, len(metrics))]
	}
	for _, k := range metrics[:min(defaultColumns, len(metrics))] {
		names = append(names, k.Column())
	}
	return strings.Join(names, ", "), nil
}
