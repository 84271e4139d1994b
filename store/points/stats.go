package points

import (
	"math"

	"tracker/store/sqlite"
)

// Stats holds the statistics of a series. The statistics depend only on the points of the
// series.
//
// If several points have the minimum or maximum, MinStep or MaxStep is their smallest step. If
// several points have the largest step, Last is the value that was written last.
type Stats struct {
	Count    int64  `db:"count"`
	Finite   int64  `db:"finite"` // number of finite values
	Last     Value  `db:"last"`
	LastStep *Step  `db:"last_step"` // nil if the series has no points
	LastAt   *Time  `db:"last_at"`
	Min      *Value `db:"min"` // Min, MinStep, Max and MaxStep are nil if no value is finite
	MinStep  *Step  `db:"min_step"`
	Max      *Value `db:"max"`
	MaxStep  *Step  `db:"max_step"`
	Sum      Value  `db:"sum"` // sum of the finite values
	checksum int64
}

const statsColumns = `count, finite, last, last_step, last_at, min, min_step, max, max_step, sum, checksum`

// add adds a point. All other points of the series must have been written before p.
func (s *Stats) add(p point) {
	s.Count++
	s.checksum += p.checksum()
	if s.LastStep == nil || p.step >= *s.LastStep {
		s.Last, s.LastStep, s.LastAt = p.value, &p.step, &p.at
	}
	if !p.value.Finite() {
		return
	}
	s.Finite++
	s.Sum += p.value
	if s.Min == nil || p.value < *s.Min || p.value == *s.Min && p.step < *s.MinStep {
		s.Min, s.MinStep = &p.value, &p.step
	}
	if s.Max == nil || p.value > *s.Max || p.value == *s.Max && p.step < *s.MaxStep {
		s.Max, s.MaxStep = &p.value, &p.step
	}
}

// Mean returns the mean of the finite values. It returns nil if no value is finite or if the
// sum is outside the range of a float64.
func (s *Stats) Mean() *Value {
	if s.Finite == 0 || !s.Sum.Finite() {
		return nil
	}
	mean := s.Sum / Value(s.Finite)
	return &mean
}

// MeanSQL is the SQL expression of Stats.Mean for a row of the series table.
const MeanSQL = `iif(abs(series.sum) <= 1.7976931348623157e308, series.sum / series.finite, NULL)`

// Summary holds the statistics of one metric of an iteration. Min, Max and Mean ignore values
// that are not finite. Min, Max and Mean are nil if no value is finite.
type Summary struct {
	Count    int64  `json:"count"`
	Last     Value  `json:"last"` // value at the largest step
	LastStep Step   `json:"last_step"`
	Min      *Value `json:"min"`
	MinStep  *Step  `json:"min_step"`
	Max      *Value `json:"max"`
	MaxStep  *Step  `json:"max_step"`
	Mean     *Value `json:"mean"`
}

// Summary returns the statistics as a Summary. The series must have points.
func (s *Stats) Summary() Summary {
	return Summary{Count: s.Count, Last: s.Last, LastStep: *s.LastStep,
		Min: s.Min, MinStep: s.MinStep, Max: s.Max, MaxStep: s.MaxStep, Mean: s.Mean()}
}

// Statistics returns the statistics of all series of the given iterations.
func (tx *Tx) Statistics(iterations ...int64) ([]Statistics, error) {
	all, err := tx.seriesWhere(`series.iteration_num IN (SELECT value FROM json_each(?))`, sqlite.JSON(iterations))
	found := make([]Statistics, len(all))
	for i, s := range all {
		found[i] = s.statistics()
	}
	return found, err
}

// sameAs reports whether s and o describe the same points. The sums can differ in the last
// digits if the values were added in a different order. scale is the sum of the absolute
// values.
func (s *Stats) sameAs(o *Stats, scale float64) bool {
	tolerance := 1e-9 * scale
	sum := sameValue(s.Sum, o.Sum) || math.Abs(float64(s.Sum-o.Sum)) <= tolerance || math.IsInf(scale, 1)
	return s.Count == o.Count && s.Finite == o.Finite && sum && sameValue(s.Last, o.Last) &&
		same(s.LastStep, o.LastStep) && same(s.LastAt, o.LastAt) &&
		same(s.Min, o.Min) && same(s.MinStep, o.MinStep) &&
		same(s.Max, o.Max) && same(s.MaxStep, o.MaxStep)
}

func same[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

func sameValue(a, b Value) bool {
	return a == b || math.IsNaN(float64(a)) && math.IsNaN(float64(b))
}

// computed holds the statistics that computeStats has computed.
type computed struct {
	Stats
	scale   float64 // sum of the absolute values
	lastSeq int64   // largest seq in the metric table
}

// add adds a point to the statistics.
func (s *computed) add(p point) {
	s.Stats.add(p)
	if p.value.Finite() {
		s.scale += math.Abs(float64(p.value))
	}
}

// computeStats computes the statistics of a series from its points. All points with a seq up to
// compacted must be in the metric table. If each is not nil, computeStats calls it with each
// point of the metric table, in order.
func (tx *Tx) computeStats(id, compacted int64, each func(point)) (s computed, err error) {
	recent, err := tx.recent(id, compacted)
	if err != nil {
		return s, err
	}
	last := point{seq: -1}
	err = tx.eachPoint(id, math.MinInt64, math.MaxInt64, func(p point) {
		s.add(p)
		s.lastSeq = max(s.lastSeq, p.seq)
		last = p
		if each != nil {
			each(p)
		}
	})
	if err != nil {
		return s, err
	}
	for _, p := range recent {
		s.add(p)
	}
	// A point in the recent table can precede the last point of the metric table.
	for _, p := range recent {
		if last.seq >= 0 && byStep(p, last) < 0 {
			continue
		}
		last = p
	}
	if last.seq >= 0 {
		s.Last, s.LastStep, s.LastAt = last.value, &last.step, &last.at
	}
	return s, nil
}
