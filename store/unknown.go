package store

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

// Unknown is the name of a parameter or metric that a filter has and no iteration.
type Unknown struct {
	Kind KeyKind `json:"kind"`
	Key  string  `json:"key"`
	Near []Key   `json:"near"` // names that are like it, the most alike first; few, of both kinds
}

// maxNear is how many names are offered for one that is unknown.
const maxNear = 3

// UnknownNames returns the names in a filter that no iteration of the experiment
// has, in alphabetical order. INVALID_PAYLOAD when the filter can't be read. Needs
// read.
func (db *DB) UnknownNames(ctx context.Context, actor Actor, experimentID, filter string) ([]Unknown, error) {
	names := map[name]bool{}
	if _, m := parseFilter(filter, names); m != nil {
		return nil, m.of("filter")
	}
	return read(ctx, db, func(tx *tx) ([]Unknown, error) {
		if _, err := tx.allowExperiment(actor, experimentID, rightRead); err != nil {
			return nil, err
		}
		var all []Unknown
		for n := range names {
			u := Unknown{Kind: MetricKey, Key: n.key}
			if n.field == paramField {
				u.Kind = ParamKey
			}
			var there bool
			err := tx.row(`SELECT EXISTS (SELECT 1 FROM experiment_key WHERE experiment_id = ? AND kind = ? AND key = ?)`,
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
		var keys []Key
		err := tx.all(&keys, `SELECT kind, key, iterations FROM experiment_key WHERE experiment_id = ? ORDER BY kind, key`, experimentID)
		for i := range all {
			all[i].Near = all[i].near(keys)
		}
		return all, err
	})
}

// near returns those of keys that may have been meant.
func (u Unknown) near(keys []Key) []Key {
	type scored struct {
		Key
		score int
	}
	var all []scored
	wanted := strings.ToLower(u.Key)
	for _, k := range keys {
		score, ok := unlike(wanted, strings.ToLower(k.Key))
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

// unlike is how little a name is like the one that is wanted, 0 for the same, and
// whether it may have been meant at all: with a third of the letters mistyped, or
// as the end, the beginning or another part of a longer one.
func unlike(wanted, name string) (int, bool) {
	a, b := []rune(wanted), []rune(name)
	if len(a) > 250 || len(b) > 250 {
		return 0, false
	}
	if d := len(a) - len(b); -3 <= d && d <= 3 {
		if d := distance(a, b); d <= min(3, max(1, len(a)/3)) {
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

// distance is how many letters must be put in, taken out or changed to make one
// text the other (Levenshtein).
func distance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		before := row[0]
		row[0] = i + 1
		for j, y := range b {
			change := before
			if x != y {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, before+1, row[j]+1)
		}
	}
	return row[len(b)]
}
