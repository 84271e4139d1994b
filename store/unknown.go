package store

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"tracker/store/filter"
)

// Unknown is the name of a parameter or metric in a filter that no iteration has.
type Unknown struct {
	Kind KeyKind `json:"kind"`
	Key  string  `json:"key"`
	Near []Key   `json:"near"` // similar names of both kinds, the most similar first
}

const (
	// maxNear is the largest number of similar names.
	maxNear = 3
	// maxNearWork bounds the edit distances of one call, in cells of their tables:
	// about a fifth of a second.
	maxNearWork = 50_000_000
)

// UnknownNames returns the names in the filter where that no iteration of the experiment
// has, in alphabetical order. INVALID_PAYLOAD when the filter can't be read. Needs
// read.
func (v *View) UnknownNames(experimentID, where string) ([]Unknown, error) {
	var p filter.Parser
	if _, err := p.Filter(where); err != nil {
		return nil, refused(err)
	}
	if _, err := v.tx.allowExperiment(v.actor, experimentID, rightRead); err != nil {
		return nil, err
	}
	var all []Unknown
	for _, k := range p.Keys() {
		u := Unknown{Kind: MetricKey, Key: k.Name}
		if k.Field == filter.Param {
			u.Kind = ParamKey
		}
		var there bool
		err := v.tx.Row(`SELECT EXISTS (SELECT 1 FROM experiment_key WHERE experiment_id = ? AND kind = ? AND key = ?)`,
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
	err := v.tx.Select(&keys, `SELECT kind, key, iterations FROM experiment_key WHERE experiment_id = ? ORDER BY kind, key`, experimentID)
	work := maxNearWork
	for i := range all {
		all[i].Near = all[i].near(keys, &work)
	}
	return all, err
}

// near returns those of keys that may have been meant. It subtracts the cells that
// it computes from work.
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

// unlike returns the difference between a name and the wanted one, 0 for none, and
// whether it is small enough for a suggestion: when up to a third of the letters are
// mistyped (tested while there is work left), or when one is a part of the other.
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
