package points

import (
	"errors"
	"math"
)

// Sample is a point that a caller wants to write.
type Sample struct {
	Key        string `json:"key"`
	Value      Value  `json:"value"`
	Step       *Step  `json:"step"`        // nil means the step after the series' largest step, or 0 in a new series
	RecordedAt *Time  `json:"recorded_at"` // nil means the time of the request
}

// Append adds samples to the series of an iteration, in slice order, and returns the ids of the
// points. The commit writes the points. Samples without a time get the time now.
//
// At the first invalid sample, Append stops and returns an *InvalidError and the ids of the
// preceding points. After any other error, Append has added no point. The transaction must be
// the writer's.
func (tx *Tx) Append(iteration int64, samples []Sample, now Time) (ids []string, err error) {
	planned, err := tx.plan(iteration, samples, now)
	var refused *InvalidError
	if err != nil && !errors.As(err, &refused) {
		return nil, err
	}
	ids = make([]string, len(planned))
	for i, p := range planned {
		ids[i] = tx.engine.open.add(p.series, p.point).id()
	}
	return ids, err
}

// AppendAll is like Append, but adds either all samples or none. It adds none if it returns an
// error.
func (tx *Tx) AppendAll(iteration int64, samples []Sample, now Time) error {
	planned, err := tx.plan(iteration, samples, now)
	if err != nil {
		return err
	}
	for _, p := range planned {
		tx.engine.open.add(p.series, p.point)
	}
	return nil
}

// Copy is a point copied from another database.
type Copy struct {
	Key   string
	Step  Step
	Value Value
	At    Time
	// Seq is the number of the point in the other database. The numbers ascend in the order of
	// writing.
	Seq int64
}

// AppendCopies adds the given points to the series of an iteration, in slice order. The commit
// writes the points.
//
// The transaction must be the writer's. If AppendCopies returns an error, the transaction must
// be rolled back.
func (tx *Tx) AppendCopies(iteration int64, copies []*Copy) error {
	var s *series
	for _, c := range copies {
		if s == nil || s.key != c.Key {
			var err error
			if s, err = tx.openSeries(iteration, c.Key); err != nil {
				return err
			}
		}
		tx.engine.open.add(s, point{step: c.Step, value: c.Value + 0, at: c.At})
	}
	return nil
}

// plannedPoint is a point with its series. The point has a step, but no seq yet.
type plannedPoint struct {
	series *series
	point  point
}

// plan returns the points for samples, in the same order, and changes nothing. If a sample is
// invalid, plan returns an *InvalidError and the points before that sample.
func (tx *Tx) plan(iteration int64, samples []Sample, now Time) ([]plannedPoint, error) {
	planned := make([]plannedPoint, 0, len(samples))
	last := make(map[*series]*Step, 1) // largest step of each series, including planned points
	var s *series
	for i := range samples {
		m := &samples[i]
		if s == nil || s.key != m.Key {
			var err error
			if s, err = tx.openSeries(iteration, m.Key); err != nil {
				return nil, err
			}
		}
		// SQLite stores -0 as 0. Adding 0 has the same effect in memory.
		p := point{value: m.Value + 0, at: now}
		if m.RecordedAt != nil {
			p.at = *m.RecordedAt
		}
		largest, ok := last[s]
		if !ok {
			largest = s.LastStep
		}
		if m.Step != nil {
			p.step = *m.Step
		} else {
			var err error
			if p.step, err = stepAfter(largest); err != nil {
				return planned, err
			}
		}
		if largest == nil || p.step > *largest {
			largest = &p.step
		}
		last[s] = largest
		planned = append(planned, plannedPoint{s, p})
	}
	return planned, nil
}

// stepAfter returns the step after largest, or 0 if largest is nil. If largest is the maximum
// step, stepAfter returns an *InvalidError.
func stepAfter(largest *Step) (Step, error) {
	if largest == nil {
		return 0, nil
	}
	if *largest == math.MaxInt64 {
		return 0, invalid("step", "The series already has the largest possible step; set the step yourself.")
	}
	return *largest + 1, nil
}

// AppendNew adds samples and skips duplicates. A sample is a duplicate if its series already has
// a point with the same step, time and value. Clients send duplicates when they repeat a request
// whose response was lost.
//
// AppendNew compares a sample with at most the last sameStep points at the sample's step. If it
// returns an error, it might have added some points.
func (tx *Tx) AppendNew(iteration int64, samples []Sample, now Time) error {
	planned, err := tx.plan(iteration, samples, now)
	if err != nil {
		return err
	}
	for _, p := range planned {
		there, err := tx.has(p.series, p.point)
		if err != nil {
			return err
		}
		if !there {
			tx.engine.open.add(p.series, p.point)
		}
	}
	return nil
}

// sameStep is the maximum number of stored points of one step that AppendNew reads.
const sameStep = 10_000

// has reports whether s already has a point with p's step, time and value. The transaction must
// be the writer's.
func (tx *Tx) has(s *series, p point) (bool, error) {
	if s.LastStep == nil || p.step > *s.LastStep || p.step == *s.LastStep && p.at > *s.LastAt {
		return false, nil
	}
	for i := len(s.pending) - 1; i >= 0; i-- {
		if r := s.pending[i].point(); r.sameAs(p) {
			return true, nil
		}
	}
	if !s.stored {
		return false, nil
	}
	recent, err := tx.recent(s.id, s.compactedSeq)
	if err != nil {
		return false, err
	}
	for i := len(recent) - 1; i >= 0; i-- {
		if recent[i].sameAs(p) {
			return true, nil
		}
	}
	var n int
	err = tx.Row(`SELECT count(*) FROM (
			SELECT value, recorded_at FROM metric WHERE series_id = ? AND step = ? ORDER BY seq DESC LIMIT ?)
		WHERE recorded_at = ? AND value IS ?`, s.id, p.step, sameStep, p.at, p.value.Driver()).Scan(&n)
	return n > 0, err
}

// sameAs reports whether p and o have the same step, time and value.
func (p point) sameAs(o point) bool {
	return p.step == o.step && p.at == o.at && sameValue(p.value, o.value)
}
