package search

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"

	"tracker/store/filter"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// KeyKind is the kind of a Key.
type KeyKind string

// The kinds of keys.
const (
	MetricKey  KeyKind = "metric"
	ParamKey   KeyKind = "param"
	SummaryKey KeyKind = "summary" // text, boolean or list in the summary
)

// Field returns the field of the filter language for keys of kind k.
func (k KeyKind) Field() filter.Field {
	switch k {
	case MetricKey:
		return filter.Metric
	case SummaryKey:
		return filter.Summary
	}
	return filter.Param
}

// KindOf returns the kind of keys of a field. It returns ParamKey for fields without such a kind.
func KindOf(f filter.Field) KeyKind {
	switch f {
	case filter.Metric:
		return MetricKey
	case filter.Summary:
		return SummaryKey
	}
	return ParamKey
}

// Key is a name that iterations of an experiment use for a metric, a parameter or a text of the
// summary.
type Key struct {
	Kind       KeyKind `json:"kind" db:"kind"`
	Key        string  `json:"key" db:"key"`
	Iterations int     `json:"iterations" db:"iterations"` // number of iterations with this name
}

// Column returns the key's name in the filter language.
func (k Key) Column() string {
	switch k.Kind {
	case ParamKey:
		return filter.ParamName(k.Key)
	case SummaryKey:
		return filter.SummaryName(k.Key)
	}
	return filter.MetricName(k.Key)
}

// maxMatched is the maximum number of names that MatchingKeys compares with a pattern.
const maxMatched = 100_000

// MatchingKeys calls fn with each key of an experiment that matches pattern, sorted by kind and
// then by name. If kind is not nil, it omits keys of other kinds.
func MatchingKeys(tx *sqlite.Tx, experimentID string, kind *KeyKind, pattern *regexp.Regexp, fn func(Key)) error {
	rows, err := tx.Rows(`SELECT kind, key, iterations FROM experiment_key
		WHERE experiment_id = ?1 AND (?2 IS NULL OR kind = ?2)
		ORDER BY kind, key LIMIT ?3`, experimentID, kind, maxMatched)
	return sqlite.Each(rows, err, func() error {
		var k Key
		if err := rows.StructScan(&k); err != nil {
			return err
		}
		if pattern.MatchString(k.Key) {
			fn(k)
		}
		return nil
	})
}

// Unknown is a name in a filter that no iteration of the experiment has.
type Unknown struct {
	Kind KeyKind `json:"kind"`
	Key  string  `json:"key"`
	Near []Key   `json:"near"` // similar keys of any kind, most similar first
}

const (
	// maxNear is the maximum number of similar keys in Unknown.Near.
	maxNear = 3
	// maxNearWork limits the work for the edit distances of one call of UnknownKeys. The unit
	// is one cell of an edit distance table. UnknownKeys reaches the limit in about a fifth of
	// a second.
	maxNearWork = 50_000_000
)

// UnknownKeys returns the given keys that no iteration of the experiment has, sorted by kind
// and then by name.
func UnknownKeys(tx *sqlite.Tx, experimentID string, keys []filter.Key) ([]Unknown, error) {
	var all []Unknown
	for _, k := range keys {
		if k.Field == filter.Property {
			continue
		}
		u := Unknown{Kind: KindOf(k.Field), Key: k.Name}
		var there bool
		err := tx.Row(`SELECT EXISTS (SELECT 1 FROM experiment_key WHERE experiment_id = ? AND kind = ? AND key = ?)`,
			experimentID, u.Kind, u.Key).Scan(&there)
		if err != nil {
			return nil, err
		}
		if !there {
			all = append(all, u)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	slices.SortFunc(all, func(a, b Unknown) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key)) })
	var known []Key
	err := tx.Select(&known, `SELECT kind, key, iterations FROM experiment_key WHERE experiment_id = ? ORDER BY kind, key`, experimentID)
	work := maxNearWork
	for i := range all {
		all[i].Near = all[i].near(known, &work)
	}
	return all, err
}

