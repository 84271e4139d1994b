package points

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// SinceStart is a common axis for curves of several iterations: milliseconds since
// the start of each iteration.
const SinceStart Axis = "relative"

// exactPoints is the maximum number of points for which each step has its own slot.
// If there are more steps than requested points, the slots are bins.
const exactPoints = 20_000

// PairQuery selects parts of metrics that are drawn over a common axis or over
// another metric.
type PairQuery struct {
	CurveQuery        // X may be SinceStart; From and To are values of the axis, or steps with Against
	Against    string // the metric whose values are the axis; "" for X
}

// Check returns an *InvalidError if a field of the query is not valid.
func (q PairQuery) Check() error {
	if q.X == SinceStart {
		q.X = ByTime
	}
	return q.CurveQuery.Check()
}

// Pairs holds the values of two metrics of one iteration, in the order of their
// steps.
type Pairs struct {
	Iteration int64
	Key       string
	Count     int     // number of points of the metric in the range
	Total     int     // number of all points of the metric
	Step      []Step  // steps of the metric
	X         []Value // values of the metric PairQuery.Against; finite
	Value     []Value
}

// Member is an iteration of a group.
type Member struct {
	Group     int
	Iteration int64
	Start     Time // zero of the axis SinceStart
}

// Track is a series of a member, with the member's series of PairQuery.Against.
type Track struct {
	Member
	series  *series
	against *series     // nil without Against, or if the iteration does not have the metric
	at, x   []lastPoint // by slot
}

// start returns the time at which the x axis of q is 0 for the track.
func (t *Track) start(q PairQuery) int64 {
	if q.X == SinceStart {
		return int64(t.Start)
	}
	return 0
}

// Tracks returns the tracks that q selects, in the order of the members and then of
// the keys. q must pass Check. count counts the tracks of the whole answer.
func (tx *Tx) Tracks(members []Member, q PairQuery, count *CurveCount) ([]Track, error) {
	var all []Track
	for _, m := range members {
		t := Track{Member: m}
		if q.Against != "" {
			var err error
			if t.against, err = tx.findSeries(m.Iteration, q.Against); err != nil {
				return nil, err
			}
		}
		found, err := tx.seriesOf(m.Iteration, q.Keys)
		if err == nil {
			err = count.add(len(found))
		}
		if err != nil {
			return nil, err
		}
		for _, s := range found {
			t.series = s
			all = append(all, t)
		}
	}
	return all, nil
}

