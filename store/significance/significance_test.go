package significance

import (
	"math"
	"math/rand/v2"
	"testing"

	"tracker/store/distribution"
)

func near(t *testing.T, name string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %v, want %v", name, got, want)
	}
}

// TestWelch compares results with values that were computed by hand.
func TestWelch(t *testing.T) {
	// The variances are 1 and 4: se² = 1/3 + 4/3 = 5/3, df = (5/3)² / ((1/3)²/2 + (4/3)²/2) = 50/17.
	c := Compare([]float64{1, 2, 3}, []float64{4, 6, 8})
	if c.Method != Welch {
		t.Errorf("three and three are compared by %q", c.Method)
	}
	near(t, "the difference", c.Difference, 4, 1e-12)
	tt, df, se := welch(c.A, c.B)
	near(t, "t", tt, 4/math.Sqrt(5./3), 1e-12)
	near(t, "df", df, 50./17, 1e-12)
	near(t, "the margin", c.High-c.Difference, distribution.StudentQuantile(0.975, df)*se, 1e-9)
	near(t, "the margin below", c.Difference-c.Low, c.High-c.Difference, 1e-9)
	near(t, "p", c.P, distribution.StudentTails(4/math.Sqrt(5./3), 50./17), 1e-12)
	if (c.P < Level) != (c.Low > 0) {
		t.Errorf("p is %v, but the interval begins at %v", c.P, c.Low)
	}
}

// TestPermutation compares results with numbers of divisions that were counted by hand.
func TestPermutation(t *testing.T) {
	for _, c := range []struct {
		a, b []float64
		want float64
	}{
		{[]float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, 2. / 70}, // only this division and its mirror image
		{[]float64{1, 2, 3, 5}, []float64{4, 6, 7, 8}, 4. / 70}, // sums of 10 and 11, and their mirror images
		{[]float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10}, 2. / 252},
		{[]float64{1, 2, 3, 4, 6}, []float64{5, 7, 8, 9, 10}, 4. / 252},
		// Sums of 15, 16, 17 (two ways) and their mirror images.
		{[]float64{1, 2, 3, 4, 7}, []float64{5, 6, 8, 9, 10}, 8. / 252},
		{[]float64{1, 1, 1, 1}, []float64{2, 2, 2, 2}, 2. / 70},
		{[]float64{3, 3, 3, 3}, []float64{3, 3, 3, 3}, 1},
		{[]float64{1, 4, 6, 7}, []float64{2, 3, 5, 8}, 1}, // both sums are 18
	} {
		for _, shift := range []float64{0, 1e6} {
			a, b := make([]float64, len(c.a)), make([]float64, len(c.b))
			for i := range a {
				a[i], b[i] = c.a[i]+shift, c.b[i]+shift
			}
			got := Compare(a, b)
			near(t, "p", got.P, c.want, 1e-12)
			near(t, "p of the mirror image", Compare(b, a).P, c.want, 1e-12)
			if got.Method != Permutation || got.Significant() != (c.want < Level) {
				t.Errorf("%v and %v: %+v", a, b, got)
			}
		}
	}
	if n := binomial(20, 10); n != 184_756 {
		t.Errorf("20 over 10 is %d", n)
	}
	if n := binomial(1_000, 500); n <= maxPermutations {
		t.Errorf("1000 over 500 is %d", n)
	}
}

