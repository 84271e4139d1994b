package points

import (
	"context"
	"slices"

	"tracker/store/sqlite"
)

// MeanCurve is the mean of a metric over several iterations, with one value for each bucket. An
// iteration contributes its last value in the bucket. An iteration does not contribute to a
// bucket if its last value in the bucket is not finite.
//
// X is the largest step or time of the contributing iterations. With PairQuery.Against, X is
// the mean of the metric Against.
type MeanCurve struct {
	Key        string
	Count      int // number of points in the range, over all iterations
	Total      int // number of points of the longest series, inside and outside the range
	Iterations int // number of iterations with the metric
	X          []Value
	Mean       []Value
	SD         []*Value // sample standard deviation; nil if fewer than two iterations contribute
	N          []int    // number of contributing iterations
}

// The constants meanParts and minMeanPart divide a group's tracks into parts. The division
// depends only on the number of tracks, so the mean is the same to the last digit on every
// machine.
const (
	meanParts   = 8
	minMeanPart = 8 // minimum number of tracks in a part
	// partTracks is the number of tracks that a goroutine reads at a time.
	partTracks = 4
)

// MeanCurves returns the means of metrics over groups of members. Groups are numbered from 0. For
// each group, the result has the metrics that at least one member has, in the order of q.Keys.
// All groups have the same buckets.
//
// q must have passed Check. count must already include the tracks.
func (e *Engine) MeanCurves(ctx context.Context, tracks []Track, groups int, q PairQuery, count *CurveCount) ([][]MeanCurve, error) {
	q.Points = min(q.Points, MaxPoints)
	answer := make([][]MeanCurve, groups)
	byKey := map[string][]Track{}
	for _, t := range tracks {
		if q.Against == "" || t.against != nil {
			byKey[t.series.key] = append(byKey[t.series.key], t)
		}
	}
	for _, key := range q.Keys {
		curves, err := e.meanCurves(ctx, byKey[key], q)
		if err != nil {
			return nil, err
		}
		for g, c := range curves {
			if err := count.addPoints(len(c.X)); err != nil {
				return nil, err
			}
			c.Key = key
			answer[g] = append(answer[g], c)
		}
	}
	return answer, nil
}

// inParallel calls fn for each part in parallel. Each call has its own snapshot.
func inParallel[P, R any](ctx context.Context, e *Engine, parts []P, fn func(*Tx, P) (R, error)) ([]R, error) {
	return sqlite.ReadParallel(ctx, e.db, parts, func(tx *sqlite.Tx, part P) (R, error) { return fn(e.In(tx), part) })
}

// meanCurves returns the mean of the tracks of each group, by group number.
func (e *Engine) meanCurves(ctx context.Context, tracks []Track, q PairQuery) (map[int]MeanCurve, error) {
	slots, err := e.sharedSlots(ctx, tracks, q)
	if err != nil {
		return nil, err
	}
	if slots.exact == nil && slots.bins.n > 0 { // exclude points added later, which have no slot
		q.From, q.To = &slots.bins.from, &slots.bins.to
	}
	byGroup := map[int][]Track{}
	for _, t := range tracks {
		byGroup[t.Group] = append(byGroup[t.Group], t)
	}
	var parts [][]Track
	for _, of := range byGroup {
		parts = append(parts, slices.Collect(slices.Chunk(of, max(minMeanPart, (len(of)-1)/meanParts+1)))...)
	}
	sums, err := inParallel(ctx, e, parts, func(tx *Tx, part []Track) (meanSum, error) { return tx.sum(part, slots, q) })
	if err != nil {
		return nil, err
	}
	groups := map[int]meanSum{}
	for i, s := range sums {
		if g := parts[i][0].Group; groups[g].slots == nil {
			groups[g] = s
		} else {
			groups[g] = groups[g].plus(s)
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

// sharedSlots returns slots that divide the common axis of the tracks.
func (e *Engine) sharedSlots(ctx context.Context, tracks []Track, q PairQuery) (slots, error) {
	var s slots
	err := e.db.Read(ctx, func(tx *sqlite.Tx) (err error) {
		s, err = e.In(tx).exactSlots(tracks, q)
		return err
	})
	if err != nil || s.exact != nil {
		return s, err
	}
	parts := slices.Collect(slices.Chunk(tracks, partTracks))
	spans, err := inParallel(ctx, e, parts, func(tx *Tx, part []Track) (span, error) {
		part, err := tx.renewed(part)
		if err != nil {
			return noSpan, err
		}
		return tx.span(part, q)
	})
	all := noSpan
	for _, one := range spans {
		all = all.union(one)
	}
	return all.slots(q), err
}

// meanSum holds the sums for the mean of some tracks.
type meanSum struct {
	count, total, iterations int
	slots                    []slotSum
}

// slotSum holds the mean and the sum of squared deviations of the values in a slot, computed by
// Welford's method.
type slotSum struct {
	n             int
	mean, squares float64
	largest       int64 // largest position of the values on the axis
	against       float64
}

// plus combines a and b by the method of Chan, Golub and LeVeque (1983).
func (a slotSum) plus(b slotSum) slotSum {
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

func (a meanSum) plus(b meanSum) meanSum {
	for i, s := range b.slots {
		a.slots[i] = a.slots[i].plus(s)
	}
	return meanSum{a.count + b.count, max(a.total, b.total), a.iterations + b.iterations, a.slots}
}

// sum returns the sums of some tracks of one group.
func (tx *Tx) sum(tracks []Track, s slots, q PairQuery) (meanSum, error) {
	all := meanSum{slots: make([]slotSum, s.n())}
	tracks, err := tx.renewed(tracks)
	if err != nil {
		return all, err
	}
	for _, t := range tracks {
		count, err := tx.fill(&t, s, q)
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
			all.slots[i] = all.slots[i].plus(one)
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
		x, spread := Value(sum.largest), NewSpread(sum.n, &sum.mean, &sum.squares)
		if q.Against != "" {
			x = Value(sum.against)
		}
		if spread.Mean == nil {
			continue // the mean is outside the range of a float64
		}
		c.X, c.Mean = append(c.X, x), append(c.Mean, *spread.Mean)
		c.SD, c.N = append(c.SD, spread.SD), append(c.N, sum.n)
	}
	return c
}
