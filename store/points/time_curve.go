package points

import (
	"cmp"
	"math"
	"slices"
)

// A curve over time is built from the same cells as a curve over steps. The times of a cell's
// first and last point are known if its points were recorded in the order of their steps.
// Narrower cells or single points replace a cell that crosses a bin edge or whose points are
// out of order.

// timeCurve returns the curve of s over the time of recording.
func (tx *Tx) timeCurve(s *series, q CurveQuery) (Curve, error) {
	c := Curve{Step: []Step{}, Value: []Value{}, RecordedAt: []Time{}, Total: int(s.Count)}
	walk := timeWalk{Tx: tx, s: s}
	walk.from, walk.to = q.bounds()
	recent, err := walk.recent()
	if err != nil {
		return c, err
	}
	ends, err := walk.ends(recent)
	if err != nil || ends.count == 0 {
		return c, err
	}
	if c.Count = ends.count; c.Count <= q.Points {
		points := recent
		err := tx.eachPoint(s.id, int64(ends.low), int64(ends.high), func(p point) {
			if walk.has(p.at) {
				points = append(points, p)
			}
		})
		slices.SortFunc(points, byTime)
		c.showAll(points)
		return c, err
	}
	bins := newBins(int64(ends.first.at), int64(ends.last.at), q.Points-1, q.Scale)
	cells := make([]cell, bins.n)
	add := func(o cell) {
		bin, last := &cells[bins.of(int64(o.last.at))], o.last
		if bin.count > 0 && byTime(bin.last, last) > 0 {
			last = bin.last
		}
		bin.merge(o)
		bin.last = last
	}
	cut := func(from, to Time) bool { return bins.of(int64(from)) != bins.of(int64(to)) }
	if err := walk.each(cut, func(o cell, _, _ Step) { add(o) }); err != nil {
		return c, err
	}
	for _, p := range recent {
		add(cellOf(p))
	}
	c.showCells(ends.first, cells)
	return c, nil
}

// timeWalk reads the points of a series with times in the range from..to.
type timeWalk struct {
	*Tx
	s        *series
	from, to int64
}

func (w *timeWalk) has(at Time) bool { return int64(at) >= w.from && int64(at) <= w.to }

// recent returns the points of the recent table whose time is in the range.
func (w *timeWalk) recent() ([]point, error) {
	all, err := w.Tx.recent(w.s.id, w.s.compactedSeq)
	var in []point
	for _, p := range all {
		if w.has(p.at) {
			in = append(in, p)
		}
	}
	return in, err
}

// timeEnds describes the points in a range of times: their number, the first and the last point
// by time, and the smallest and largest step. low and high ignore points of the recent table.
type timeEnds struct {
	count       int
	first, last point
	low, high   Step
}

// ends returns the ends of the walk's range. recent holds the points of the recent table in the
// range.
func (w *timeWalk) ends(recent []point) (timeEnds, error) {
	var e timeEnds
	var head cell // cell with the first point by time
	var from, to Step
	err := w.each(func(_, _ Time) bool { return false }, func(o cell, low, high Step) {
		if e.count == 0 {
			e.low, e.high = low, high
		}
		e.low, e.high = min(e.low, low), max(e.high, high)
		if e.count == 0 || cmp.Or(cmp.Compare(o.start, head.start), cmp.Compare(low, from)) < 0 {
			head, from, to = o, low, high
		}
		if e.count == 0 || byTime(e.last, o.last) < 0 {
			e.last = o.last
		}
		e.count += int(o.count)
	})
	if err != nil {
		return e, err
	}
	switch {
	case head.count == 1:
		e.first = head.last
	case head.count > 1:
		first, _, err := w.Tx.ends(w.s, int64(from), int64(to), nil)
		if err != nil {
			return e, err
		}
		e.first = *first
	}
	for _, p := range recent {
		if e.count == 0 || byTime(p, e.first) < 0 {
			e.first = p
		}
		if e.count == 0 || byTime(e.last, p) < 0 {
			e.last = p
		}
		e.count++
	}
	return e, nil
}

// each calls fn with cells that together cover all points of the metric table in the range. low
// and high are the first and the last step of cell c. The points of c were recorded in the order
// of their steps, from c.start to c.last.at.
//
// cut reports whether a cell whose points lie between two times must be divided. Cells are
// divided until cut(c.start, c.last.at) is false.
func (w *timeWalk) each(cut func(from, to Time) bool, fn func(c cell, low, high Step)) error {
	first, last, err := w.Tx.ends(w.s, math.MinInt64, math.MaxInt64, nil)
	if err != nil || first == nil {
		return err
	}
	level := 0
	for w.s.rollups.endOf(level+1) > first.step {
		level++
	}
	return w.eachOf(level, first.step, last.step, cut, fn)
}

// eachOf is like each, restricted to the steps from low to high. It uses cells of the given
// level and narrower cells.
func (w *timeWalk) eachOf(level int, low, high Step, cut func(from, to Time) bool, fn func(c cell, low, high Step)) error {
	if low > high {
		return nil
	}
	if level == 0 {
		n := 0
		err := w.eachPoint(w.s.id, int64(low), int64(high), func(p point) {
			if n++; w.has(p.at) {
				fn(cellOf(p), p.step, p.step)
			}
		})
		if n > maxRollUp && high >= w.s.rollups.endOf(1) {
			w.engine.rollUpLater(w.s.id)
		}
		return err
	}
	type stretch struct{ low, high Step }
	var finer []stretch
	end := w.s.rollups.endOf(level)
	if low < end {
		shift := w.s.rollups.cellShift(level)
		a, b := int64(low)>>shift, int64(min(high, end-1))>>shift
		joined := false // whether the next cell extends the last stretch
		err := w.eachRow(w.s, level, a>>rowShift, b>>rowShift, func(block int64, cells *[rowCells]cell) {
			for i, c := range cells {
				at := block<<rowShift + int64(i)
				if c.count == 0 || at < a || at > b {
					continue
				}
				from, to := Step(at<<shift), Step(at<<shift|(1<<shift-1))
				whole := c.inTime && w.has(c.start) && w.has(c.last.at) && !cut(c.start, c.last.at)
				outside := c.inTime && (int64(c.start) > w.to || int64(c.last.at) < w.from)
				switch {
				case whole:
					fn(c, from, to)
				case outside:
				case joined:
					finer[len(finer)-1].high = to
				default:
					finer = append(finer, stretch{from, to})
				}
				joined = !whole && !outside
			}
		})
		if err != nil {
			return err
		}
	}
	for _, f := range append(finer, stretch{max(low, end), high}) {
		if err := w.eachOf(level-1, f.low, f.high, cut, fn); err != nil {
			return err
		}
	}
	return nil
}
