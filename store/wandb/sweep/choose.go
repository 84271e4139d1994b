package sweep

import (
	"math"
	"math/rand/v2"
)

// Observation is the result of a finished run in a sweep.
type Observation struct {
	Point Point
	Value float64 // best value of the metric; NaN if the run has no value
}

// Next chooses the settings of the next run. number is how many runs have been chosen before, and
// seen lists the finished runs. ok is false if no settings are left.
func (c Config) Next(r *rand.Rand, number int, seen []Observation) (p Point, settings map[string]any, ok bool) {
	if number < 0 || number >= c.Size() {
		return nil, nil, false
	}
	if c.Method == Grid {
		p, settings = c.cell(number)
		return p, settings, true
	}
	p = Point{}
	for _, d := range c.Dimensions {
		p[d.Name()] = r.Float64()
	}
	if c.Method == Bayes {
		c.improve(r, p, seen)
	}
	return p, c.Settings(p), true
}

// cell returns the point and the settings of a grid cell. The last dimension varies fastest.
func (c Config) cell(number int) (Point, map[string]any) {
	p := Point{}
	places := make([]int, len(c.Dimensions))
	for i := len(c.Dimensions) - 1; i >= 0; i-- {
		n := c.Dimensions[i].count()
		places[i] = number % n
		number /= n
	}
	exact := c
	exact.Dimensions = make([]Dimension, len(c.Dimensions))
	for i, d := range c.Dimensions {
		p[d.Name()] = (float64(places[i]) + 0.5) / float64(d.count())
		// Use the value of the cell itself, because the weight of a grid value can be 0 and the
		// last step can end below high.
		exact.Dimensions[i] = Dimension{Path: d.Path, Distribution: "constant", values: []any{d.cell(places[i])}, weights: []float64{1}}
	}
	return p, exact.Settings(p)
}

// cell returns the i-th value of the dimension in a grid.
func (d Dimension) cell(i int) any {
	if d.values != nil {
		return d.values[i]
	}
	step := d.q
	if step == 0 {
		step = 1
	}
	x := d.low + float64(i)*step
	if x == math.Floor(x) && (d.whole || d.low == math.Floor(d.low) && d.q == 0) {
		return int64(x)
	}
	return x
}
