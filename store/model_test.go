package store_test

import (
	"cmp"
	"database/sql"
	"math"
	"slices"
	"testing"
	"unicode/utf8"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// model is a simple implementation of the expected state of all metrics in a database.
type model struct {
	iterations []*modelIteration
	gone       []string // ids of deleted points
}

type modelIteration struct {
	id             string
	ended, deleted bool
	points         []*modelPoint // in the order of writing
}

type modelPoint struct {
	runs.Metric // the ID is "" if no call has returned it yet
	firstKey    string
	firstStep   scalar.Step
}

// refusal returns the code of the error for writes to the iteration, or "" if they are allowed.
func (i *modelIteration) refusal() domain.Code {
	switch {
	case i.deleted:
		return domain.CodeNotFound
	case i.ended:
		return domain.CodeIterationEnded
	}
	return ""
}

func validKey(key string) bool {
	return key != "" && utf8.RuneCountInString(key) <= domain.MaxName && key != "line\nbreak"
}

// add writes points like CreateMetricBatch. It returns the points that it wrote and the code of
// the error that stopped it.
func (i *modelIteration) add(metrics []points.Sample, now scalar.Time) (added []*modelPoint, stopped domain.Code) {
	for _, m := range metrics {
		step, ok := i.nextStep(m.Key)
		if m.Step != nil {
			step, ok = *m.Step, true
		}
		if !ok || !validKey(m.Key) {
			return added, domain.CodeInvalidPayload
		}
		p := &modelPoint{firstKey: m.Key, firstStep: step, Metric: runs.Metric{
			IterationID: i.id, Key: m.Key, Value: m.Value, Step: step, RecordedAt: now}}
		if m.RecordedAt != nil {
			p.RecordedAt = *m.RecordedAt
		}
		i.points = append(i.points, p)
		added = append(added, p)
	}
	return added, ""
}

func (i *modelIteration) nextStep(key string) (step scalar.Step, ok bool) {
	for _, p := range i.points {
		if p.Key == key {
			if p.Step == math.MaxInt64 {
				return 0, false
			}
			step = max(step, p.Step+1)
		}
	}
	if step == 0 {
		// All steps are negative, or there are no points.
		for n, p := range i.of(key) {
			if n == 0 || p.Step+1 > step {
				step = p.Step + 1
			}
		}
	}
	return step, true
}

// of returns the points of one series in the order of writing.
func (i *modelIteration) of(key string) (all []*modelPoint) {
	for _, p := range i.points {
		if p.Key == key {
			all = append(all, p)
		}
	}
	return all
}

// listed returns the points in the order of a listing.
func (i *modelIteration) listed(key *string) []*modelPoint {
	all := slices.Clone(i.points)
	if key != nil {
		all = i.of(*key)
	}
	slices.SortStableFunc(all, func(a, b *modelPoint) int { return cmp.Compare(a.Step, b.Step) })
	return all
}

// find returns the point with the given id and its iteration, or nil if the model does not have
// the point.
func (m *model) find(id string) (*modelIteration, *modelPoint) {
	for _, i := range m.iterations {
		for _, p := range i.points {
			if p.ID == id && id != "" {
				return i, p
			}
		}
	}
	return nil, nil
}

func (m *model) remove(i *modelIteration, p *modelPoint) {
	i.points = slices.DeleteFunc(i.points, func(o *modelPoint) bool { return o == p })
	m.gone = append(m.gone, p.ID)
}

func (m *model) removeIteration(i *modelIteration) {
	i.deleted = true
	for _, p := range i.points {
		if p.ID != "" {
			m.gone = append(m.gone, p.ID)
		}
	}
	i.points = nil
}

func samePoint(a, b runs.Metric) bool {
	return a.ID == b.ID && a.IterationID == b.IterationID && a.Key == b.Key && a.Step == b.Step &&
		a.RecordedAt == b.RecordedAt && sameFloat(float64(a.Value), float64(b.Value))
}

// statistics is a row of the series table.
type statistics struct {
	Key              string
	Count, Finite    int64
	Last             sql.NullFloat64 // not valid for NaN
	LastStep, LastAt int64
	Min, Max         sql.NullFloat64
	MinStep, MaxStep sql.NullInt64
	Sum              float64
}

// statistics computes the expected row of a series. tolerance is the largest possible difference
// if the values are summed in a different order.
func (i *modelIteration) statistics(key string) (s statistics, tolerance float64) {
	s.Key = key
	for n, p := range i.of(key) {
		v := float64(p.Value)
		s.Count++
		if n == 0 || int64(p.Step) >= s.LastStep {
			s.Last = sql.NullFloat64{Float64: v, Valid: true}
			if math.IsNaN(v) {
				s.Last = sql.NullFloat64{}
			}
			s.LastStep, s.LastAt = int64(p.Step), int64(p.RecordedAt)
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		s.Finite++
		s.Sum += v
		tolerance += math.Abs(v) * 1e-9
		step := sql.NullInt64{Int64: int64(p.Step), Valid: true}
		value := sql.NullFloat64{Float64: v, Valid: true}
		if !s.Min.Valid || v < s.Min.Float64 || v == s.Min.Float64 && step.Int64 < s.MinStep.Int64 {
			s.Min, s.MinStep = value, step
		}
		if !s.Max.Valid || v > s.Max.Float64 || v == s.Max.Float64 && step.Int64 < s.MaxStep.Int64 {
			s.Max, s.MaxStep = value, step
		}
	}
	return s, tolerance
}

func (s statistics) same(want statistics, tolerance float64) bool {
	sums := math.Abs(s.Sum-want.Sum) <= tolerance || math.IsInf(tolerance*1e9, 1)
	s.Sum, want.Sum = 0, 0
	return sums && s == want
}

// knownStatistics returns the statistics of an iteration as a handle reads them. It returns none
// if the iteration was deleted.
func knownStatistics(t testing.TB, db *store.DB, iteration string) map[string]statistics {
	t.Helper()
	found, err := db.StatisticsOf(iteration)
	if codeOf(err) == domain.CodeNotFound {
		return nil
	}
	wantOK(t, err)
	all := map[string]statistics{}
	for _, f := range found {
		s := f.Stats
		all[f.Key] = statistics{Key: f.Key, Count: s.Count, Finite: s.Finite,
			Last:     sql.NullFloat64{Float64: float64(s.Last), Valid: true},
			LastStep: int64(*s.LastStep), LastAt: int64(*s.LastAt), Sum: float64(s.Sum)}
		known := all[f.Key]
		if math.IsNaN(float64(s.Last)) {
			known.Last = sql.NullFloat64{}
		}
		if s.Finite > 0 {
			known.Min = sql.NullFloat64{Float64: float64(*s.Min), Valid: true}
			known.Max = sql.NullFloat64{Float64: float64(*s.Max), Valid: true}
			known.MinStep = sql.NullInt64{Int64: int64(*s.MinStep), Valid: true}
			known.MaxStep = sql.NullInt64{Int64: int64(*s.MaxStep), Valid: true}
		}
		all[f.Key] = known
	}
	return all
}

// storedStatistics returns the rows of an iteration in the file.
func storedStatistics(t testing.TB, file *sql.DB, iteration string) map[string]statistics {
	t.Helper()
	rows := must(file.Query(`SELECT series.key, count, finite, last, last_step, last_at,
			min, min_step, max, max_step, sum
		FROM series JOIN iteration ON iteration.num = series.iteration_num WHERE iteration.id = ?`, iteration))(t)
	defer rows.Close()
	all := map[string]statistics{}
	for rows.Next() {
		var s statistics
		wantOK(t, rows.Scan(&s.Key, &s.Count, &s.Finite, &s.Last, &s.LastStep, &s.LastAt,
			&s.Min, &s.MinStep, &s.Max, &s.MaxStep, &s.Sum))
		all[s.Key] = s
	}
	wantOK(t, rows.Err())
	return all
}
