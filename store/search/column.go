package search

import "tracker/store/filter"

// Result is the value of a metric in an iteration.
type Result struct {
	Num   int64    // of the iteration
	Value *float64 // nil for NaN, and when there is no value
	There bool     // there is a value, or NaN
}

// Results calls fn with the values of a metric in the newest iterations of an experiment
// that pass a query, up to limit. It returns the number of all that pass.
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

// VaryingParams returns those of the parameters keys, a JSON list, that differ among
// the iterations of an experiment that pass a query, or that only some of these
// iterations have.
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

// hits begins a statement with the whole table hit.
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
