package diagnosis

import (
	"cmp"
	"math"
	"slices"

	"tracker/store/distribution"
)

// fisher returns the one-sided p-value of Fisher's exact test (Fisher, Statistical Methods for
// Research Workers, 1934). k of n runs have a property, and K of all N runs have it. The p-value
// is the probability that k or more of n runs drawn at random have the property.
func fisher(k, n, K, N int) float64 {
	sum := 0.0
	for i := k; i <= min(n, K); i++ {
		if n-i <= N-K {
			sum += math.Exp(logChoose(K, i) + logChoose(N-K, n-i) - logChoose(N, n))
		}
	}
	return min(1, sum)
}

func logChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

// maxExact is the maximum number of values for which rankSum computes the exact distribution.
const maxExact = 24

// rankSum returns the two-sided p-value of the rank-sum test of Wilcoxon (1945) and of Mann and
// Whitney (1947): the probability of ranks as extreme as the ranks of a, if a and b come from
// the same distribution. With up to maxExact values, rankSum computes the distribution over all
// assignments of the observed ranks, which is exact with ties (Streitberg and Röhmel, Exact
// distributions for permutation and rank tests, 1986). Otherwise it uses the normal
// approximation with corrections for ties and continuity.
func rankSum(a, b []float64) float64 {
	all := append(slices.Clone(a), b...)
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(all[i], all[j]) })
	double := make([]int, len(all)) // twice the rank of each value; equal values share the mean rank
	var ties float64
	for i := 0; i < len(order); {
		end := i + 1
		for end < len(order) && all[order[end]] == all[order[i]] {
			end++
		}
		for _, at := range order[i:end] {
			double[at] = i + 1 + end
		}
		t := float64(end - i)
		ties += t*t*t - t
		i = end
	}
	sum := 0
	for i := range a {
		sum += double[i]
	}
	n, m := float64(len(a)), float64(len(b))
	total := n + m
	mean := n * (total + 1) // of twice the rank sum
	if len(all) <= maxExact {
		return exactRankSum(double, len(a), sum, mean)
	}
	return normalRankSum(n, m, ties, math.Abs(float64(sum)-mean))
}

// normalRankSum returns the approximate p-value of a rank-sum test of n and m values. off is the
// distance of twice the rank sum from its mean, and ties is the sum of t³ - t over all groups of
// t equal values.
func normalRankSum(n, m, ties, off float64) float64 {
	total := n + m
	variance := n * m / 12 * (total + 1 - ties/(total*(total-1))) * 4
	if variance <= 0 {
		return 1
	}
	z := (off - 1) / math.Sqrt(variance)
	return math.Erfc(max(0, z) / math.Sqrt2)
}

// exactRankSum returns the fraction of the subsets of n ranks whose sum is at least as far from
// the mean as sum.
func exactRankSum(ranks []int, n, sum int, mean float64) float64 {
	most := 0
	for _, r := range ranks {
		most += r
	}
	counts := make([][]float64, n+1) // counts[k][s] is the number of subsets of k ranks with the sum s
	for k := range counts {
		counts[k] = make([]float64, most+1)
	}
	counts[0][0] = 1
	for i, r := range ranks {
		for k := min(i+1, n); k > 0; k-- {
			for s := most; s >= r; s-- {
				counts[k][s] += counts[k-1][s-r]
			}
		}
	}
	var extreme, all float64
	for s, count := range counts[n] {
		all += count
		if math.Abs(float64(s)-mean) >= math.Abs(float64(sum)-mean) {
			extreme += count
		}
	}
	return extreme / all
}

// outlying returns the two-sided p-value of a single value x compared with the values of a
// sample. It uses the prediction interval for one further value from a normal distribution: the
// deviation from the mean, divided by the sample's standard deviation times the square root of 1
// + 1/n, has Student's distribution with n - 1 degrees of freedom (Hahn, Factors for calculating
// two-sided prediction intervals for samples from a normal distribution, 1969).
func outlying(x float64, sample []float64) float64 {
	n := float64(len(sample))
	if n < 2 {
		return 1
	}
	var mean, squares float64
	for _, v := range sample {
		mean += v / n
	}
	for _, v := range sample {
		squares += (v - mean) * (v - mean)
	}
	if squares <= 1e-18*n*mean*mean {
		return 1 // the values are equal except for rounding
	}
	t := (x - mean) / math.Sqrt(squares/(n-1)*(1+1/n))
	return distribution.StudentTails(t, n-1)
}

// holm adjusts p-values of several tests so that the probability of one or more wrong rejections
// is at most the level (Holm, A simple sequentially rejective multiple test procedure, 1979).
func holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	adjusted, least := make([]float64, len(p)), 0.0
	for rank, i := range order {
		least = max(least, min(1, p[i]*float64(len(p)-rank)))
		adjusted[i] = least
	}
	return adjusted
}

// median returns the median of values. It sorts values.
func median(values []float64) float64 {
	slices.Sort(values)
	return quantile(values, 0.5)
}

// quantile returns the p-quantile of sorted values. It interpolates between two values.
func quantile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := p * float64(len(sorted)-1)
	low := min(int(at), len(sorted)-1)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

// spread returns the median of values and their robust standard deviation: the median absolute
// deviation, scaled to the standard deviation of a normal distribution (Rousseeuw and Croux,
// Alternatives to the median absolute deviation, 1993). It sorts values.
func spread(values []float64) (middle, sd float64) {
	middle = median(values)
	off := make([]float64, len(values))
	for i, v := range values {
		off[i] = math.Abs(v - middle)
	}
	return middle, 1.4826 * median(off)
}
