package search

import (
	"database/sql/driver"
	"maps"
	"slices"

	"tracker/store/filter"
	"tracker/store/json"
	"tracker/store/points"
	"tracker/store/scalar"
)

// Result is the value of a metric in an iteration.
type Result struct {
	Num   int64    // number of the iteration
	Value *float64 // nil for NaN and without a value
	There bool     // there is a value, or NaN
}

// Results calls fn with the values of a metric in the newest iterations of an experiment
// that pass a query, up to limit. It returns the number of all iterations that pass.
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
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var r Result
		if err := rows.Scan(&r.Num, &r.Value, &r.There, &total); err != nil {
			return 0, err
		}
		fn(r)
	}
	return total, rows.Err()
}

// VaryingParams returns the parameters of keys, a JSON list, that differ among the
// iterations of an experiment that pass a query, or that only some of these iterations
// have.
func (s *Snapshot) VaryingParams(experimentID string, q Query, keys string) (map[string]bool, error) {
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
		HAVING min(parameter.value) <> max(parameter.value) OR count(*) < (SELECT count(*) FROM hit)`, keys)
	rows, err := statement.rows(s.Tx.Tx)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	vary := map[string]bool{}
	for rows.Next() {
		var key string
		if err := rows.Scan(&key); err != nil {
			return nil, err
		}
		vary[key] = true
	}
	return vary, rows.Err()
}

// hits returns the start of a statement, with the whole table hit.
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

// Columns calls param and metric with the values of columns in the iterations with these
// numbers: param with the name of the parameter, metric with the label of the column.
func Columns(tx *points.Tx, nums []int64, columns []filter.Column,
	param func(num int64, key, value string), metric func(num int64, label string, value scalar.Value)) error {
	list, err := json.Marshal(nums)
	if err != nil {
		return err
	}
	var params []string
	metrics := map[string][]filter.Column{} // by key
	for _, c := range columns {
		if c.Field == filter.Param {
			params = append(params, c.Name)
		} else {
			metrics[c.Name] = append(metrics[c.Name], c)
		}
	}
	if len(params) > 0 {
		keys, err := json.Marshal(params)
		if err != nil {
			return err
		}
		err = tx.EachRow(`SELECT iteration_num, key, value FROM parameter
			WHERE iteration_num IN (SELECT value FROM json_each(?)) AND key IN (SELECT value FROM json_each(?))`,
			func(row []driver.Value) error {
				param(row[0].(int64), row[1].(string), row[2].(string))
				return nil
			}, string(list), string(keys))
		if err != nil {
			return err
		}
	}
	if len(metrics) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(metrics))
	late, err := lateIn(tx, nums, names)
	if err != nil {
		return err
	}
	keys, err := json.Marshal(names)
	if err != nil {
		return err
	}
	rows, err := tx.Rows(`SELECT iteration_num, key, count, last, min, max, `+points.MeanSQL+` FROM series
		WHERE iteration_num IN (SELECT value FROM json_each(?)) AND key IN (SELECT value FROM json_each(?))`,
		string(list), string(keys))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
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
	}
	return rows.Err()
}

// metricKey names a metric of an iteration.
type metricKey struct {
	iteration int64
	name      string
}

// lateIn returns the statistics of these metrics in iterations that the rows lack.
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
