package significance

import "math"

// maxPermutations is the maximum number of divisions that an exact test tries. Groups of 10 and
// 10 have 184,756.
const maxPermutations = 200_000

// permute returns the share of the divisions of all values into two groups of the given sizes
// whose |t| is at least the |t| of the given division. The given division is one of them, so the
// share is not 0.
func permute(a, b []float64) float64 {
	all := append(append(make([]float64, 0, len(a)+len(b)), a...), b...)
	center := GroupOf(all)
	scale := center.SD
	if scale == 0 || math.IsInf(scale, 0) || math.IsNaN(scale) {
		return 1
	}
	var total, squares float64
	for i, v := range all { // centered and scaled values lose no digits in the sums below
		all[i] = (v - center.Mean) / scale
		total += all[i]
		squares += all[i] * all[i]
	}
	n, m := float64(len(a)), float64(len(b))
	// statistic returns t*t from the sums of the first group.
	statistic := func(sum, square float64) float64 {
		rest, restSquare := total-sum, squares-square
		va := max(0, square-sum*sum/n) / (n - 1) / n
		vb := max(0, restSquare-rest*rest/m) / (m - 1) / m
		d := rest/m - sum/n
		if va+vb < 1e-24 {
			if d*d < 1e-24 {
				return 0
			}
			return math.Inf(1)
		}
		return d * d / (va + vb)
	}
	var sum, square float64
	for _, v := range all[:len(a)] {
		sum += v
		square += v * v
	}
	// Equal divisions differ by rounding, so a little less counts as at least.
	least := statistic(sum, square)*(1-1e-9) - 1e-12
	count, extreme := 0, 0
	var choose func(from, left int, sum, square float64)
	choose = func(from, left int, sum, square float64) {
		if left == 0 {
			if count++; statistic(sum, square) >= least {
				extreme++
			}
			return
		}
		for i := from; i <= len(all)-left; i++ {
			choose(i+1, left-1, sum+all[i], square+all[i]*all[i])
		}
	}
	choose(0, len(a), 0, 0)
	return float64(extreme) / float64(count)
}

// binomial returns the number of choices of k out of n things, or more than maxPermutations.
func binomial(n, k int) int {
	k = min(k, n-k)
	c := 1
	for i := range k {
		if c = c * (n - i) / (i + 1); c > maxPermutations {
			return c
		}
	}
	return c
}
