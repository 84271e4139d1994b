package chart

import (
	"context"
	"strconv"

	"tracker/store/domain"
	"tracker/store/goal"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// Curve is a metric's curve for a chart. The curve belongs to a run or is the mean of a group
// of runs. X holds steps, Unix times in milliseconds, milliseconds since the start of the run,
// or values of another metric. For a group, Low and High are one standard deviation below and
// above the mean.
type Curve struct {
	ID  string `json:"id"` // ID of the run, or index of the group in the request
	Key string `json:"key"`
	// Better is "larger" or "smaller" if the metric's name implies which values are better,
	// otherwise "".
	Better string          `json:"better,omitempty"`
	Count  int             `json:"count"` // number of points in the requested range
	Total  int             `json:"total"` // number of points in the whole curve; for a group, in its longest curve
	X      []scalar.Value  `json:"x"`
	Y      []scalar.Value  `json:"y"`
	Low    []*scalar.Value `json:"low,omitempty"`
	High   []*scalar.Value `json:"high,omitempty"`
	Step   []scalar.Step   `json:"step,omitempty"` // set if X holds another metric
	// Behind holds the number of points that each drawn point represents. Behind is omitted if
	// all numbers are 1.
	Behind []int `json:"behind,omitempty"`
	N      []int `json:"n,omitempty"`   // for a group: number of runs included in each mean
	Runs   int   `json:"runs,omitzero"` // for a group: number of runs in the group
}

// better maps a goal to the value of Curve.Better.
var better = map[goal.Goal]string{goal.Minimize: "smaller", goal.Maximize: "larger"}

// CurveOf returns a curve over steps or over time. With points.ByTime, X holds milliseconds
// since start. The time start is in Unix milliseconds.
func CurveOf(c runs.Curve, axis points.Axis, start int64) Curve {
	d := Curve{ID: c.IterationID, Key: c.Key, Better: better[goal.Of(c.Key)], Count: c.Count, Total: c.Total, X: make([]scalar.Value, c.Shown), Y: c.Value,
		Low: c.Min, High: c.Max, Behind: c.Behind}
	for i := range d.X {
		if axis == points.ByTime {
			d.X[i] = scalar.Value(int64(c.RecordedAt[i]) - start)
		} else {
			d.X[i] = scalar.Value(c.Step[i])
		}
	}
	return d
}

// AgeCurves reads the curves of runs over the time since the start of each run. The range of the
// query is in milliseconds since the start.
func AgeCurves(ctx context.Context, db *runs.DB, actor domain.Actor, of []runs.Iteration, q points.CurveQuery) ([]Curve, error) {
	all := []Curve{}
	from, to := q.From, q.To
	q.X = points.ByTime
	for _, i := range of {
		start := int64(i.CreatedDate)
		q.From, q.To = later(from, start), later(to, start)
		found, err := db.Curves(ctx, actor, []string{i.ID}, q)
		if err != nil {
			return nil, err
		}
		for _, c := range found {
			all = append(all, CurveOf(c, q.X, start))
		}
	}
	return all, nil
}

func later(at *int64, start int64) *int64 {
	if at == nil {
		return nil
	}
	return new(*at + start)
}

// CurveOfPairs returns a curve whose X values are the values of another metric.
func CurveOfPairs(p runs.Pairs) Curve {
	return Curve{ID: p.IterationID, Key: p.Key, Better: better[goal.Of(p.Key)], Count: p.Count, Total: p.Total, X: p.X, Y: p.Value, Step: p.Step}
}

// CurveOfMeans returns the mean curve of a group of runs.
func CurveOfMeans(group int, c points.MeanCurve) Curve {
	d := Curve{ID: strconv.Itoa(group), Key: c.Key, Better: better[goal.Of(c.Key)], Count: c.Count, Total: c.Total, X: c.X, Y: c.Mean, N: c.N, Runs: c.Iterations}
	for i, sd := range c.SD {
		var low, high *scalar.Value
		if sd != nil {
			low, high = new(c.Mean[i]-*sd), new(c.Mean[i]+*sd)
		}
		d.Low, d.High = append(d.Low, low), append(d.High, high)
	}
	return d
}