// TestFew compares groups that are too small or have no spread.
func TestFew(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]Comparison{
		"one each": Compare([]float64{1}, []float64{2}), "one and many": Compare([]float64{1}, []float64{2, 3, 4}),
		"none": Compare(nil, nil), "not finite": Compare([]float64{1, nan, inf}, []float64{1, 2}),
	} {
		if c.Method != None || c.Significant() || !math.IsNaN(c.P) || !math.IsNaN(c.Low) {
			t.Errorf("%s: %+v", name, c)
		}
	}
	near(t, "a difference of single values", Compare([]float64{1}, []float64{3}).Difference, 2, 0)
	near(t, "one value without nan", Compare([]float64{1, nan}, []float64{3}).A.Mean, 1, 0)
	if c := Compare([]float64{2, 2}, []float64{3, 3}); !c.Constant() || c.P != 0 || c.Low != 1 || c.High != 1 {
		t.Errorf("without spread: %+v", c)
	}
	if c := Compare([]float64{2, 2}, []float64{2, 2}); c.P != 1 || c.Significant() {
		t.Errorf("equal values: %+v", c)
	}
	if c := Compare([]float64{0.1, 0.2, 0.3}, []float64{0.3, 0.2, 0.1}); c.Difference != 0 || c.P != 1 {
		t.Errorf("equal values in another order: %+v", c)
	}
	if c := Compare([]float64{1e308, -1e308, 1e308}, []float64{1e308, 1e307, -1e308}); math.IsNaN(c.P) || math.IsNaN(c.A.SD) {
		t.Errorf("large values: %+v", c)
	}
	large, larger := make([]float64, 500), make([]float64, 400)
	for i := range large {
		large[i] = float64(i % 7)
	}
	for i := range larger {
		larger[i] = float64(i%7) + 5
	}
	if c := Compare(large, larger); c.Method != Welch || !c.Significant() {
		t.Errorf("many values: %+v", c)
	}
}

// TestErrorRates compares random groups from the same distribution, and random groups with a
// known shift.
func TestErrorRates(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	normal := func(n int, mean, sd float64) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = mean + sd*r.NormFloat64()
		}
		return values
	}
	skewed := func(n int, mean, _ float64) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = mean + r.ExpFloat64()
		}
		return values
	}
	for _, c := range []struct {
		name      string
		of        func(n int, mean, sd float64) []float64
		n, m      int
		sd, shift float64
		low, high float64 // bounds of the rate of significant differences
	}{
		{"3 and 3", normal, 3, 3, 1, 0, 0.02, 0.06},
		{"5 and 5", normal, 5, 5, 1, 0, 0.035, 0.06},
		{"8 and 4", normal, 8, 4, 1, 0, 0.035, 0.06},
		{"15 and 15", normal, 15, 15, 1, 0, 0.04, 0.06},
		{"30 and 12 of unequal spread", normal, 30, 12, 3, 0, 0.035, 0.065},
		{"5 and 5, skewed", skewed, 5, 5, 1, 0, 0.035, 0.06},
		{"5 and 5 of unequal spread", normal, 5, 5, 3, 0, 0.035, 0.09},
		// The power of Student's test for a shift of two standard deviations is 0.79 for 5 and 5.
		{"5 and 5, shifted", normal, 5, 5, 1, 2, 0.7, 0.85},
		{"10 and 10, shifted", normal, 10, 10, 1, 2, 0.9, 1},
		{"3 and 3, shifted far", normal, 3, 3, 1, 6, 0.9, 1},
	} {
		rounds := 3000.0
		if c.n == 10 {
			rounds = 60 // an exact test of 10 and 10 takes a while
		}
		found, inside := 0.0, 0.0
		for range int(rounds) {
			got := Compare(c.of(c.n, 0, 1), c.of(c.m, c.shift, c.sd))
			if got.Significant() {
				found++
			}
			if got.Low <= c.shift && c.shift <= got.High {
				inside++
			}
		}
		if rate := found / rounds; rate < c.low || rate > c.high {
			t.Errorf("%s: %.3f are significant, want %v to %v", c.name, rate, c.low, c.high)
		}
		if rate := inside / rounds; rate < 0.92 {
			t.Errorf("%s: the interval contains the difference in %.3f", c.name, rate)
		}
	}
}

// TestPooled compares the pooled spread with a value that was computed by hand.
func TestPooled(t *testing.T) {
	// Sums of squares 2 and 8 with 2 + 2 degrees of freedom; a single value adds nothing.
	sd, df := Pooled([][]float64{{1, 2, 3}, {4, 6, 8}, {100}, nil})
	near(t, "the pooled spread", sd, math.Sqrt(10./4), 1e-12)
	if df != 4 {
		t.Errorf("%d degrees of freedom", df)
	}
	if sd, df := Pooled([][]float64{{1}, {2}}); df != 0 || !math.IsNaN(sd) {
		t.Errorf("single values: %v, %d", sd, df)
	}
}
