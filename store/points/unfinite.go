package points

import (
	"slices"

	"tracker/store/json"
)

// Unfinite returns the series of the given iterations whose last value is NaN or infinite.
func (tx *Tx) Unfinite(iterations ...int64) ([]Series, error) {
	list, err := json.Marshal(iterations)
	if err != nil {
		return nil, err
	}
	// The row of a series can lack points of the recent table.
	all, err := tx.seriesWhere(`series.iteration_num IN (SELECT value FROM json_each(?))
		AND (series.last IS NULL OR series.last IN (9e999, -9e999) OR series.id IN (SELECT series_id FROM recent))
		ORDER BY series.iteration_num, series.key`, string(list))
	all = slices.DeleteFunc(all, func(s *series) bool { return s.Count == 0 || s.Last.Finite() })
	found := make([]Series, len(all))
	for i, s := range all {
		found[i] = s.statistics().Series
	}
	return found, err
}
