package ui

import (
	"net/http"

	"github.com/go-json-experiment/json"

	"tracker/store"
)

// curve is a metric of a run as charts take it. X is the step, the Unix
// millisecond, or how many milliseconds after the start of the run.
type curve struct {
	ID    string         `json:"id"`
	Key   string         `json:"key"`
	Count int            `json:"count"` // points in the range
	X     []int64        `json:"x"`
	Y     []store.Value  `json:"y"`
	Low   []*store.Value `json:"low,omitempty"`
	High  []*store.Value `json:"high,omitempty"`
}

// The axes of a chart. Those of the store are steps and times.
const (
	stepAxis     = "step"
	timeAxis     = "time"
	relativeAxis = "relative"
)

const (
	maxCurveRuns = 1000
	maxCurveKeys = 200
)

// curvesData answers the curves of some runs. A range of relative times is one
// of its own times for each run.
func (s *site) curvesData(r *http.Request, actor store.Actor) (any, error) {
	var b struct {
		Iterations []string    `json:"iterations"`
		Keys       []string    `json:"keys"`
		Points     int         `json:"points"`
		X          string      `json:"x"`
		Scale      store.Scale `json:"scale"`
		From       *int64      `json:"from"`
		To         *int64      `json:"to"`
	}
	if err := json.UnmarshalRead(r.Body, &b); err != nil {
		return nil, store.Errorf(store.CodeMalformedBody, "The request for curves can't be read; load the page again.")
	}
	if len(b.Iterations) > maxCurveRuns || len(b.Keys) > maxCurveKeys || len(b.Keys) == 0 {
		return nil, store.Invalid("keys", "A request for curves may name 1 to %d metrics of up to %d iterations.",
			maxCurveKeys, maxCurveRuns)
	}
	q := store.CurveQuery{Keys: b.Keys, Points: b.Points, X: store.ByStep, Scale: b.Scale, From: b.From, To: b.To}
	if b.X != stepAxis {
		q.X = store.ByTime
	}
	answer := struct {
		Curves []curve `json:"curves"`
	}{[]curve{}}
	if b.X != relativeAxis {
		all, err := s.DB.Curves(r.Context(), actor, b.Iterations, q)
		for _, c := range all {
			answer.Curves = append(answer.Curves, drawn(c, q.X, 0))
		}
		return answer, err
	}
	for _, id := range b.Iterations {
		i, err := s.DB.Iteration(r.Context(), actor, id)
		if err != nil {
			return nil, err
		}
		start := int64(i.CreatedDate)
		q.From, q.To = later(b.From, start), later(b.To, start)
		all, err := s.DB.Curves(r.Context(), actor, []string{id}, q)
		if err != nil {
			return nil, err
		}
		for _, c := range all {
			answer.Curves = append(answer.Curves, drawn(c, q.X, start))
		}
	}
	return answer, nil
}

func later(at *int64, start int64) *int64 {
	if at == nil {
		return nil
	}
	return new(*at + start)
}

func drawn(c store.Curve, axis store.Axis, start int64) curve {
	d := curve{ID: c.IterationID, Key: c.Key, Count: c.Count, X: make([]int64, c.Shown), Y: c.Value, Low: c.Min, High: c.Max}
	for i := range d.X {
		if axis == store.ByTime {
			d.X[i] = int64(c.RecordedAt[i]) - start
		} else {
			d.X[i] = int64(c.Step[i])
		}
	}
	return d
}
