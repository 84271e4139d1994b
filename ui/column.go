package ui

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"tracker/store"
)

const (
	defaultColumns   = 3   // parameters, and metrics, that a table has which nobody has chosen columns for
	metricCandidates = 100 // names that are looked at
	telling          = 20  // runs that are looked at, the newest
)

// defaultColumns are those that say most about the newest runs: parameters that
// are not the same in all of them, and metrics of what was learned.
func (s *site) defaultColumns(ctx context.Context, actor store.Actor, experimentID string) (string, error) {
	params, err := s.DB.VaryingParams(ctx, actor, experimentID, telling)
	if err != nil {
		return "", err
	}
	kind := store.MetricKey
	found, err := s.DB.Keys(ctx, actor, experimentID, store.KeyQuery{Page: store.Page{Limit: metricCandidates}, Kind: &kind})
	if err != nil {
		return "", err
	}
	metrics := found.Data
	slices.SortStableFunc(metrics, func(a, b store.Key) int { return cmp.Compare(interest(a.Key), interest(b.Key)) })
	var names []string
	for _, key := range params[:min(defaultColumns, len(params))] {
		names = append(names, columnName(store.Key{Kind: store.ParamKey, Key: key}))
	}
	for _, k := range metrics[:min(defaultColumns, len(metrics))] {
		names = append(names, columnName(k))
	}
	return strings.Join(names, ", "), nil
}

// interest orders names of metrics: what was measured on data that was held
// back, then other losses and scores, the rest, and last what the machine did.
func interest(key string) int {
	group, name, _ := strings.Cut(strings.ToLower(key), "/")
	switch {
	case group == "system":
		return 4
	case group == "summary":
		return 3
	case strings.HasPrefix(group, "val"), strings.HasPrefix(group, "test"), strings.HasPrefix(group, "eval"):
		return 0
	case strings.Contains(group+name, "loss"), strings.Contains(group+name, "acc"), strings.Contains(group+name, "score"):
		return 1
	}
	return 2
}
