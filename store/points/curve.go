package points

import (
	"database/sql"
	"errors"
	"math"
	"sort"
	"sync/atomic"
)

// Axis is the axis of a curve.
type Axis string

// The axes of a curve.
const (
	ByStep Axis = "step"
	ByTime Axis = "time" // recorded_at of the points
)

// Scale is the scale of an axis.
type Scale string

// The scales of an axis. With Log, the width of buckets grows by a constant factor, and the
// first bucket contains all values up to 1.
const (
	Linear Scale = "linear"
	Log    Scale = "log"
)

const (
	// DefaultPoints is the default maximum number of points of a curve.
	DefaultPoints = 1000
	// MaxPoints is the maximum number of points of one curve. A query for more points gets
	// MaxPoints.
	MaxPoints = 100_000
	// MaxCurves is the maximum number of curves in one response.
	MaxCurves = 10_000
	// MaxAnswerPoints is the maximum number of points in all curves of one response.
	MaxAnswerPoints = 500_000
)

// CurveQuery selects curves, a range of their axis and the number of points.
type CurveQuery struct {
	Keys   []string // metrics; empty for all metrics
	Points int      // maximum number of points of a curve, at least 2; capped at MaxPoints
	X      Axis
	Scale  Scale
	From   *int64 // first step, or first Unix millisecond for ByTime; nil for the start of the series
	To     *int64 // last step, or last Unix millisecond for ByTime; nil for the end of the series
}

// Curve holds the points of a metric of one iteration, as columns. The points are in the order
// of the axis.
type Curve struct {
	Key        string  `json:"key"`
	Count      int     `json:"count"` // number of points in the range
	Shown      int     `json:"shown"` // length of the columns
	Step       []Step  `json:"step"`
	Value      []Value `json:"value"`
	RecordedAt []Time  `json:"recorded_at"`
	// Min and Max hold the smallest and the largest finite value of each bucket. An element is
	// nil if its bucket has no finite value. Min and Max are omitted if every point is shown.
	Min []*Value `json:"min,omitempty"`
	Max []*Value `json:"max,omitempty"`
	// Behind holds the number of points that each shown point represents: the point itself and
	// the omitted points since the previous shown point. Behind is nil if every point is shown.
	Behind []int `json:"-"`
	Total  int   `json:"-"` // number of points of the whole metric
}

// CurveCount counts the curves and points of one response and enforces MaxCurves and
// MaxAnswerPoints. Its methods are safe for concurrent use.
type CurveCount struct {
	// Take is called with the size in bytes of the points that are added. It can be nil. An
	// error of Take ends the query.
	Take func(bytes int64) error

	curves, points atomic.Int64
}

// pointBytes is the size in bytes of a curve's point in memory.
const pointBytes = 72

func (c *CurveCount) add(n int) error {
	if c.curves.Add(int64(n)) > MaxCurves {
		return invalid("keys", "More than %d curves are requested; name fewer ids or keys.", MaxCurves)
	}
	return nil
}

func (c *CurveCount) addPoints(n int) error {
	if c.points.Add(int64(n)) > MaxAnswerPoints {
		return invalid("points", "The curves have more than %d points in total; request fewer curves, or fewer points in each.", MaxAnswerPoints)
	}
	if c.Take != nil {
		return c.Take(int64(n) * pointBytes)
	}
	return nil
}

// Curves returns the curves of an iteration that q selects, in the order of q.Keys. Without
// keys, it returns all curves in alphabetical order. It omits keys that the iteration does not
// have.
//
// q must have passed Check. count is shared by all curves of the response.
func (tx *Tx) Curves(iteration int64, q CurveQuery, count *CurveCount) ([]Curve, error) {
	q.Points = min(q.Points, MaxPoints)
	all, err := tx.seriesOf(iteration, q.Keys)
	if err == nil {
		err = count.add(len(all))
	}
	if err != nil {
		return nil, err
	}
	curves := make([]Curve, len(all))
	for i, s := range all {
		if curves[i], err = tx.curve(s, q); err != nil {
			return nil, err
		}
		if err = count.addPoints(curves[i].Shown); err != nil {
			return nil, err
		}
		curves[i].Key = s.key
	}
	return curves, nil
}

