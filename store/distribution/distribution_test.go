package distribution

import (
	"math"
	"testing"
)

func near(t *testing.T, name string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %v, want %v", name, got, want)
	}
}

// TestStudent compares quantiles with a table of Student's t, and probabilities with closed forms.
func TestStudent(t *testing.T) {
	for df, want := range map[float64]float64{1: 12.7062, 2: 4.3027, 5: 2.5706, 8: 2.3060, 10: 2.2281, 30: 2.0423, 120: 1.9799, 1e6: 1.95997} {
		near(t, "the quantile 0.975", StudentQuantile(0.975, df), want, 5e-5)
	}
	for x := 0.01; x < 50; x *= 1.7 {
		near(t, "one degree of freedom", StudentCDF(x, 1), 0.5+math.Atan(x)/math.Pi, 1e-12)
		near(t, "two degrees of freedom", StudentCDF(x, 2), 0.5+x/(2*math.Sqrt(2+x*x)), 1e-12)
	}
	near(t, "I_0.3(2, 3)", incompleteBeta(0.3, 2, 3), 0.3483, 1e-12) // 6x² - 8x³ + 3x⁴
	near(t, "I_0.9(2, 3)", incompleteBeta(0.9, 2, 3), 0.9963, 1e-12)
}

// TestStudentTails compares probabilities with a table.
func TestStudentTails(t *testing.T) {
	// Quantiles of the table in Abramowitz and Stegun, 26.10.
	for _, c := range []struct{ t, v, want float64 }{
		{12.706, 1, 0.05}, {2.571, 5, 0.05}, {4.032, 5, 0.01}, {2.228, 10, 0.05}, {2.000, 60, 0.05}, {3.373, 120, 0.001}, {0, 7, 1}, {1, 1, 0.5},
	} {
		if got := StudentTails(c.t, c.v); math.Abs(got-c.want) > 0.002*c.want+2e-5 {
			t.Errorf("t %g with %g degrees: got %g, want %g", c.t, c.v, got, c.want)
		}
	}
}

// TestFTail compares the tail of the F distribution with tables.
func TestFTail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ f, more, free, want float64 }{
		{4.9646, 1, 10, 0.05}, {3.4928, 2, 20, 0.05}, {5.8489, 2, 20, 0.01}, {2.6060, 4, 40, 0.05}, {3.8283, 4, 40, 0.01}, {0, 3, 9, 1},
	} {
		if got := FTail(c.f, c.more, c.free); math.Abs(got-c.want) > 2e-4 {
			t.Errorf("F(%g; %g, %g) = %.5f, want %g", c.f, c.more, c.free, got, c.want)
		}
	}
}
