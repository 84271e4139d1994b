// Package plain formats values as text for pages.
package plain

import (
	"math"
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
		mantissa, power, _ := strings.Cut(rounded(f, digits), "e")
		exponent, _ := strconv.Atoi(power)
		return strings.TrimRight(strings.TrimRight(mantissa, "0"), ".") + "e" + strconv.Itoa(exponent)
	}
	return significant(f, digits)
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
