// Package distribution holds the probability distributions of statistical tests: Student's t and
// Fisher's F.
package distribution

import "math"

// StudentCDF returns the cumulative distribution function of Student's t with df degrees of
// freedom, for t >= 0.
func StudentCDF(t, df float64) float64 { return 1 - StudentTails(t, df)/2 }

// StudentTails returns the probability that a variable with Student's t distribution with df
// degrees of freedom is at least as far from 0 as t. The formula is 26.7.1 of Abramowitz and
// Stegun, "Handbook of Mathematical Functions".
func StudentTails(t, df float64) float64 {
	if math.IsInf(t, 0) {
		return 0
	}
	return incompleteBeta(df/(df+t*t), df/2, 0.5)
}

// StudentQuantile returns the t for which StudentCDF is p, for 0.5 < p < 1. It bisects an
// interval.
func StudentQuantile(p, df float64) float64 {
	low, high := 0.0, 1.0
	for StudentCDF(high, df) < p && high < 1e300 {
		high *= 2
	}
	for range 200 {
		middle := low + (high-low)/2
		if StudentCDF(middle, df) < p {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// FTail returns the probability that a variable with the F distribution with df1 and df2 degrees
// of freedom is larger than f. The formula is 26.6.2 of Abramowitz and Stegun.
func FTail(f, df1, df2 float64) float64 {
	if !(f > 0) {
		return 1
	}
	return incompleteBeta(df2/(df2+df1*f), df2/2, df1/2)
}

// incompleteBeta returns the regularized incomplete beta function I_x(a, b). It evaluates the
// continued fraction 8.17.22 of the NIST Digital Library of Mathematical Functions by the method of
// Lentz, on the side where the fraction converges fast.
func incompleteBeta(x, a, b float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2):
		return 1 - incompleteBeta(1-x, b, a)
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(a*math.Log(x)+b*math.Log1p(-x)+lab-la-lb) / a
	const tiny, precision, mostTerms = 1e-300, 1e-15, 500
	f, c, d := 1.0, 1.0, 0.0
	for i := range mostTerms {
		m := float64(i / 2)
		var term float64
		switch {
		case i == 0:
			term = 1
		case i%2 == 0:
			term = m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		default:
			term = -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		}
		if d = 1 + term*d; math.Abs(d) < tiny {
			d = tiny
		}
		d = 1 / d
		if c = 1 + term/c; math.Abs(c) < tiny {
			c = tiny
		}
		f *= c * d
		if math.Abs(1-c*d) < precision {
			break
		}
	}
	return front * (f - 1)
}