// Check returns an *InvalidError if a field of q is invalid.
func (q CurveQuery) Check() error {
	switch {
	case q.Points < 2:
		return invalid("points", "points must be at least 2.")
	case q.From != nil && q.To != nil && *q.From > *q.To:
		return invalid("from", "from must not be larger than to.")
	case q.X != ByStep && q.X != ByTime:
		return invalid("x", "x must be one of %v.", []Axis{ByStep, ByTime})
	case q.Scale != Linear && q.Scale != Log:
		return invalid("scale", "scale must be one of %v.", []Scale{Linear, Log})
	}
	return nil
}

// curve returns the curve of one series, reduced to at most q.Points points.
func (tx *Tx) curve(s *series, q CurveQuery) (Curve, error) {
	if q.X == ByTime {
		return tx.timeCurve(s, q)
	}
	from, to := q.bounds()
	c := Curve{Step: []Step{}, Value: []Value{}, RecordedAt: []Time{}, Total: int(s.Count)}
	recent, err := tx.recent(s.id, s.compactedSeq)
	if err != nil {
		return c, err
	}
	recent = within(sorted(recent), Step(from), Step(to))
	first, last, err := tx.ends(s, from, to, recent)
	if err != nil || first == nil {
		return c, err
	}
	if int(s.Count) > q.Points {
		bins := newBins(int64(first.step), int64(last.step), q.Points-1, q.Scale)
		cells := make([]cell, bins.n)
		for _, r := range bins.runs() {
			err := tx.eachCell(s, r, func(o cell) {
				c.Count += int(o.count)
				cells[bins.of(int64(o.last.step))].merge(o)
			})
			if err != nil {
				return c, err
			}
		}
		for _, p := range recent {
			c.Count++
			cells[bins.of(int64(p.step))].add(p)
		}
		if c.Count > q.Points {
			c.showCells(*first, cells)
			return c, nil
		}
	}
	points, err := tx.points(s.id, from, to)
	if err != nil {
		return c, err
	}
	c.showAll(sorted(append(points, recent...)))
	return c, nil
}

// bounds returns the range of q. Both ends are inclusive.
func (q CurveQuery) bounds() (from, to int64) {
	from, to = math.MinInt64, math.MaxInt64
	if q.From != nil {
		from = *q.From
	}
	if q.To != nil {
		to = *q.To
	}
	return from, to
}

// within returns the points with steps in the range from..to. points must be sorted by step.
func within(points []point, from, to Step) []point {
	first := sort.Search(len(points), func(i int) bool { return points[i].step >= from })
	end := sort.Search(len(points), func(i int) bool { return points[i].step > to })
	return points[first:end]
}

// ends returns the first and the last point with a step in the range from..to, or nil if no point
// is in the range. The caller passes the points of the recent table, sorted and restricted to the
// range.
func (tx *Tx) ends(s *series, from, to int64, recent []point) (first, last *point, err error) {
	if len(recent) > 0 {
		first, last = &recent[0], &recent[len(recent)-1]
	}
	const columns = `SELECT step, seq, value, recorded_at FROM metric WHERE series_id = ? AND step BETWEEN ? AND ? ORDER BY `
	var p, o point
	err = tx.Row(columns+`step, seq LIMIT 1`, s.id, from, to).Scan(&p.step, &p.seq, &p.value, &p.at)
	if errors.Is(err, sql.ErrNoRows) {
		return first, last, nil
	}
	if err == nil {
		err = tx.Row(columns+`step DESC, seq DESC LIMIT 1`, s.id, from, to).Scan(&o.step, &o.seq, &o.value, &o.at)
	}
	if err != nil {
		return nil, nil, err
	}
	if first == nil || byStep(p, *first) < 0 {
		first = &p
	}
	if last == nil || byStep(*last, o) < 0 {
		last = &o
	}
	return first, last, nil
}

// points reads the points of the metric table with steps in the range from..to, in order.
func (tx *Tx) points(seriesID, from, to int64) ([]point, error) {
	var all []point
	err := tx.eachPoint(seriesID, from, to, func(p point) { all = append(all, p) })
	return all, err
}

