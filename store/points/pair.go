package points

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// SinceStart is the axis "milliseconds since the start of the iteration". Curves of several
// iterations can share the axis.
const SinceStart Axis = "relative"

// exactPoints is the maximum number of points for which each step has its own slot. With more
// points, or with more steps than requested points, the slots are bins.
const exactPoints = 20_000

// PairQuery selects metrics of several iterations for a chart. The x axis of the chart is a
// common axis or the values of another metric.
type PairQuery struct {
	CurveQuery        // X can be SinceStart; From and To are positions on X, or steps if Against is set
	Against    string // key of the metric whose values are the x axis; "" for the axis X
}

// Check returns an *InvalidError if a field of q is invalid.
func (q PairQuery) Check() error {
	if q.X == SinceStart {
		q.X = ByTime
	}
	return q.CurveQuery.Check()
}

// Pairs holds the values of two metrics of one iteration. The values are ordered by step.
type Pairs struct {
	Iteration int64
	Key       string
	Count     int     // number of the metric's points in the range
	Total     int     // number of all points of the metric
	Step      []Step  // steps of the paired values
	X         []Value // finite values of the metric PairQuery.Against
	Value     []Value
}

// Member is an iteration of a group.
type Member struct {
	Group     int
	Iteration int64
	Start     Time // time of position 0 on the axis SinceStart
}

// Track is a series of a member, together with the member's series of PairQuery.Against.
type Track struct {
	Member
	series  *series
	against *series     // nil if PairQuery.Against is "" or the iteration does not have that metric
	at, x   []lastPoint // last points of series and against, by slot index
}

// start returns the time at position 0 on the track's x axis. The time is 0 for any axis except
// SinceStart.
func (t *Track) start(q PairQuery) int64 {
	if q.X == SinceStart {
		return int64(t.Start)
	}
	return 0
}

// Tracks returns the tracks that q selects, in the order of the members and then of the keys. q
// must have passed Check. count is shared by all tracks of the response.
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

// Pairs returns the metric of each track paired with the metric q.Against. Pairs pairs values
// with the same step. If there are more steps than q.Points, it pairs the last values in the
// same bucket of steps. Pairs omits tracks without the metric q.Against.
//
// The tracks must have been read in this transaction. count is shared by all pairs of the
// response.
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

// lastPoint is the last point of a slot. set is false for a slot without points.
type lastPoint struct {
	set bool
	x   int64 // position of the point on the axis
	point
}

func (l *lastPoint) take(x int64, p point) {
	if !l.set || cmp.Or(cmp.Compare(x, l.x), byStep(p, l.point)) > 0 {
		*l = lastPoint{true, x, p}
	}
}

// renewed reads the tracks again in this transaction. It omits a track if one of its series was
// deleted.
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

// byStep reports whether the slots are steps or ranges of steps, not ranges of times.
func (q PairQuery) byStep() bool { return q.X == ByStep || q.Against != "" }

// slots are the buckets of a chart. Each step has its own slot, or each bin is a slot.
type slots struct {
	exact []int64 // sorted steps; nil if the slots are bins
	bins  bins
}

func (s *slots) n() int { return max(len(s.exact), s.bins.n) }

// of returns the index of the slot that contains position x, or -1 if there is none.
func (s *slots) of(x int64) int {
	if s.exact == nil {
		return s.bins.of(x)
	}
	if i, ok := slices.BinarySearch(s.exact, x); ok {
		return i
	}
	return -1
}

// slots returns slots that divide the x axis of one track.
func (tx *Tx) slots(t Track, q PairQuery) (slots, error) {
	if s, err := tx.exactSlots([]Track{t}, q); err != nil || s.exact != nil {
		return s, err
	}
	span, err := tx.span([]Track{t}, q)
	return span.slots(q), err
}

// exactSlots returns one slot for each step of the tracks. It returns no slots if the axis
// shows times, or if there are more than exactPoints points or more than q.Points steps.
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

// span is a range of the axis. The range is empty if first is larger than last.
type span struct{ first, last int64 }

func (a span) union(b span) span { return span{min(a.first, b.first), max(a.last, b.last)} }

var noSpan = span{math.MaxInt64, math.MinInt64}

// span returns the part of q's range in which the tracks have points.
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

// reach returns the first and the last position of the points of s in the range of q. If no
// point is in the range, first is larger than last.
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

// walkSince returns a walk over the points of s in the range of q, and the walk's points in the
// recent table. The bounds of q are relative to start.
func (tx *Tx) walkSince(s *series, start int64, q PairQuery) (walk timeWalk, recent []point, err error) {
	from, to := q.bounds()
	walk = timeWalk{Tx: tx, s: s, from: saturated(from, start), to: saturated(to, start)}
	recent, err = walk.recent()
	return walk, recent, err
}

// eachLast calls fn for points of s in the range of q. x is the position of p on the axis. count is
// the number of points that p represents. Without bins, fn gets every point. With bins, p is the
// last of count points in one bin.
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

// saturated returns x + by. The extreme values of int64 mean "no bound" and stay unchanged.
func saturated(x, by int64) int64 {
	if x == math.MinInt64 || x == math.MaxInt64 {
		return x
	}
	return x + by
}

// fill sets t.at and t.x to the last points in each slot. It returns the number of points of
// t.series in the range of q.
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
