package diagnosis

import (
	"math"
	"slices"

	"tracker/store/goal"
)

const (
	leastBand    = 10 // minimum number of finished runs for a band
	leastSpread  = 20 // minimum number of finished runs for quantiles; with fewer runs, the band is their whole range
	leastOutside = 5  // minimum number of values of the run outside the band
)

// departure describes the part of a metric that is outside the band of the finished runs.
type departure struct {
	key   string
	step  int64 // first step of the part
	first bool  // whether the whole metric is outside
	above bool
	value float64 // value of the run at step
	limit float64 // end of the band at step
	runs  int     // number of finished runs with a value at step
}

// bandAt returns the band of curves at a step and the number of curves with a value at this step.
// The band is the range from the 5 % to the 95 % quantile. With fewer than leastSpread curves, it
// is the range of all values.
func bandAt(curves []Series, step int64) (low, high float64, runs int) {
	values := make([]float64, 0, len(curves))
	for _, c := range curves {
		if v := c.valueAt(step); finite(v) {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return math.NaN(), math.NaN(), 0
	}
	slices.Sort(values)
	if len(values) < leastSpread {
		return values[0], values[len(values)-1], len(values)
	}
	return quantile(values, 0.05), quantile(values, 0.95), len(values)
}

// departs finds the step from which the run's metric is outside the band of the finished runs
// until its end, always on the same side. If the goal of the metric is known, only the worse side
// counts. The band is unknown at steps at which fewer than leastBand finished runs have a value.
// ok is false if there is no such step, or if fewer than leastOutside values are outside the
// band.
func departs(s Series, finished []Series) (d departure, ok bool) {
	if len(finished) < leastBand {
		return d, false
	}
	aim := goal.Of(s.Key)
	outside := 0
	for i := len(s.Step) - 1; i >= 0; i-- {
		v := s.Value[i]
		if !finite(v) {
			continue
		}
		low, high, runs := bandAt(finished, s.Step[i])
		if runs < leastBand {
			if outside == 0 {
				continue // the run is longer than the finished runs
			}
			break
		}
		above := v > high
		if !above && !(v < low) || outside > 0 && above != d.above || above && aim == goal.Maximize || !above && aim == goal.Minimize {
			return d, outside >= leastOutside
		}
		d = departure{key: s.Key, step: s.Step[i], first: i == 0, above: above, value: v, limit: high, runs: runs}
		if !above {
			d.limit = low
		}
		outside++
	}
	return d, outside >= leastOutside
}
