// Package significance compares the results of two groups of runs that were repeated with other
// random seeds. Compare returns the difference of the means, a confidence interval, and the
// probability of a difference at least this large if both groups had the same distribution.
//
// The interval comes from Welch's t-test. Colas, Sigaud and Oudeyer ("A Hitchhiker's Guide to
// Statistical Comparisons of Reinforcement Learning Algorithms", 2019) recommend this test for a
// few seeds: its rate of false positives is near the chosen level even if the groups differ in
// spread, unlike Student's t-test, the rank test and the bootstrap.
//
// The package uses only numbers. It does not read runs or the database.
package significance

import (
	"math"
	"slices"

	"tracker/store/distribution"
)

// Level is the probability below which a difference counts as more than chance. An interval
// contains the true difference with probability 1 - Level.
const Level = 0.05

// rounding is the largest difference, relative to the means, that counts as a rounding error.
const rounding = 1e-12

// Method is the test from which Comparison.P was computed.
type Method string

// Values of Method.
const (
	None        Method = ""            // too few values for a test
	Permutation Method = "permutation" // exact permutation test
	Welch       Method = "welch"       // Welch's t-test, which assumes normal distributions
)

// Group holds the number, the mean and the standard deviation of the values of a group.
type Group struct {
	N    int
	Mean float64 // NaN if there are no values
	SD   float64 // sample standard deviation; NaN for fewer than two values
}

// GroupOf returns the statistics of values.
func GroupOf(values []float64) Group {
	g := Group{N: len(values), Mean: math.NaN(), SD: math.NaN()}
	if g.N == 0 {
		return g
	}
	largest := 0.0
	for _, v := range values {
		largest = max(largest, math.Abs(v))
	}
	// The values are divided by a power of two before they are summed, so that the sums stay
	// finite and exact.
	_, exponent := math.Frexp(largest)
	scale, mean := math.Ldexp(1, exponent-1), 0.0
	for _, v := range values {
		mean += v / scale
	}
	mean /= float64(g.N)
	if g.Mean = mean * scale; g.N == 1 {
		g.Mean = values[0]
		return g
	}
	sum := 0.0
	for _, v := range values {
		sum += (v/scale - mean) * (v/scale - mean)
	}
	g.SD = scale * math.Sqrt(sum/float64(g.N-1))
	if slices.Min(values) == slices.Max(values) {
		g.Mean, g.SD = values[0], 0
	}
	return g
}

// Comparison is the result of Compare.
type Comparison struct {
	A, B       Group
	Difference float64 // mean of B minus mean of A
	Low, High  float64 // confidence interval of the difference by Welch's test; NaN without a test
	P          float64 // probability under the null hypothesis, two-sided; NaN without a test
	Method     Method
}

// Significant reports whether the difference is more than chance explains, at Level.
func (c Comparison) Significant() bool { return c.Method != None && c.P < Level }

// Constant reports whether all values of each group are equal, so that there is no spread to
// compare the difference with.
func (c Comparison) Constant() bool { return c.A.SD == 0 && c.B.SD == 0 }

// Compare compares the finite values of two groups. It ignores other values. If a group has fewer
// than two values, the result has no test.
//
// The test is an exact permutation test of Welch's t if such a test can find a difference at
// Level, and if there are at most maxPermutations divisions of the values into two groups. This
// test makes no assumption about the distribution. Using t instead of the difference keeps the
// test valid for large groups of unequal spread (Janssen, "Studentized permutation tests for
// non-i.i.d. hypotheses and the generalized Behrens-Fisher problem", 1997). For other sizes, the
// test is Welch's t-test ("The generalization of Student's problem when several different
// population variances are involved", 1947).
func Compare(a, b []float64) Comparison {
	a, b = finite(a), finite(b)
	c := Comparison{A: GroupOf(a), B: GroupOf(b), Low: math.NaN(), High: math.NaN(), P: math.NaN()}
	c.Difference = c.B.Mean - c.A.Mean
	if math.Abs(c.Difference) < rounding*max(math.Abs(c.A.Mean), math.Abs(c.B.Mean)) {
		c.Difference = 0
	}
	if c.A.N < 2 || c.B.N < 2 || math.IsInf(c.Difference, 0) {
		return c
	}
	t, df, se := welch(c.A, c.B)
	c.Low, c.High = c.Difference, c.Difference
	if se > 0 {
		margin := distribution.StudentQuantile(1-Level/2, df) * se
		c.Low, c.High = c.Difference-margin, c.Difference+margin
	}
	if n := binomial(len(a)+len(b), len(a)); n <= maxPermutations && 2/float64(n) <= Level {
		c.Method, c.P = Permutation, permute(a, b)
		return c
	}
	c.Method = Welch
	switch {
	case se > 0:
		c.P = distribution.StudentTails(t, df)
	case c.Difference == 0:
		c.P = 1
	default:
		c.P = 0
	}
	return c
}

// Pooled returns the common standard deviation of the groups with at least two values, and its
// degrees of freedom. If no group has two values, it returns 0 degrees of freedom.
func Pooled(groups [][]float64) (sd float64, df int) {
	sum := 0.0
	for _, values := range groups {
		if g := GroupOf(finite(values)); g.N > 1 && !math.IsInf(g.SD, 0) {
			sum += g.SD * g.SD * float64(g.N-1)
			df += g.N - 1
		}
	}
	if df == 0 {
		return math.NaN(), 0
	}
	return math.Sqrt(sum / float64(df)), df
}

func finite(values []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// welch returns Welch's t, the Welch-Satterthwaite degrees of freedom and the standard error of
// the difference. Without spread, t is 0 or infinite.
func welch(a, b Group) (t, df, se float64) {
	scale := max(a.SD, b.SD)
	if scale == 0 {
		if a.Mean == b.Mean {
			return 0, 1, 0
		}
		return math.Copysign(math.Inf(1), b.Mean-a.Mean), 1, 0
	}
	va, vb := a.SD/scale*(a.SD/scale)/float64(a.N), b.SD/scale*(b.SD/scale)/float64(b.N)
	se = scale * math.Sqrt(va+vb)
	df = (va + vb) * (va + vb) / (va*va/float64(a.N-1) + vb*vb/float64(b.N-1))
	return (b.Mean - a.Mean) / se, df, se
}
