package chart

import (
	"strconv"

	"tracker/store/goal"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// Curve is a metric of a run, or the mean of a group, for a chart. X is the
// step, the Unix time in milliseconds, the milliseconds since the start of the
// run, or the value of another metric. For a group, Low and High are one
// standard deviation below and above the mean.
type Curve struct {
	ID  string `json:"id"` // id of the run, or index of the group in the request
	Key string `json:"key"`
	// Better is "larger" or "smaller" if the name of the metric implies which values are better.
	Better string          `json:"better,omitempty"`
	Count  int             `json:"count"` // points in the range
	Total  int             `json:"total"` // and in all of the curve; of a group, of its longest one
	X      []scalar.Value  `json:"x"`
	Y      []scalar.Value  `json:"y"`
	Low    []*scalar.Value `json:"low,omitempty"`
	High   []*scalar.Value `json:"high,omitempty"`
	Step   []scalar.Step   `json:"step,omitempty"` // where X is another metric
	// Behind holds the number of points that each place stands for. It is omitted if all are 1.
	Behind []int `json:"behind,omitempty"`
	N      []int `json:"n,omitempty"`   // for a group: number of runs that count at each place
	Runs   int   `json:"runs,omitzero"` // for a group: number of its runs
}

// better maps a goal to the value of Curve.Better.
var better = map[goal.Goal]string{goal.Minimize: "smaller", goal.Maximize: "larger"}

// CurveOf returns a curve over steps, or over the time since start in Unix milliseconds.
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

// CurveOfPairs returns a curve over another metric.
func CurveOfPairs(p runs.Pairs) Curve {
	return Curve{ID: p.IterationID, Key: p.Key, Better: better[goal.Of(p.Key)], Count: p.Count, Total: p.Total, X: p.X, Y: p.Value, Step: p.Step}
}

// CurveOfMeans returns the mean of a group.
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
