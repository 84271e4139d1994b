package store

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json"
)

// KeyKind tells what a name is the name of.
type KeyKind string

// The kinds of name that iterations have.
const (
	MetricKey KeyKind = "metric"
	ParamKey  KeyKind = "param"
)

// Key is the name of a parameter or metric in an experiment.
type Key struct {
	Kind       KeyKind `json:"kind" db:"kind"`
	Key        string  `json:"key" db:"key"`
	Iterations int     `json:"iterations" db:"iterations"` // that have it
}

// KeyQuery narrows a listing.
type KeyQuery struct {
	Page
	Part string   // a part of the name, in any case; "" for all
	Kind *KeyKind // nil for both
}

// Keys lists the names of the metrics of an experiment, then those of its
// parameters, each in alphabetical order. Needs read.
func (db *DB) Keys(ctx context.Context, actor Actor, experimentID string, q KeyQuery) (List[Key], error) {
	if q.Kind != nil {
		if err := oneOf("kind", *q.Kind, MetricKey, ParamKey); err != nil {
			return List[Key]{}, err
		}
	}
	if err := checkShort("q", q.Part); err != nil {
		return List[Key]{}, err
	}
	return read(ctx, db, func(tx *tx) (List[Key], error) {
		if _, err := tx.allowExperiment(actor, experimentID, rightRead); err != nil {
			return List[Key]{}, err
		}
		var from query
		from.add(`FROM experiment_key WHERE experiment_id = ?`, experimentID)
		if q.Kind != nil {
			from.add(` AND kind = ?`, *q.Kind)
		}
		if q.Part != "" {
			from.add(` AND `)
			from.addContains(`key`, q.Part)
		}
		return list[Key](tx, q.Page, `kind, key, iterations`, from.String(), `kind, key`, from.args...)
	})
}

// VaryingParams returns the parameters that have more than one value in the
// newest iterations of an experiment, those that most of them have first; all of
// them where there is one iteration. Needs read.
func (db *DB) VaryingParams(ctx context.Context, actor Actor, experimentID string, newest int) ([]string, error) {
	return read(ctx, db, func(tx *tx) (keys []string, err error) {
		if _, err := tx.allowExperiment(actor, experimentID, rightRead); err != nil {
			return nil, err
		}
		return keys, tx.all(&keys, `
			WITH newest AS MATERIALIZED (
				SELECT num FROM iteration WHERE experiment_id = ? ORDER BY num DESC LIMIT ?
			)
			SELECT key
			FROM newest
			JOIN parameter ON parameter.iteration_num = newest.num
			GROUP BY key
			HAVING min(value) <> max(value) OR (SELECT count(*) FROM newest) = 1
			ORDER BY count(*) DESC, key`, experimentID, newest)
	})
}

// wrongKeys compares how many iterations each name is said to have with how
// many it has.
func (t *tx) wrongKeys() ([]Problem, error) {
	// An iteration whose experiment is gone is another problem, which no count
	// can mend.
	const counted = `
		SELECT experiment.id AS experiment_id, 'metric' AS kind, key, count(*) AS iterations
		FROM series
		JOIN iteration ON iteration.num = series.iteration_num
		JOIN experiment ON experiment.id = iteration.experiment_id
		GROUP BY 1, 3
		UNION ALL
		SELECT experiment.id, 'param', key, count(*)
		FROM parameter
		JOIN iteration ON iteration.num = parameter.iteration_num
		JOIN experiment ON experiment.id = iteration.experiment_id
		GROUP BY 1, 3`
	var n int64
	err := t.row(`SELECT count(*) FROM (
			SELECT experiment_id, kind, key, iterations FROM (` + counted + `
				UNION ALL SELECT experiment_id, kind, key, iterations FROM experiment_key)
			GROUP BY 1, 2, 3, 4 HAVING count(*) <> 2)`).Scan(&n)
	if err != nil || n == 0 {
		return nil, err
	}
	return []Problem{{
		Text:       "The counts of parameter and metric names do not fit the iterations that have them.",
		Repairable: true,
		repair: func(tx *tx) error {
			if _, err := tx.exec(`DELETE FROM experiment_key`); err != nil {
				return err
			}
			_, err := tx.exec(`INSERT INTO experiment_key (experiment_id, kind, key, iterations) ` + counted)
			return err
		},
	}}, nil
}

// SameParams returns those of keys that are the same parameter in all iterations
// that pass a filter, or that none of them has; in the order of keys. Needs read.
func (db *DB) SameParams(ctx context.Context, actor Actor, experimentID, filter string, keys []string) ([]string, error) {
	s, err := parseSearch(IterationQuery{Filter: filter})
	if err != nil {
		return nil, err
	}
	if len(keys) > maxColumns {
		return nil, Invalid("columns", "There may be %d names.", maxColumns)
	}
	if err := db.settleOrWarn(ctx, experimentID, s); err != nil {
		return nil, err
	}
	return read(ctx, db, func(tx *tx) ([]string, error) {
		if _, err := tx.allowExperiment(actor, experimentID, rightRead); err != nil {
			return nil, err
		}
		return tx.sameParams(experimentID, s, keys)
	})
}

func (tx *tx) sameParams(experimentID string, s search, keys []string) ([]string, error) {
	list, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	var j joins
	var where, q query
	if s.filter != nil {
		where.add(` AND `)
		j.where(&where, s.filter)
	}
	names, err := tx.known(experimentID, j.names)
	if err != nil {
		return nil, err
	}
	q.add(`WITH hit AS MATERIALIZED (SELECT iteration.num AS num`)
	j.from(&q, names)
	q.add(` WHERE iteration.experiment_id = ?`, experimentID)
	q.add(where.String()+`) SELECT parameter.key
		FROM hit
		CROSS JOIN json_each(?) AS list
		JOIN parameter ON parameter.iteration_num = hit.num AND parameter.key = list.value
		GROUP BY parameter.key
		HAVING min(parameter.value) <> max(parameter.value) OR count(*) < (SELECT count(*) FROM hit)`,
		append(where.args, string(list))...)
	rows, err := tx.compose(&q)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	differ := map[string]bool{}
	for rows.Next() {
		var key string
		if err := rows.Scan(&key); err != nil {
			return nil, err
		}
		differ[key] = true
	}
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return differ[k] }), rows.Err()
}
