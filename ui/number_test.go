package ui_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/evanw/esbuild/pkg/api"

	"tracker/store/scalar"
	"tracker/ui/plain"
)

var writtenNumbers = []struct {
	v    float64
	want string
}{
	{0, "0"}, {math.Copysign(0, -1), "0"}, {1, "1"}, {-250, "-250"}, {123456, "123456"}, {9999999, "9999999"}, {1e7, "1e7"},
	{24084480, "2.4084e7"}, {-24084480, "-2.4084e7"}, {9999999.7, "10000000"}, {1e15, "1e15"}, {1.5e300, "1.5e300"}, {5e-324, "4.9407e-324"},
	{0.5, "0.5"}, {0.1 + 0.2, "0.3"}, {1.0 / 3, "0.33333"}, {123.456789, "123.46"}, {123456.7, "123460"}, {0.0001, "0.0001"},
	{0.00009999, "9.999e-5"}, {1.2345e-7, "1.2345e-7"}, {1e-9, "1e-9"}, {1e100, "1e100"},
	// Numbers halfway between two rounded numbers.
	{12344.5, "12345"}, {-12344.5, "-12345"}, {1.0 / 256, "0.0039063"}, {0.03125, "0.03125"}, {24084500, "2.4085e7"}, {1.00005, "1.0001"},
	{math.NaN(), "NaN"}, {math.Inf(1), "Infinity"}, {math.Inf(-1), "-Infinity"},
}

var writtenTimes = []struct {
	seconds float64
	want    string
}{
	{0, "0s"}, {0.001, "0.001s"}, {0.125, "0.13s"}, {0.2, "0.2s"}, {0.7, "0.7s"}, {0.9996, "1s"}, {1, "1s"}, {1.5, "1.5s"}, {9.94, "9.9s"}, {9.96, "10s"},
	{10, "10s"}, {10.5, "11s"}, {59.4, "59s"}, {59.5, "1m"}, {60, "1m"}, {61, "1m 1s"}, {3599, "59m 59s"}, {3600, "1h"}, {3661, "1h 1m"},
	{86399.9, "1d"}, {86400, "1d"}, {90061, "1d 1h"}, {8640000, "100d"}, {-0.25, "-0.25s"}, {-90, "-1m 30s"},
}

var writtenTicks = []struct {
	values []float64
	want   string
}{
	{nil, ""}, {[]float64{0.5}, "0.5"}, {[]float64{0, 0.25, 0.5}, "0 0.25 0.5"}, {[]float64{0.1, 1, 10}, "0.1 1 10"},
	{[]float64{0.693335, 0.69334, 0.693345}, "0.693335 0.69334 0.693345"},
	{[]float64{-1.0000002, -1, -0.9999998}, "-1.0000002 -1 -0.9999998"},
	{[]float64{12345600, 12345700, 12345800}, "1.23456e7 1.23457e7 1.23458e7"},
	{[]float64{2.5, 2.500000001, 2.500000002}, "2.5 +1e-9 +2e-9"},
}

var writtenColumns = []struct {
	values []float64
	want   string
}{
	{nil, ""}, {[]float64{3, 12}, "3 12"}, {[]float64{0.5, 0.25}, "0.50 0.25"}, {[]float64{0.47464, 0.4746, 0}, "0.47464 0.47460 0.00000"},
	{[]float64{24538.2, 977.25}, "24538.20 977.25"}, {[]float64{123456.7, 99.5}, "123456.7 99.5"}, {[]float64{0.00001, 0.00002}, "1e-5 2e-5"},
	{[]float64{0.51, 0.523, 100000}, "0.510 0.523 1e5"}, {[]float64{812.4, 0.0125, 900}, "812.4 1.25e-2 900.0"},
	{[]float64{81234.4, 0.0125, 90000}, "81234 0.0125 90000"}, {[]float64{-0.5, math.NaN(), 12.25}, "-0.50 NaN 12.25"},
	{[]float64{0.125, 0.0078125, 3.5}, "0.12500 0.00781 3.50000"},
}

