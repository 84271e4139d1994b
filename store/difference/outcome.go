package difference

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"maps"
	"math"
	"slices"

	"tracker/store/goal"
	"tracker/store/significance"
)

// Key is equal for runs that differ only in their seeds.
type Key [sha256.Size]byte

// Keyer computes the Key of a run from its parameters and code.
type Keyer struct{ h hash.Hash }

// NewKeyer returns a Keyer for a run.
func NewKeyer() *Keyer { return &Keyer{sha256.New()} }

func (k *Keyer) text(text string) {
	var size [8]byte
	binary.LittleEndian.PutUint64(size[:], uint64(len(text)))
	k.h.Write(size[:])
	k.h.Write([]byte(text))
}

// Param adds a parameter. Parameters must be added in alphabetical order. Param ignores seeds.
func (k *Keyer) Param(name, value string) {
	if !IsSeed(name) {
		k.text(name)
		k.text(value)
	}
}

// Code adds the commit, the uncommitted changes and the packages. It must be called after all
// calls of Param. All arguments are "" for a run that has not recorded its code.
func (k *Keyer) Code(gitSHA, gitDiff, dependencies string) {
	for _, text := range []string{"", gitSHA, gitDiff, dependencies} {
		k.text(text)
	}
}

// Key returns the key of the added values.
func (k *Keyer) Key() (key Key) {
	k.h.Sum(key[:0])
	return key
}

// KeyOf returns the key of a run.
func KeyOf(r Run) Key {
	k := NewKeyer()
	for _, name := range slices.Sorted(maps.Keys(r.Params)) {
		k.Param(name, r.Params[name])
	}
	k.Code(r.GitSHA, r.GitDiff, r.Dependencies)
	return k.Key()
}

// Repeat is a finished run of the experiment with its value of the objective.
type Repeat struct {
	ID    string
	Value float64 // can be NaN
	Key   Key
}

// leastSpread is the minimum number of degrees of freedom of a spread between seeds.
const leastSpread = 2

// Outcome is the difference of the objective between two sides.
type Outcome struct {
	Objective *goal.Objective // nil for none

	significance.Comparison
	// IDs holds the ids of the runs whose values are in Comparison, for each side. The compared
	// runs come first. They are followed by a total of Others runs that differ from them only in
	// their seeds.
	IDs    [2][]string
	Others int

	Given    [2]int // number of compared runs
	OnlySeed bool   // whether the two compared runs differ only in their seeds
	Mixed    bool   // whether runs on a side differ in more than seeds

	Spread       float64 // standard deviation between seeds in the experiment
	SpreadDF     int     // degrees of freedom of Spread; 0 if it is unknown
	SpreadGroups int     // number of groups of repeated runs from which Spread is computed
}

// NewOutcome compares the objective of two sides. repeats must be sorted newest first. If each
// side is one run, NewOutcome adds to each side the finished runs that differ from its run only
// in their seeds. The spread between seeds is computed from all groups of repeated runs in
// repeats.
func NewOutcome(a, b []Run, repeats []Repeat, o *goal.Objective) Outcome {
	out := Outcome{Objective: o, Given: [2]int{len(a), len(b)}}
	if o == nil {
		return out
	}
	keyA, keyB := KeyOf(a[0]), KeyOf(b[0])
	single := len(a) == 1 && len(b) == 1
	out.OnlySeed = single && keyA == keyB
	groups := map[Key][]float64{}
	for _, r := range repeats {
		if finite(r.Value) {
			groups[r.Key] = append(groups[r.Key], r.Value)
		}
	}
	var repeated [][]float64
	for _, key := range slices.SortedFunc(maps.Keys(groups), func(a, b Key) int { return slices.Compare(a[:], b[:]) }) {
		if len(groups[key]) > 1 {
			repeated = append(repeated, groups[key])
		}
	}
	out.Spread, out.SpreadDF = significance.Pooled(repeated)
	if out.SpreadGroups = len(repeated); out.SpreadDF < leastSpread {
		out.SpreadDF = 0
	}
	var sides [2][]float64
	given := map[string]bool{}
	for side, all := range [2][]Run{a, b} {
		for _, r := range all {
			if given[r.ID] = true; r.Value != nil && finite(*r.Value) {
				sides[side] = append(sides[side], *r.Value)
				out.IDs[side] = append(out.IDs[side], r.ID)
			}
		}
	}
	if single && !out.OnlySeed && len(sides[0]) > 0 && len(sides[1]) > 0 {
		for _, r := range slices.Backward(repeats) { // oldest first
			for side, key := range [2]Key{keyA, keyB} {
				if r.Key == key && !given[r.ID] && finite(r.Value) {
					sides[side] = append(sides[side], r.Value)
					out.IDs[side] = append(out.IDs[side], r.ID)
					out.Others++
				}
			}
		}
	}
	out.Comparison = significance.Compare(sides[0], sides[1])
	return out
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// Split divides runs into two sides if they form exactly two groups whose runs differ only in
// their seeds. Otherwise it divides them if they have exactly two different sets of parameters,
// apart from seeds. The side of the first run comes first. Split returns nil if neither division
// is possible.
func Split(runs []Run) (a, b []Run) {
	if len(runs) == 2 {
		return runs[:1], runs[1:]
	}
	for _, of := range []func(Run) Key{KeyOf, func(r Run) Key { return KeyOf(Run{Params: r.Params}) }} {
		keys, sides := map[Key]int{}, [2][]Run{}
		for _, r := range runs {
			key := of(r)
			side, ok := keys[key]
			if !ok {
				side = len(keys)
				keys[key] = side
			}
			if side < len(sides) {
				sides[side] = append(sides[side], r)
			}
		}
		if len(keys) == len(sides) {
			return sides[0], sides[1]
		}
	}
	return nil, nil
}