// near returns the most similar keys to u.Key, most similar first. It subtracts the number of
// computed table cells from work.
func (u Unknown) near(keys []Key, work *int) []Key {
	type scored struct {
		Key
		score int
	}
	var all []scored
	wanted := strings.ToLower(u.Key)
	for _, k := range keys {
		score, ok := unlike(wanted, strings.ToLower(k.Key), work)
		if k.Kind != u.Kind {
			score++
		}
		if ok {
			all = append(all, scored{k, score})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
	var near []Key
	for _, s := range all[:min(len(all), maxNear)] {
		near = append(near, s.Key)
	}
	return near
}

// unlike scores the difference between a name and the wanted name. Equal names have score 0.
//
// The second result reports whether the name is similar enough for a suggestion. A similar name
// contains the wanted name, is part of the wanted name, or has a small edit distance: at most a
// third of the wanted length and at most 3. unlike computes no edit distance when work is used
// up.
func unlike(wanted, name string, work *int) (int, bool) {
	a, b := []rune(wanted), []rune(name)
	if len(a) > 250 || len(b) > 250 {
		return 0, false
	}
	if d := len(a) - len(b); -3 <= d && d <= 3 && *work >= len(a)*len(b) {
		*work -= len(a) * len(b)
		if d := levenshtein.ComputeDistance(wanted, name); d <= min(3, max(1, len(a)/3)) {
			return 2 * d, true
		}
	}
	switch {
	case len(a) < 2 || len(b) < 2:
	case strings.HasSuffix(name, "/"+wanted), strings.HasSuffix(wanted, "/"+name):
		return 3, true
	case strings.Contains(name, wanted), strings.Contains(wanted, name):
		return 5, true
	}
	return 0, false
}

// countedKeys selects the correct rows of the experiment_key table. It ignores iterations whose
// experiment does not exist, because a recount can't repair such iterations.
var countedKeys = `
	SELECT experiment.id AS experiment_id, 'metric' AS kind, key, count(*) AS iterations
	FROM series
	JOIN iteration ON iteration.num = series.iteration_num AND iteration.deleted_date IS NULL
	JOIN experiment ON experiment.id = iteration.experiment_id
	GROUP BY 1, 3
	UNION ALL
	SELECT experiment.id, 'param', key, count(*)
	FROM parameter
	JOIN iteration ON iteration.num = parameter.iteration_num AND iteration.deleted_date IS NULL
	JOIN experiment ON experiment.id = iteration.experiment_id
	GROUP BY 1, 3
	UNION ALL
	SELECT experiment.id, 'summary', ` + TextName + `, count(*)
	FROM property
	JOIN iteration ON iteration.num = property.iteration_num AND iteration.deleted_date IS NULL
	JOIN experiment ON experiment.id = iteration.experiment_id
	WHERE key > '` + scalar.SummaryPrefix + `' AND key < '` + scalar.AfterSummary + `'
	GROUP BY 1, 3`

// TextName is the SQL expression of the name of a text, from the column key of the property table.
var TextName = `substr(key, ` + strconv.Itoa(len(scalar.SummaryPrefix)+1) + `)`

// WrongKeys returns the number of differences between the experiment_key table and a recount. A
// name with a wrong count is two differences.
func WrongKeys(tx *sqlite.Tx) (n int64, err error) {
	err = tx.Row(`SELECT count(*) FROM (
		SELECT experiment_id, kind, key, iterations FROM (` + countedKeys + `
			UNION ALL SELECT experiment_id, kind, key, iterations FROM experiment_key)
		GROUP BY 1, 2, 3, 4 HAVING count(*) <> 2)`).Scan(&n)
	return n, err
}

// CountKeys recomputes all rows of the experiment_key table.
func CountKeys(tx *sqlite.Tx) error {
	if _, err := tx.Exec(`DELETE FROM experiment_key`); err != nil {
		return err
	}
	_, err := tx.Exec(`INSERT INTO experiment_key (experiment_id, kind, key, iterations) ` + countedKeys)
	return err
}