// TestNumbers compares the server's number format with a table, and the scripts' format with the
// server's, also for random numbers.
func TestNumbers(t *testing.T) {
	s := start(t, setup{})
	b := s.openBrowser(t)
	b.do(chromedp.Navigate(s.url + "/"))
	for _, name := range []string{"format", "decimals"} {
		built := api.Build(api.BuildOptions{EntryPoints: []string{"static/" + name + ".js"}, Format: api.FormatIIFE, GlobalName: name, Bundle: true})
		if len(built.Errors) > 0 {
			t.Fatal(built.Errors)
		}
		b.do(chromedp.Evaluate[chromedp.Void](string(built.OutputFiles[0].Contents)))
	}
	b.is(`typeof window.format`, "object")

	same := func(function string, values, want []string) {
		t.Helper()
		got := strings.Split(b.text(`[`+strings.Join(values, ", ")+`].map(window.format.`+function+`).join('\n')`), "\n")
		for i, v := range values {
			if got[i] != want[i] {
				t.Errorf("%s(%s) is %q in scripts, and %q on pages", function, v, got[i], want[i])
			}
		}
	}
	var values, numbers, times, spans []string
	add := func(v float64) {
		values, numbers = append(values, jsNumber(v)), append(numbers, plain.Number(scalar.Value(v)))
	}
	for _, w := range writtenNumbers {
		if add(w.v); numbers[len(numbers)-1] != w.want {
			t.Errorf("%v is written %q, want %q", w.v, numbers[len(numbers)-1], w.want)
		}
	}
	rng := rand.New(rand.NewPCG(3, 5))
	for range 5000 {
		add(math.Float64frombits(rng.Uint64()))
		add(rng.NormFloat64() * math.Pow(10, float64(rng.IntN(20)-8)))
		add(float64(rng.IntN(1<<24)) / float64(int(1)<<rng.IntN(24))) // often ties
	}
	same("number", values, numbers)
	for _, w := range writtenTimes {
		got := plain.Duration(scalar.Value(w.seconds))
		if got != w.want {
			t.Errorf("%v seconds are written %q, want %q", w.seconds, got, w.want)
		}
		times, spans = append(times, jsNumber(w.seconds)), append(spans, got)
	}
	for range 2000 {
		ms := float64(rng.IntN(1<<rng.IntN(40)+1)) / 1000
		times, spans = append(times, jsNumber(ms)), append(spans, plain.Duration(scalar.Value(ms)))
	}
	same("duration", times, spans)
	for _, w := range writtenTicks {
		var exact []scalar.Value
		var values []string
		for _, v := range w.values {
			exact, values = append(exact, scalar.Value(v)), append(values, jsNumber(v))
		}
		if got := strings.Join(plain.Ticks(exact), " "); got != w.want {
			t.Errorf("the ticks %v are written %q, want %q", w.values, got, w.want)
		}
		b.is(`window.format.tickLabels([`+strings.Join(values, ", ")+`]).join(' ')`, w.want)
	}
	for _, w := range writtenColumns {
		b.is(inColumn(w.values), columnOf(w.values))
		if got := columnOf(w.values); got != w.want {
			t.Errorf("the column %v is written %q, want %q", w.values, got, w.want)
		}
	}
	for range 100 {
		values := make([]float64, 5)
		for i := range values {
			values[i] = float64(rng.IntN(1<<16)) / float64(int(1)<<rng.IntN(20)) // often ties
		}
		b.is(inColumn(values), columnOf(values))
	}
	b.quiet()
}

// columnOf writes the values of a column as pages do.
func columnOf(values []float64) string {
	var all []scalar.Value
	for _, v := range values {
		all = append(all, scalar.Value(v))
	}
	var texts []string
	for _, v := range all {
		texts = append(texts, plain.Fixed(v, plain.Decimals(all)))
	}
	return strings.Join(texts, " ")
}

// inColumn returns an expression that writes the values of a column as scripts do.
func inColumn(values []float64) string {
	var texts []string
	for _, v := range values {
		texts = append(texts, jsNumber(v))
	}
	list := "[" + strings.Join(texts, ", ") + "]"
	return list + `.map((v) => window.decimals.fixedDecimals(v, window.decimals.commonDecimals(` + list + `))).join(' ')`
}

// jsNumber writes a number as JavaScript reads it.
func jsNumber(v float64) string {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return fmt.Sprint(scalar.Value(v))
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
