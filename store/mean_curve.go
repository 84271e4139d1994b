package store

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"sync/atomic"
)

// SinceStart is an axis of curves that are set against each other: milliseconds
// after the start of each iteration.
const SinceStart Axis = "relative"

// exactPoints is up to how many points are put together step by step when their
// steps are no more than is asked for.
const exactPoints = 20_000

// PairQuery says which curves are set against each other, and how fine.
type PairQuery struct {
	CurveQuery        // X may be SinceStart; From and To are of the axis, of steps with Against
	Against    string // a metric whose values are the axis; "" for X
}

// Pairs are two metrics of one iteration, in the order of the steps that they
// are from.
type Pairs struct {
	IterationID string
	Key         string
	Count       int     // points of the metric in the range
	Total       int     // and of all of it
	Step        []Step  // of the metric
	X           []Value // of the metric that is set against; finite
	Value       []Value
}

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

// PairedCurves sets metrics of iterations against another one of theirs: what
// was logged at the same step or, when that is more than is asked for, the last
// of each in the same bucket of steps. Needs read on each.
func (db *DB) PairedCurves(ctx context.Context, actor Actor, iterationIDs []string, q PairQuery) ([]Pairs, error) {
	if err := q.checkPairs(); err != nil {
		return nil, err
	}
	members := make([]member, len(iterationIDs))
	for i, id := range iterationIDs {
		members[i].id = id
	}
	return read(ctx, db, func(tx *tx) ([]Pairs, error) {
		all := []Pairs{}
		tracks, err := tx.tracks(actor, members, q, new(atomic.Int64))
		if err != nil {
			return nil, err
		}
		for _, t := range tracks {
			if t.against == nil {
				continue
			}
			slots, err := tx.slots(t, q)
			if err != nil {
				return nil, err
			}
			p := Pairs{IterationID: t.id, Key: t.series.key, Total: int(t.series.Count), Step: []Step{}, X: []Value{}, Value: []Value{}}
			if p.Count, err = tx.fillTrack(&t, slots, q); err != nil {
				return nil, err
			}
			for i, o := range t.at {
				if x := t.x[i]; o.set && x.set && x.value.Finite() {
					p.Step, p.X, p.Value = append(p.Step, Step(o.x)), append(p.X, x.value), append(p.Value, o.value)
				}
			}
			all = append(all, p)
		}
		return all, nil
	})
}

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
	for _, key := range q.Keys {
		of := slices.DeleteFunc(slices.Concat(tracks...), func(t track) bool {
			return t.series.key != key || q.Against != "" && t.against == nil
		})
		curves, err := db.meanCurves(ctx, of, q)
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

func (q *PairQuery) checkPairs() error {
	axis := q.X
	if q.X == SinceStart {
		q.X = ByTime
	}
	err := q.check()
	q.X, q.Points = axis, min(q.Points, MaxPoints)
	return err
}

// member is an iteration of a group.
type member struct {
	group int
	id    string
}

// track is a series of an iteration on its way into a set of slots.
type track struct {
	member
	series  *series
	against *series   // nil where the iteration has none
	start   int64     // of the axis
	at, x   []lastOne // by slot
}

// lastOne is the last point of a slot.
type lastOne struct {
	set bool
	x   int64 // on the axis
	point
}

func (l *lastOne) take(x int64, p point) {
	if !l.set || cmp.Or(cmp.Compare(x, l.x), byStep(p, l.point)) > 0 {
		*l = lastOne{true, x, p}
	}
}

// tracks finds the series of iterations; found counts those of all.
func (tx *tx) tracks(actor Actor, members []member, q PairQuery, found *atomic.Int64) ([]track, error) {
	var all []track
	for _, m := range members {
		it, err := tx.allowIteration(actor, m.id, rightRead)
		if err != nil {
			return nil, err
		}
		t := track{member: m}
		if q.X == SinceStart {
			if err := tx.row(`SELECT created_date FROM iteration WHERE num = ?`, it.num).Scan(&t.start); err != nil {
				return nil, err
			}
		}
		if q.Against != "" {
			other, err := tx.seriesOfIteration(it.num, []string{q.Against})
			if err != nil {
				return nil, err
			}
			if len(other) > 0 {
				t.against = other[0]
			}
		}
		of, err := tx.seriesOfIteration(it.num, q.Keys)
		if err != nil {
			return nil, err
		}
		if found.Add(int64(len(of))) > MaxCurves {
			return nil, Invalid("keys", "This asks for more than %d curves; name fewer iterations or keys.", MaxCurves)
		}
		for _, s := range of {
			t.series = s
			all = append(all, t)
		}
	}
	return all, nil
}

// renewed are the tracks as they are in this snapshot, without what has gone.
func (tx *tx) renewed(tracks []track) ([]track, error) {
	all := make([]track, 0, len(tracks))
	for _, t := range tracks {
		var err error
		if t.series, err = tx.seriesByID(t.series.ID); err == nil && t.series != nil && t.against != nil {
			if t.against, err = tx.seriesByID(t.against.ID); t.against == nil {
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		if t.series != nil {
			all = append(all, t)
		}
	}
	return all, nil
}

// byStep tells whether the slots are of steps.
func (q PairQuery) byStep() bool { return q.X == ByStep || q.Against != "" }

// slots are the buckets of a chart: one for each step, or bins.
type slots struct {
	exact []int64 // the steps; nil for bins
	bins  bins
}

func (s *slots) n() int { return max(len(s.exact), s.bins.n) }

// of returns the slot of a step or time, -1 for none.
func (s *slots) of(x int64) int {
	if s.exact == nil {
		return s.bins.of(x)
	}
	if i, ok := slices.BinarySearch(s.exact, x); ok {
		return i
	}
	return -1
}

// slots divides the axis of a track.
func (tx *tx) slots(t track, q PairQuery) (slots, error) {
	if s, err := tx.exactSlots([]track{t}, q); err != nil || s.exact != nil {
		return s, err
	}
	span, err := tx.span([]track{t}, q)
	return span.slots(q), err
}

// exactSlots are the steps of tracks, none when those are more than is asked for.
func (tx *tx) exactSlots(tracks []track, q PairQuery) (s slots, err error) {
	var points int64
	for _, t := range tracks {
		points += t.series.Count
	}
	if !q.byStep() || points > exactPoints {
		return s, nil
	}
	if tracks, err = tx.renewed(tracks); err != nil {
		return s, err
	}
	steps := map[int64]bool{}
	for _, t := range tracks {
		err := tx.eachLast(t.series, t.start, nil, q, func(x int64, _ point, _ int) { steps[x] = true })
		if err != nil {
			return s, err
		}
	}
	if len(steps) <= q.Points {
		s.exact = slices.Sorted(maps.Keys(steps))
	}
	return s, nil
}

// span is a range of the axis; nothing when its first is behind its last.
type span struct{ first, last int64 }

func (a span) and(b span) span { return span{min(a.first, b.first), max(a.last, b.last)} }

var noSpan = span{math.MaxInt64, math.MinInt64}

// span is where tracks have points.
func (tx *tx) span(tracks []track, q PairQuery) (span, error) {
	all := noSpan
	for _, t := range tracks {
		for _, series := range []*series{t.series, t.against} {
			if series == nil {
				continue
			}
			from, to, err := tx.reach(series, t.start, q)
			if err != nil {
				return all, err
			}
			all = all.and(span{from, to})
		}
	}
	return all, nil
}

func (a span) slots(q PairQuery) (s slots) {
	if a.first <= a.last {
		s.bins = newBins(a.first, a.last, q.Points-1, q.Scale)
	}
	return s
}

// reach returns where a series begins and ends within the range; first is the
// larger one when it has nothing there.
func (tx *tx) reach(s *series, start int64, q PairQuery) (first, last int64, err error) {
	first, last = math.MaxInt64, math.MinInt64
	if !q.byStep() {
		walk, recent, err := tx.walkSince(s, start, q)
		if err != nil {
			return first, last, err
		}
		ends, err := walk.ends(recent)
		if err == nil && ends.count > 0 {
			first, last = int64(ends.first.at)-start, int64(ends.last.at)-start
		}
		return first, last, err
	}
	from, to := q.bounds()
	recent, err := tx.recent(s.ID, s.moved)
	if err != nil {
		return first, last, err
	}
	a, b, err := tx.ends(s, from, to, within(inOrder(recent), Step(from), Step(to)))
	if err == nil && a != nil {
		first, last = int64(a.step), int64(b.step)
	}
	return first, last, err
}

// walkSince goes over the points of a series in the range of times that begins
// at start; the recent ones in it come on their own.
func (tx *tx) walkSince(s *series, start int64, q PairQuery) (walk timeWalk, recent []point, err error) {
	from, to := q.bounds()
	walk = timeWalk{tx: tx, s: s, from: saturated(from, start), to: saturated(to, start)}
	recent, err = walk.recent()
	return walk, recent, err
}

// eachLast calls fn with points of a series in the range: where each is on the
// axis, and how many points it is the last of. With bins these are the last
// ones of stretches that lie in one bin.
func (tx *tx) eachLast(s *series, start int64, b *bins, q PairQuery, fn func(x int64, p point, count int)) error {
	if !q.byStep() {
		walk, recent, err := tx.walkSince(s, start, q)
		if err != nil {
			return err
		}
		cut := func(from, to Time) bool { return b.of(int64(from)-start) != b.of(int64(to)-start) }
		err = walk.each(cut, func(c cell, _, _ Step) { fn(int64(c.last.at)-start, c.last, int(c.count)) })
		for _, p := range recent {
			fn(int64(p.at)-start, p, 1)
		}
		return err
	}
	from, to := q.bounds()
	recent, err := tx.recent(s.ID, s.moved)
	if err != nil {
		return err
	}
	if b == nil {
		err = tx.eachPoint(s.ID, from, to, func(p point) { fn(int64(p.step), p, 1) })
	} else {
		for _, r := range b.runs() {
			if err == nil {
				err = tx.eachCell(s, r, func(c cell) { fn(int64(c.last.step), c.last, int(c.count)) })
			}
		}
	}
	for _, p := range within(inOrder(recent), Step(from), Step(to)) {
		fn(int64(p.step), p, 1)
	}
	return err
}

// saturated adds without leaving the range of an int64.
func saturated(x, by int64) int64 {
	if x == math.MinInt64 || x == math.MaxInt64 {
		return x
	}
	return x + by
}

// fillTrack puts the last points of a track into its slots, and returns how many
// points there are.
func (tx *tx) fillTrack(t *track, s slots, q PairQuery) (count int, err error) {
	read := func(of *series, counted bool) ([]lastOne, error) {
		at := make([]lastOne, s.n())
		b := &s.bins
		if s.exact != nil || s.bins.n == 0 {
			b = nil
		}
		err := tx.eachLast(of, t.start, b, q, func(x int64, p point, n int) {
			if counted {
				count += n
			}
			if i := s.of(x); i >= 0 {
				at[i].take(x, p)
			}
		})
		return at, err
	}
	if s.n() == 0 {
		return 0, nil
	}
	if t.at, err = read(t.series, true); err == nil && t.against != nil {
		t.x, err = read(t.against, false)
	}
	return count, err
}