func (tx *Tx) eachPoint(seriesID, from, to int64, fn func(point)) error {
	rows, err := tx.Rows(`SELECT step, seq, value, recorded_at FROM metric
		WHERE series_id = ? AND step BETWEEN ? AND ? ORDER BY step, seq`, seriesID, from, to)
	if err != nil {
		return err
	}
	defer rows.Close()
	// Reading many points spends most of its time in this loop. To save time, the loop
	// allocates nothing for a point and converts no number by reflection.
	var p point
	into := []any{(*int64)(&p.step), &p.seq, &p.value, (*int64)(&p.at)}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		fn(p)
	}
	return rows.Err()
}

func (c *Curve) showAll(points []point) {
	for _, p := range points {
		c.show(p)
	}
	c.Count = len(points)
}

func (c *Curve) show(p point) {
	c.Step = append(c.Step, p.step)
	c.Value = append(c.Value, p.value)
	c.RecordedAt = append(c.RecordedAt, p.at)
	c.Shown++
}

// showCells shows the first point of the range and then the last point of each cell, with the
// minimum and maximum of the cell's values.
func (c *Curve) showCells(first point, cells []cell) {
	c.showCell(cellOf(first), 1)
	before := 1 // the first point, already shown, also belongs to the first cell with points
	for _, o := range cells {
		if o.count > 0 && !(o.count == 1 && o.last.seq == first.seq) {
			c.showCell(o, int(o.count)-before)
		}
		if o.count > 0 {
			before = 0
		}
	}
}

func (c *Curve) showCell(o cell, behind int) {
	c.show(o.last)
	c.Behind = append(c.Behind, behind)
	if !o.finite {
		c.Min, c.Max = append(c.Min, nil), append(c.Max, nil)
		return
	}
	c.Min, c.Max = append(c.Min, &o.low), append(c.Max, &o.high)
}

// eachCell calls fn with cells that together cover all points of the metric table in the range of
// r. No cell crosses a multiple of 2^align.
//
// Most cells come from the widest rollups that fit. Narrower rollups and single points fill the
// ends of the range and the part after the last rollup.
func (tx *Tx) eachCell(s *series, r binRun, fn func(cell)) error {
	level := 0
	if s.rollups.end != nil && r.align >= s.rollups.shift {
		level = 1 + (r.align-s.rollups.shift)/rowShift
	}
	return tx.eachCellOf(s, level, r.from, r.to, fn)
}

func (tx *Tx) eachCellOf(s *series, level int, from, to int64, fn func(cell)) error {
	if from > to {
		return nil
	}
	if level == 0 {
		single := 0
		err := tx.eachPoint(s.id, from, to, func(p point) {
			fn(cellOf(p))
			single++
		})
		if single > maxRollUp {
			tx.engine.rollUpLater(s.id)
		}
		return err
	}
	shift := s.rollups.cellShift(level)
	if shift+rowShift >= 63 {
		return tx.eachCellOf(s, level-1, from, to, fn)
	}
	// The cells numbered a to b are in the range and in complete rows.
	a, b := (from-1)>>shift+1, to>>shift
	if to&(1<<shift-1) != 1<<shift-1 {
		b--
	}
	if from == math.MinInt64 {
		a = from >> shift
	}
	b = min(b, int64(*s.rollups.end)>>(shift+rowShift)<<rowShift-1)
	if a > b {
		return tx.eachCellOf(s, level-1, from, to, fn)
	}
	if err := tx.eachCellOf(s, level-1, from, a<<shift-1, fn); err != nil {
		return err
	}
	err := tx.eachRow(s, level, a>>rowShift, b>>rowShift, func(block int64, cells *[rowCells]cell) {
		for i, c := range cells {
			if at := block<<rowShift + int64(i); c.count > 0 && at >= a && at <= b {
				fn(c)
			}
		}
	})
	if err != nil || (b+1)<<shift-1 == to {
		return err
	}
	return tx.eachCellOf(s, level-1, (b+1)<<shift, to, fn)
}
