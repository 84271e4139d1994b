// Package plain formats values as text for pages.
package plain

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"tracker/store/scalar"
)

// The functions in this file format numbers exactly like static/format.js in the browser.

// Number formats a value with five significant digits. Integers below ten million keep all
// digits.
func Number(v scalar.Value) string { return withDigits(v, 5) }

func withDigits(v scalar.Value, digits int) string {
	f := float64(v)
	size := math.Abs(f)
	switch {
	case !v.Finite():
		return v.String()
	case size < 1e7 && f == math.Trunc(f):
		return strconv.Itoa(int(f))
	case size < 1e-4 || size >= 1e7:
		return scientific(f, digits)
	}
	return significant(f, digits)
}

// scientific formats a value with an exponent and up to the given number of significant digits.
func scientific(f float64, digits int) string {
	mantissa, power, _ := strings.Cut(rounded(f, digits), "e")
	exponent, _ := strconv.Atoi(power)
	return strings.TrimRight(strings.TrimRight(mantissa, "0"), ".") + "e" + strconv.Itoa(exponent)
}

// maxRatio is the maximum factor between the median of a column and a value whose decimals are
// needed.
const maxRatio = 100

// Decimals returns the number of decimals for all values of a column, so that the decimal points
// are aligned. The median gets up to five significant digits. The result is 0 if the values have no
// decimals, or if the median is very small or large.
func Decimals(values []scalar.Value) int {
	var sizes []float64
	for _, v := range values {
		if !v.Finite() || v == 0 {
			continue
		}
		sizes = append(sizes, math.Abs(float64(v)))
	}
	if len(sizes) == 0 {
		return 0
	}
	slices.Sort(sizes)
	median := sizes[(len(sizes)-1)/2]
	if median < 1e-4 || median >= 1e5 {
		return 0
	}
	needed := 0
	for _, size := range sizes {
		text := Number(scalar.Value(size))
		if size <= median*maxRatio && size >= median/maxRatio && !strings.Contains(text, "e") {
			_, decimals, _ := strings.Cut(text, ".")
			needed = max(needed, len(decimals))
		}
	}
	_, power, _ := strings.Cut(strconv.FormatFloat(median, 'e', -1, 64), "e")
	exponent, _ := strconv.Atoi(power)
	return max(0, min(4-exponent, needed))
}

const (
	maxFixed  = 8     // maximum number of digits of a value with a fixed number of decimals
	tolerance = 0.005 // relative error up to which a value gets the decimals of its column
)

// Fixed formats a value with the given number of decimals, or with as many as it needs if places is
// 0. A value that is too small or too large for these decimals gets an exponent.
func Fixed(v scalar.Value, places int) string {
	if places == 0 || !v.Finite() {
		return Number(v)
	}
	f := float64(v)
	size := math.Abs(f)
	// Browsers round ties away from zero.
	_, decimals, _ := strings.Cut(strconv.FormatFloat(f, 'f', places+40, 64), ".")
	near := f
	if strings.TrimRight(decimals[places:], "0") == "5" {
		near = math.Nextafter(f, 2*f)
	}
	fixed := strconv.FormatFloat(near, 'f', places, 64)
	shown, _ := strconv.ParseFloat(fixed, 64)
	if size < math.Pow10(maxFixed-places) && math.Abs(shown-f) <= tolerance*size {
		return fixed
	}
	return scientific(f, 5)
}

// maxTickDigits is the maximum number of significant digits of an axis label.
const maxTickDigits = 8

// Ticks formats the values of an axis, in ascending order, so that no label repeats. The labels
// have as many digits as necessary. If eight digits are not enough, the first value has up to 15
// digits, and the other labels are distances from it, such as +2e-9.
func Ticks(values []scalar.Value) []string {
	labels := make([]string, len(values))
	for digits := 5; digits <= maxTickDigits; digits++ {
		for i, v := range values {
			labels[i] = withDigits(v, digits)
		}
		if distinct(labels) {
			return labels
		}
	}
	for i, v := range values {
		labels[i] = withDigits(v, 15)
		if i > 0 {
			labels[i] = "+" + withDigits(v-values[0], 3)
		}
	}
	return labels
}

// distinct reports whether no label is equal to the label before it.
func distinct(labels []string) bool {
	for i := 1; i < len(labels); i++ {
		if labels[i] == labels[i-1] {
			return false
		}
	}
	return true
}

// significant formats a value with the given number of significant digits.
func significant(f float64, digits int) string {
	f, _ = strconv.ParseFloat(rounded(f, digits), 64)
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// rounded formats a value in scientific notation with the given number of digits. It rounds ties
// away from zero, as browsers do; strconv rounds ties to even. 25 digits are enough to recognize a
// tie.
func rounded(f float64, digits int) string {
	exact, _, _ := strings.Cut(strconv.FormatFloat(f, 'e', 24, 64), "e")
	_, fraction, _ := strings.Cut(exact, ".")
	if strings.TrimRight(fraction[digits-1:], "0") == "5" {
		f = math.Nextafter(f, 2*f)
	}
	return strconv.FormatFloat(f, 'e', digits-1, 64)
}

// Duration formats seconds in the two largest units. A duration below ten seconds is formatted
// with two significant digits.
func Duration(seconds scalar.Value) string {
	size := math.Abs(float64(seconds))
	if size < 10 {
		return significant(float64(seconds), 2) + "s"
	}
	s := int64(math.Round(size))
	units := []struct {
		name string
		of   int64
	}{{"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}}
	for s < units[0].of {
		units = units[1:]
	}
	text := strconv.FormatInt(s/units[0].of, 10) + units[0].name
	if seconds < 0 {
		text = "-" + text
	}
	if len(units) > 1 && s%units[0].of >= units[1].of {
		text += " " + strconv.FormatInt(s%units[0].of/units[1].of, 10) + units[1].name
	}
	return text
}
