package ui

import (
	"cmp"
	"slices"
	"strings"

	"tracker/store"
)

const (
	defaultColumns = 3  // default parameters, and default metrics, of a table
	telling        = 20 // number of runs that are read, the newest
)

// defaultColumns returns the default columns of a table: the best value of the
// objective, then parameters that differ among the newest runs, and metrics of what
// was learned.
func (s *site) defaultColumns(db *store.View, experimentID string, o *store.Objective) (string, error) {
	params, err := db.VaryingParams(experimentID, telling)
	if err != nil {
		return "", err
	}
	found, err := metricKeys(db, experimentID, nil, "", false, store.Page{Limit: store.MaxLimit})
	if err != nil {
		return "", err
	}
	metrics := found.Data
	slices.SortStableFunc(metrics, func(a, b store.Key) int { return cmp.Compare(interest(a.Key), interest(b.Key)) })
	var names []string
	if o != nil {
		names = append(names, o.Value())
		putFirst(metrics, o, func(k store.Key) string { return k.Key })
	}
	for _, key := range params[:min(defaultColumns, len(params))] {
		names = append(names, store.Key{Kind: store.ParamKey, Key: key}.Column())
	}
	if o != nil {
		metrics = metrics[:min(defaultColumns-1, len(metrics))]
	}
	for _, k := range metrics[:min(defaultColumns, len(metrics))] {
		names = append(names, k.Column())
	}
	return strings.Join(names, ", "), nil
}
