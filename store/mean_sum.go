package store

import (
	"context"
	"slices"
	"sync/atomic"
)

// MeanCurve is a metric of several iterations. The value of an iteration in a
// bucket is its last one there, as in its own curve. X is the largest step or
// time of those that count, or the mean of the metric that is set against.
// Iterations without a finite value in a bucket do not count there.
type MeanCurve struct {
	Key        string
	Count      int // points of all of them in the range
	Total      int // points of the longest one, in the range or not
	Iterations int // that have the metric
	X          []Value
	Mean       []Value
	SD         []*Value // of the sample; nil where only one counts
	N          []int    // how many count
}

// How the tracks of a group are divided depends on nothing but their number, so
// that their mean is the same to the last digit on every machine.
const (
	meanParts   = 8
	minMeanPart = 8 // tracks
)

// MeanCurves returns the means of metrics over groups of iterations, for each
// group those that some of it have. The buckets are the same for all groups.
// Needs read on each.
func (db *DB) MeanCurves(ctx context.Context, actor Actor, groups [][]string, q PairQuery) ([][]MeanCurve, error) {
	if err := q.checkPairs(); err != nil {
		return nil, err
	}
	var members []member
	for g, ids := range groups {
		for _, id := range ids {
			members = append(members, member{g, id})
		}
	}
	var found atomic.Int64
	parts := slices.Collect(slices.Chunk(members, curvesPart))
	tracks, err := inParallel(ctx, db, parts, func(tx *tx, part []member) ([]track, error) { return tx.tracks(actor, part, q, &found) })
	if err != nil {
		return nil, err
	}
	answer := make([][]MeanCurve, len(groups))
	byKey := map[string][]track{}
	for _, t := range slices.Concat(tracks...) {
		if q.Against == "" || t.against != nil {
			byKey[t.series.key] = append(byKey[t.series.key], t)
		}
	}
	for _, key := range q.Keys {
		curves, err := db.meanCurves(ctx, byKey[key], q)
		if err != nil {
			return nil, err
		}
		for g, c := range curves {
			c.Key = key
			answer[g] = append(answer[g], c)
		}
	}
	return answer, nil
}

// meanCurves are the means of the tracks of each group that has some.
func (db *DB) meanCurves(ctx context.Context, tracks []track, q PairQuery) (map[int]MeanCurve, error) {
	slots, err := db.sharedSlots(ctx, tracks, q)
	if err != nil {
		return nil, err
	}
	if slots.exact == nil && slots.bins.n > 0 { // what was logged since has no slot
		q.From, q.To = &slots.bins.from, &slots.bins.to
	}
	byGroup := map[int][]track{}
	for _, t := range tracks {
		byGroup[t.group] = append(byGroup[t.group], t)
	}
	var parts [][]track
	for _, of := range byGroup {
		parts = append(parts, slices.Collect(slices.Chunk(of, max(minMeanPart, (len(of)-1)/meanParts+1)))...)
	}
	sums, err := inParallel(ctx, db, parts, func(tx *tx, part []track) (meanSum, error) { return tx.sum(part, slots, q) })
	if err != nil {
		return nil, err
	}
	groups := map[int]meanSum{}
	for i, s := range sums {
		if g := parts[i][0].group; groups[g].slots == nil {
			groups[g] = s
		} else {
			groups[g] = groups[g].and(s)
		}
	}
	curves := map[int]MeanCurve{}
	for g, s := range groups {
		if s.iterations > 0 {
			curves[g] = s.curve(q)
		}
	}
	return curves, nil
}

// sharedSlots divides the axis that tracks share.
func (db *DB) sharedSlots(ctx context.Context, tracks []track, q PairQuery) (slots, error) {
	s, err := read(ctx, db, func(tx *tx) (slots, error) { return tx.exactSlots(tracks, q) })
	if err != nil || s.exact != nil {
		return s, err
	}
	parts := slices.Collect(slices.Chunk(tracks, curvesPart))
	spans, err := inParallel(ctx, db, parts, func(tx *tx, part []track) (span, error) {
		part, err := tx.renewed(part)
		if err != nil {
			return noSpan, err
		}
		return tx.span(part, q)
	})
	all := noSpan
	for _, one := range spans {
		all = all.and(one)
	}
	return all.slots(q), err
}

// meanSum is what a mean is made of.
type meanSum struct {
	count, total, iterations int
	slots                    []slotSum
}

// slotSum is what is known of the values in a slot, as Welford updates it.
type slotSum struct {
	n             int
	mean, squares float64
	largest       int64 // of the axis
	against       float64
}

// and puts two sums together, as Chan, Golub and LeVeque do (1983).
func (a slotSum) and(b slotSum) slotSum {
	if a.n == 0 || b.n == 0 {
		if a.n == 0 {
			return b
		}
		return a
	}
	n := a.n + b.n
	share, by := float64(b.n)/float64(n), b.mean-a.mean
	return slotSum{
		n:       n,
		mean:    a.mean + by*share,
		squares: a.squares + b.squares + by*by*float64(a.n)*share,
		largest: max(a.largest, b.largest),
		against: a.against + (b.against-a.against)*share,
	}
}

func (a meanSum) and(b meanSum) meanSum {
	for i, s := range b.slots {
		a.slots[i] = a.slots[i].and(s)
	}
	return meanSum{a.count + b.count, max(a.total, b.total), a.iterations + b.iterations, a.slots}
}

// sum adds up tracks of one group.
func (tx *tx) sum(tracks []track, s slots, q PairQuery) (meanSum, error) {
	all := meanSum{slots: make([]slotSum, s.n())}
	tracks, err := tx.renewed(tracks)
	if err != nil {
		return all, err
	}
	for _, t := range tracks {
		count, err := tx.fillTrack(&t, s, q)
		if err != nil {
			return all, err
		}
		all.count += count
		all.total = max(all.total, int(t.series.Count))
		all.iterations++
		for i, o := range t.at {
			if !o.set || !o.value.Finite() || q.Against != "" && !(t.x[i].set && t.x[i].value.Finite()) {
				continue
			}
			one := slotSum{n: 1, mean: float64(o.value), largest: o.x}
			if q.Against != "" {
				one.against = float64(t.x[i].value)
			}
			all.slots[i] = all.slots[i].and(one)
		}
	}
	return all, nil
}

func (a meanSum) curve(q PairQuery) MeanCurve {
	c := MeanCurve{Count: a.count, Total: a.total, Iterations: a.iterations, X: []Value{}, Mean: []Value{}, SD: []*Value{}, N: []int{}}
	for _, sum := range a.slots {
		if sum.n == 0 {
			continue
		}
		x, spread := Value(sum.largest), newSpread(sum.n, &sum.mean, &sum.squares)
		if q.Against != "" {
			x = Value(sum.against)
		}
		if spread.Mean == nil {
			continue // beyond a double
		}
		c.X, c.Mean = append(c.X, x), append(c.Mean, *spread.Mean)
		c.SD, c.N = append(c.SD, spread.SD), append(c.N, sum.n)
	}
	return c
}
