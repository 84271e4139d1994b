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
	defaultColumns = 3  // default number of parameters and default number of metrics in a table
	wideColumns    = 5  // number of further parameters that a wide table shows by default
	telling        = 20 // number of newest runs whose parameters are compared
)

// defaultColumns returns the default columns of a table. The default columns are the best value of
// the objective, parameters that differ among the newest runs, and the most interesting metrics.
// Parameters with known names, such as lr, come first. A metric with a defined goal is shown with
// its best value, and hidden metrics are omitted.
func (s *site) defaultColumns(db *store.View, experimentID string, o *goal.Objective) (string, error) {
	columns, _, err := s.columnsOf(db, experimentID, o)
	return columns, err
}

// bestStatistics maps the goal of a metric to the statistic with its best value.
var bestStatistics = map[goal.Goal]string{goal.Minimize: ".min", goal.Maximize: ".max"}

// columnsOf returns the default columns of a table, and the parameters that follow them if the
// table is wide.
func (s *site) columnsOf(db *store.View, experimentID string, o *goal.Objective) (columns, wide string, err error) {
	params, err := db.Runs.VaryingParams(experimentID, telling)
	if err != nil {
		return "", "", err
	}
	chart.SortParams(params)
	found, err := metricKeys(db, experimentID, nil, "", false, domain.Page{Limit: domain.MaxLimit})
	if err != nil {
		return "", "", err
	}
	metrics := found.Data
	defined, err := db.Runs.Definitions(experimentID)
	if err != nil {
		return "", "", err
	}
	metrics = slices.DeleteFunc(metrics, func(k search.Key) bool { return defined.Of(k.Key).Hidden })
	slices.SortStableFunc(metrics, func(a, b search.Key) int { return cmp.Compare(goal.InterestOf(a.Key), goal.InterestOf(b.Key)) })
	var names []string
	if o != nil {
		names = append(names, o.Value())
		chart.PutFirst(metrics, o, func(k search.Key) string { return k.Key })
	}
	first := min(defaultColumns, len(params))
	names = append(names, paramColumns(params[:first])...)
	if o != nil {
		metrics = metrics[:min(defaultColumns-1, len(metrics))]
	}
	for _, k := range metrics[:min(defaultColumns, len(metrics))] {
		names = append(names, k.Column()+bestStatistics[defined.Of(k.Key).Goal])
	}
	more := paramColumns(params[first:min(first+wideColumns, len(params))])
	return strings.Join(names, ", "), strings.Join(more, ", "), nil
}

// paramColumns returns the columns of parameters.
func paramColumns(params []string) (columns []string) {
	for _, key := range params {
		columns = append(columns, search.Key{Kind: search.ParamKey, Key: key}.Column())
	}
	return columns
}