// Pairs returns the metrics of tracks, which were read in this transaction, over the
// metric q.Against. It pairs values of the same step. If there are more steps than
// points in q, it pairs the last values in the same bucket of steps. It omits tracks
// without that metric. count counts the pairs of the whole answer.
func (tx *Tx) Pairs(tracks []Track, q PairQuery, count *CurveCount) ([]Pairs, error) {
	q.Points = min(q.Points, MaxPoints)
	all := []Pairs{}
	for _, t := range tracks {
		if t.against == nil {
			continue
		}
		slots, err := tx.slots(t, q)
		if err != nil {
			return nil, err
		}
		p := Pairs{Iteration: t.Iteration, Key: t.series.key, Total: int(t.series.Count), Step: []Step{}, X: []Value{}, Value: []Value{}}
		if p.Count, err = tx.fill(&t, slots, q); err != nil {
			return nil, err
		}
		for i, o := range t.at {
			if x := t.x[i]; o.set && x.set && x.value.Finite() {
				p.Step, p.X, p.Value = append(p.Step, Step(o.x)), append(p.X, x.value), append(p.Value, o.value)
			}
		}
		if err := count.addPoints(len(p.Step)); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// lastPoint is the last point of a slot.
type lastPoint struct {
	set bool
	x   int64 // on the axis
	point
}

func (l *lastPoint) take(x int64, p point) {
	if !l.set || cmp.Or(cmp.Compare(x, l.x), byStep(p, l.point)) > 0 {
		*l = lastPoint{true, x, p}
	}
}

// renewed reads the tracks again in this snapshot, without deleted series.
func (tx *Tx) renewed(tracks []Track) ([]Track, error) {
	all := make([]Track, 0, len(tracks))
	for _, t := range tracks {
		var err error
		if t.series, err = tx.seriesByID(t.series.id); err == nil && t.series != nil && t.against != nil {
			if t.against, err = tx.seriesByID(t.against.id); t.against == nil {
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

// byStep reports whether the slots are steps.
func (q PairQuery) byStep() bool { return q.X == ByStep || q.Against != "" }

// slots are the buckets of a chart: one for each step, or bins.
type slots struct {
	exact []int64 // the steps; nil for bins
	bins  bins
}

func (s *slots) n() int { return max(len(s.exact), s.bins.n) }

// of returns the index of the slot of a step or time, -1 for none.
func (s *slots) of(x int64) int {
	if s.exact == nil {
		return s.bins.of(x)
	}
	if i, ok := slices.BinarySearch(s.exact, x); ok {
		return i
	}
	return -1
}

// slots returns the slots of the axis of a track.
func (tx *Tx) slots(t Track, q PairQuery) (slots, error) {
	if s, err := tx.exactSlots([]Track{t}, q); err != nil || s.exact != nil {
		return s, err
	}
	span, err := tx.span([]Track{t}, q)
	return span.slots(q), err
}

// exactSlots returns a slot for each step of tracks, or no slots if there are more
// steps than points in q.
func (tx *Tx) exactSlots(tracks []Track, q PairQuery) (s slots, err error) {
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
		err := tx.eachLast(t.series, t.start(q), nil, q, func(x int64, _ point, _ int) { steps[x] = true })
		if err != nil {
			return s, err
		}
	}
	if len(steps) <= q.Points {
		s.exact = slices.Sorted(maps.Keys(steps))
	}
	return s, nil
}

// span is a range of the axis; it is empty when first is larger than last.
type span struct{ first, last int64 }

func (a span) union(b span) span { return span{min(a.first, b.first), max(a.last, b.last)} }

var noSpan = span{math.MaxInt64, math.MinInt64}

// span returns the range in which tracks have points.
func (tx *Tx) span(tracks []Track, q PairQuery) (span, error) {
	all := noSpan
	for _, t := range tracks {
		for _, series := range []*series{t.series, t.against} {
			if series == nil {
				continue
			}
			from, to, err := tx.reach(series, t.start(q), q)
			if err != nil {
				return all, err
			}
			all = all.union(span{from, to})
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

// reach returns the first and last position of a series within the range. first is
// larger than last if the series has no points there.
func (tx *Tx) reach(s *series, start int64, q PairQuery) (first, last int64, err error) {
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
	recent, err := tx.recent(s.id, s.compactedSeq)
	if err != nil {
		return first, last, err
	}
	a, b, err := tx.ends(s, from, to, within(sorted(recent), Step(from), Step(to)))
	if err == nil && a != nil {
		first, last = int64(a.step), int64(b.step)
	}
	return first, last, err
}

// walkSince returns a walk over the points of a series in the range of q, with times
// relative to start, and the points of the walk that are in table recent.
func (tx *Tx) walkSince(s *series, start int64, q PairQuery) (walk timeWalk, recent []point, err error) {
	from, to := q.bounds()
	walk = timeWalk{Tx: tx, s: s, from: saturated(from, start), to: saturated(to, start)}
	recent, err = walk.recent()
	return walk, recent, err
}

// eachLast calls fn with points of a series in the range: the position of each
// on the axis, and the number of points that it stands for. With bins, each point is
// the last of several points that lie in one bin.
func (tx *Tx) eachLast(s *series, start int64, b *bins, q PairQuery, fn func(x int64, p point, count int)) error {
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
	recent, err := tx.recent(s.id, s.compactedSeq)
	if err != nil {
		return err
	}
	if b == nil {
		err = tx.eachPoint(s.id, from, to, func(p point) { fn(int64(p.step), p, 1) })
	} else {
		for _, r := range b.runs() {
			if err == nil {
				err = tx.eachCell(s, r, func(c cell) { fn(int64(c.last.step), c.last, int(c.count)) })
			}
		}
	}
	for _, p := range within(sorted(recent), Step(from), Step(to)) {
		fn(int64(p.step), p, 1)
	}
	return err
}

// saturated returns x + by, limited to the range of an int64.
func saturated(x, by int64) int64 {
	if x == math.MinInt64 || x == math.MaxInt64 {
		return x
	}
	return x + by
}

// fill puts the last points of a track into its slots, and returns the number of
// points.
func (tx *Tx) fill(t *Track, s slots, q PairQuery) (count int, err error) {
	read := func(of *series, counted bool) ([]lastPoint, error) {
		at := make([]lastPoint, s.n())
		b := &s.bins
		if s.exact != nil || s.bins.n == 0 {
			b = nil
		}
		err := tx.eachLast(of, t.start(q), b, q, func(x int64, p point, n int) {
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
