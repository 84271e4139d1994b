package importance

import (
	"math"
	"slices"

	"tracker/store/goal"
)

const (
	wideRange    = 10.0 // minimum ratio of the largest to the smallest number for a Contrast
	leastRatio   = 2.0  // minimum ratio of two best values, at the lower end of its interval
	nearlyLowest = 0.15 // maximum difference from a curve's lowest point, as a fraction of the curve's range
)

// Contrast compares the best values of a parameter at two levels of another parameter. The
// parameter holds positive numbers over at least one power of ten, such as learning rates.
type Contrast struct {
	More, Less int // indexes into Levels; the level More has the larger best value
	// Ratio is the best value at More divided by the best value at Less. RatioLow and RatioHigh
	// are the ends of its 95% confidence interval.
	Ratio, RatioLow, RatioHigh float64
}

// centers returns the logarithm of the best value of column c on each curve. It returns nil if
// the goal is unknown, or if the column does not hold positive numbers over a wide range. The
// best value is the geometric mean of the neighbouring groups that are nearly as good as the
// best group.
func (t *table) centers(c int, curve samples) []float64 {
	g := t.groups[c]
	if t.aim == "" || g.numbers < 3 || g.numbers < len(g.middle) {
		return nil
	}
	logs := make([]float64, g.numbers)
	for i := range logs {
		f, ok := numberOf(g.middle[i])
		if !ok || f <= 0 {
			return nil
		}
		logs[i] = math.Log(f)
	}
	if logs[len(logs)-1]-logs[0] < math.Log(wideRange) {
		return nil
	}
	if t.aim == goal.Maximize {
		curve = curve.mirrored()
	}
	all := make([]float64, len(curve))
	for k, one := range curve {
		low := slices.Index(one, slices.Min(one))
		near := one[low] + nearlyLowest*(slices.Max(one)-one[low])
		from, to := low, low
		for from > 0 && one[from-1] <= near {
			from--
		}
		for to+1 < len(one) && one[to+1] <= near {
			to++
		}
		for _, v := range logs[from : to+1] {
			all[k] += v / float64(to+1-from)
		}
	}
	return all
}

// contrast compares the levels of column c whose best values are farthest apart. It uses only
// levels with a known form.
func (t *table) contrast(c int, levels []Level) *Contrast {
	var found *Contrast
	for more, a := range levels {
		for less, b := range levels {
			if a.best == nil || b.best == nil {
				continue
			}
			differences := make([]float64, len(a.best))
			for i := range differences {
				differences[i] = a.best[i] - b.best[i]
			}
			mean, sd := deviation(differences)
			if low := mean - quantile*sd; low < math.Log(leastRatio) || found != nil && math.Exp(mean) <= found.Ratio {
				continue
			}
			found = &Contrast{More: more, Less: less, Ratio: math.Exp(mean), RatioLow: math.Exp(mean - quantile*sd),
				RatioHigh: math.Exp(mean + quantile*sd)}
		}
	}
	return found
}
