package search

import (
	"database/sql/driver"
	"maps"
	"slices"

	"tracker/store/filter"
	"tracker/store/points"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// Result is the value of one metric in one iteration.
type Result struct {
	Num   int64    // number of the iteration
	Value *float64 // nil if the value is NaN or missing
	There bool     // whether the iteration has the metric; the value can be NaN
}

// Results calls fn with the value of a metric in each of the newest iterations that match q. It
// calls fn for at most limit iterations and returns the number of all matches.
func (s *Snapshot) Results(experimentID string, q Query, metric filter.Ref, limit int, fn func(Result)) (total int, err error) {
	j, err := s.joins([]string{experimentID}, q.Metrics)
	if err != nil {
		return 0, err
	}
	where := j.conditions(q)
	columns := `iteration.num AS num, ` + j.metric(metric) + ` AS value, ` + j.isThere(metric.Key) + ` AS there`
	statement, err := s.hits(&j, experimentID, q.Where, columns, where)
	if err != nil {
		return 0, err
	}
	statement.Add(` SELECT num, value, there, (SELECT count(*) FROM hit) FROM hit ORDER BY num DESC LIMIT ?`, limit)
	rows, err := statement.rows(s.Tx.Tx)
	err = sqlite.Each(rows, err, func() error {
		var r Result
		if err := rows.Scan(&r.Num, &r.Value, &r.There, &total); err != nil {
			return err
		}
		fn(r)
		return nil
	})
	return total, err
}

// Nums returns the numbers of the newest iterations that match q, newest first. It returns at
// most limit numbers, and the number of all matches.
func (s *Snapshot) Nums(experimentID string, q Query, limit int) (nums []int64, total int, err error) {
	j, err := s.joins([]string{experimentID}, q.Metrics)
	if err != nil {
		return nil, 0, err
	}
	where := j.conditions(q)
	statement, err := s.hits(&j, experimentID, q.Where, `iteration.num AS num`, where)
	if err != nil {
		return nil, 0, err
	}
	statement.Add(` SELECT num, (SELECT count(*) FROM hit) FROM hit ORDER BY num DESC LIMIT ?`, limit)
	rows, err := statement.rows(s.Tx.Tx)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var num int64
		if err := rows.Scan(&num, &total); err != nil {
			return nil, 0, err
		}
		nums = append(nums, num)
	}
	return nums, total, rows.Err()
}

// VaryingParams returns the parameters that differ among the iterations that match q. It
// includes parameters that some matching iterations lack. keys are the parameters to compare.
func (s *Snapshot) VaryingParams(experimentID string, q Query, keys []string) (map[string]bool, error) {
	j, err := s.joins([]string{experimentID}, q.Metrics)
	if err != nil {
		return nil, err
	}
	where := j.conditions(q)
	statement, err := s.hits(&j, experimentID, q.Where, `iteration.num AS num`, where)
	if err != nil {
		return nil, err
	}
	statement.Add(` SELECT parameter.key
		FROM hit
		CROSS JOIN json_each(?) AS list
		JOIN parameter ON parameter.iteration_num = hit.num AND parameter.key = list.value
		GROUP BY parameter.key
		HAVING min(parameter.value) <> max(parameter.value) OR count(*) < (SELECT count(*) FROM hit)`, sqlite.JSON(keys))
	vary := map[string]bool{}
	rows, err := statement.rows(s.Tx.Tx)
	err = sqlite.Each(rows, err, func() error {
		var key string
		if err := rows.Scan(&key); err != nil {
			return err
		}
		vary[key] = true
		return nil
	})
	return vary, err
}

// hits returns the start of a statement that defines the hit table, which holds the matching
// iterations.
func (s *Snapshot) hits(j *joins, experimentID, condition, columns string, where *SQL) (*SQL, error) {
	names, err := s.known([]string{experimentID}, j.keys)
	if err != nil {
		return nil, err
	}
	statement := new(SQL)
	j.hits(statement, columns, names)
	statement.Add(` WHERE iteration.experiment_id = ? AND `+condition, experimentID)
	statement.Add(where.String()+`)`, where.Args...)
	return statement, nil
}

// Columns reads the values of columns in the given iterations. It calls text with the field, the
// name and the value of each parameter and of each text of the summary. It calls metric with the
// column label and value of each metric.
func Columns(tx *points.Tx, nums []int64, columns []filter.Column,
	text func(num int64, of filter.Field, name, value string), metric func(num int64, label string, value scalar.Value)) error {
	names := map[filter.Field][]string{}
	metrics := map[string][]filter.Column{} // columns by metric key
	for _, c := range columns {
		if of, ok := texts[c.Field]; ok {
			names[c.Field] = append(names[c.Field], of.prefix+c.Name)
		} else {
			metrics[c.Name] = append(metrics[c.Name], c)
		}
	}
	for field, keys := range names {
		of := texts[field]
		err := tx.EachRow(`SELECT iteration_num, key, value FROM `+of.table+`
			WHERE iteration_num IN (SELECT value FROM json_each(?)) AND key IN (SELECT value FROM json_each(?))`,
			func(row []driver.Value) error {
				text(row[0].(int64), field, row[1].(string)[len(of.prefix):], row[2].(string))
				return nil
			}, sqlite.JSON(nums), sqlite.JSON(keys))
		if err != nil {
			return err
		}
	}
	if len(metrics) == 0 {
		return nil
	}
	keys := slices.Sorted(maps.Keys(metrics))
	late, err := lateIn(tx, nums, keys)
	if err != nil {
		return err
	}
	rows, err := tx.Rows(`SELECT iteration_num, key, count, last, min, max, `+points.MeanSQL+` FROM series
		WHERE iteration_num IN (SELECT value FROM json_each(?)) AND key IN (SELECT value FROM json_each(?))`,
		sqlite.JSON(nums), sqlite.JSON(keys))
	return sqlite.Each(rows, err, func() error {
		var k metricKey
		var count int64
		var last scalar.Value
		var low, high, mean *scalar.Value
		if err := rows.Scan(&k.iteration, &k.name, &count, &last, &low, &high, &mean); err != nil {
			return err
		}
		if s, ok := late[k]; ok {
			count, last, low, high, mean = s.Count, s.Last, s.Min, s.Max, s.Mean()
		}
		for _, c := range metrics[k.name] {
			v := map[string]*scalar.Value{"last": &last, "min": low, "max": high, "mean": mean, "count": new(scalar.Value(count))}[c.Stat]
			if v != nil {
				metric(k.iteration, c.Label, *v)
			}
		}
		return nil
	})
}

// metricKey identifies a metric of an iteration.
type metricKey struct {
	iteration int64
	name      string
}

// lateIn returns the up-to-date statistics of the given metrics in the given iterations. It omits
// series whose rows in the series table are up to date.
func lateIn(tx *points.Tx, nums []int64, metrics []string) (map[metricKey]points.Stats, error) {
	recent, err := tx.Recent(metrics)
	if err != nil {
		return nil, err
	}
	wanted := make(map[int64]bool, len(nums))
	for _, num := range nums {
		wanted[num] = true
	}
	found, err := tx.Late(slices.DeleteFunc(recent, func(s points.Series) bool { return !wanted[s.Iteration] }))
	late := make(map[metricKey]points.Stats, len(found))
	for _, s := range found {
		late[metricKey{s.Iteration, s.Key}] = s.Stats
	}
	return late, err
}
