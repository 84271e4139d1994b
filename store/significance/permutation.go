package significance

import "math"

// maxPermutations is the maximum number of divisions that an exact test tries. Groups of 10 and
// 10 have 184,756.
const maxPermutations = 200_000

// permute considers all divisions of the values into two groups with the sizes of a and b. It
// returns the share of divisions whose |t| is at least the |t| of a and b. The share is not 0,
// because a and b themselves are one of the divisions.
func permute(a, b []float64) float64 {
	all := append(append(make([]float64, 0, len(a)+len(b)), a...), b...)
	center := GroupOf(all)
	scale := center.SD
	if scale == 0 || math.IsInf(scale, 0) || math.IsNaN(scale) {
		return 1
	}
	var total, squares float64
	for i, v := range all { // the sums below lose no digits if values are centered and scaled
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
	// Because of rounding, a slightly smaller value counts as equal.
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

// binomial returns n choose k. If the result is more than maxPermutations, binomial may return any
// other number above maxPermutations instead.
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
