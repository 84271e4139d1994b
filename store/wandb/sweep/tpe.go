package sweep

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// The bayes method is the tree-structured Parzen estimator of J. Bergstra, R. Bardenet, Y. Bengio
// and B. Kégl, "Algorithms for Hyper-Parameter Optimization", NIPS 2011, section 4.
//
// The finished runs are divided into the best runs and the other runs. A density l is estimated
// from the best runs and a density g from the other runs. Of several candidates drawn from l, the
// one with the largest l/g is chosen.
//
// The dimensions are independent. Each coordinate is a quantile of a distribution, so its prior is
// uniform from 0 to 1.
const (
	startup    = 10  // number of random runs before the first estimate
	best       = 0.1 // fraction of the runs that count as the best runs
	candidates = 24  // number of candidates for a numeric dimension
	choices    = 2   // number of candidates for a list of values; with many candidates the choice would always be the same
	maxSeen    = 500 // maximum number of runs in an estimate, which are the last ones
)

// improve replaces the coordinates of p with coordinates that are likely to give better values than
// the points in seen.
func (c Config) improve(r *rand.Rand, p Point, seen []Observation) {
	if len(seen) < startup {
		return
	}
	seen = slices.Clone(seen[max(0, len(seen)-maxSeen):])
	slices.SortStableFunc(seen, func(a, b Observation) int { return cmp.Compare(c.loss(a), c.loss(b)) })
	n := int(math.Ceil(best * float64(len(seen))))
	for _, d := range c.Dimensions {
		if len(d.values) == 1 {
			continue
		}
		name := d.Name()
		if d.values != nil {
			p[name] = d.share(d.likely(r, sharesOf(seen[:n], name), sharesOf(seen[n:], name)))
			continue
		}
		l, g := newParzen(sharesOf(seen[:n], name)), newParzen(sharesOf(seen[n:], name))
		top := math.Inf(-1)
		for range candidates {
			x := l.draw(r)
			if score := math.Log(l.density(x)) - math.Log(g.density(x)); score > top {
				top, p[name] = score, x
			}
		}
	}
}

// loss returns the number to minimize. It is infinite for a run without a value.
func (c Config) loss(o Observation) float64 {
	switch {
	case math.IsNaN(o.Value):
		return math.Inf(1)
	case c.Metric.Maximize:
		return -o.Value
	}
	return o.Value
}

func sharesOf(all []Observation, name string) []float64 {
	var out []float64
	for _, o := range all {
		if u, ok := o.Point[name]; ok {
			out = append(out, min(max(u, 0), 1))
		}
	}
	return out
}

// likely chooses a value and returns its index. The densities are counts of the values. Each count
// starts at the weight of the value times the number of values, as in section 4.2 of the paper.
func (d Dimension) likely(r *rand.Rand, good, bad []float64) int {
	estimate := func(shares []float64) []float64 {
		n := float64(len(d.values))
		counts := make([]float64, len(d.values))
		for i, w := range d.weights {
			counts[i] = w * n / (n + float64(len(shares)))
		}
		for _, u := range shares {
			counts[d.index(u)] += 1 / (n + float64(len(shares)))
		}
		return counts
	}
	l, g := estimate(good), estimate(bad)
	chosen, top := 0, math.Inf(-1)
	for range choices {
		u, i := r.Float64(), 0
		for ; i < len(l)-1 && u >= l[i]; i++ {
			u -= l[i]
		}
		if l[i] > 0 && l[i]/g[i] > top {
			chosen, top = i, l[i]/g[i]
		}
	}
	return chosen
}

// parzen is a probability density on the interval from 0 to 1: the mean of a uniform density and of
// normal densities around the points in at, truncated at 0 and 1.
type parzen struct {
	at, width, inside []float64 // inside is the part of each normal density that lies between 0 and 1
}

// newParzen estimates a density from the points in at. The width at a point is the distance to its
// more distant neighbor, with a minimum that decreases with the number of points.
func newParzen(at []float64) parzen {
	slices.Sort(at)
	p := parzen{at: at}
	least := 1 / (1 + min(100, float64(len(at))))
	for i, x := range at {
		width := least
		if i > 0 {
			width = max(width, x-at[i-1])
		}
		if i < len(at)-1 {
			width = max(width, at[i+1]-x)
		}
		p.width = append(p.width, width)
		p.inside = append(p.inside, below((1-x)/width)-below(-x/width))
	}
	return p
}

func (p parzen) density(x float64) float64 {
	sum := 1.0
	for i, at := range p.at {
		z := (x - at) / p.width[i]
		sum += math.Exp(-z*z/2) / (p.width[i] * math.Sqrt(2*math.Pi) * p.inside[i])
	}
	return sum / float64(len(p.at)+1)
}

func (p parzen) draw(r *rand.Rand) float64 {
	i := r.IntN(len(p.at) + 1)
	if i == len(p.at) {
		return r.Float64()
	}
	u := below(-p.at[i]/p.width[i]) + r.Float64()*p.inside[i]
	return min(max(p.at[i]+p.width[i]*math.Sqrt2*math.Erfinv(2*between(u, edge, 1-edge)-1), 0), 1)
}

// below returns the standard normal cumulative distribution function at z.
func below(z float64) float64 { return (1 + math.Erf(z/math.Sqrt2)) / 2 }
