package chart

import (
	"math"
	"slices"

	"tracker/store/goal"
)

// far is the factor by which an outlier is farther from 0 than most curves.
const far = 10

// ends holds the smallest and the largest value of a curve.
type ends struct{ low, high float64 }

// usualRange returns a value range in which most curves of a metric are readable. A curve's
// minimum or maximum is an outlier if it is more than ten times as far from 0 as three quarters
// of the curves. The range excludes outliers only if the other values would otherwise fill less
// than a tenth of the chart's height. The range never excludes outliers in the better
// direction. The function usualRange in ui/static/curvemath.js implements the same rule.
func usualRange(curves []ends, better goal.Goal) ends {
	all := ends{math.Inf(1), math.Inf(-1)}
	var reach []float64
	for _, c := range curves {
		all = ends{min(all.low, c.low), max(all.high, c.high)}
		reach = append(reach, -max(-c.low, c.high))
	}
	if len(curves) < 3 {
		return all
	}
	slices.Sort(reach) // largest distance first
	bound := -far * reach[max(1, len(reach)/4)]
	most := ends{math.Inf(1), math.Inf(-1)}
	for _, c := range curves {
		if better == goal.Minimize || c.low >= -bound {
			most.low = min(most.low, c.low)
		}
		if better == goal.Maximize || c.high <= bound {
			most.high = max(most.high, c.high)
		}
	}
	if height := most.high - most.low; height > 0 && height < (all.high-all.low)/far {
		return most
	}
	return all
}

// inner returns the range without the lowest and the highest five percent of values. It returns
// otherwise if there are no values.
func inner(values []float64, otherwise ends) ends {
	if len(values) == 0 {
		return otherwise
	}
	values = slices.Sorted(slices.Values(values))
	cut := len(values) / 20
	return ends{values[cut], values[len(values)-1-cut]}
}
