package points

import "math"

// Spread is the mean and the sample standard deviation of the finite values of N iterations. A
// number outside the range of a float64 is nil. SD is also nil if N is less than 2.
type Spread struct {
	N    int    `json:"n"`
	Mean *Value `json:"mean"`
	SD   *Value `json:"sd"`
}

// NewSpread returns the spread of n values with the given mean. squares is the sum of the
// squared deviations from the mean.
func NewSpread(n int, mean, squares *float64) Spread {
	s := Spread{N: n}
	if mean == nil || math.IsInf(*mean, 0) {
		return s
	}
	s.Mean = new(Value(*mean))
	if n > 1 && squares != nil && !math.IsInf(*squares, 0) {
		s.SD = new(Value(math.Sqrt(*squares / float64(n-1))))
	}
	return s
}
