package significance

import "math"

// cdfT returns the cumulative distribution function of Student's t with df degrees of freedom,
// for t >= 0. The formula is 26.7.1 of Abramowitz and Stegun, "Handbook of Mathematical
// Functions".
func cdfT(t, df float64) float64 {
	if math.IsInf(t, 1) {
		return 1
	}
	return 1 - incompleteBeta(df/(df+t*t), df/2, 0.5)/2
}

// quantileT returns the t for which cdfT is p, for 0.5 < p < 1. It halves an interval until two
// neighbouring numbers are left.
func quantileT(p, df float64) float64 {
	low, high := 0.0, 1.0
	for cdfT(high, df) < p && high < 1e300 {
		high *= 2
	}
	for range 200 {
		middle := low + (high-low)/2
		if cdfT(middle, df) < p {
			low = middle
		} else {
			high = middle
		}
	}
	return high
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
