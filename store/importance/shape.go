package importance

import (
	"math"
	"slices"
	"strconv"
)

const (
	agreement = 0.75 // fraction of the forests that must agree on a shape
	clearly   = 0.2  // minimum distance of both ends from an optimum between them, as a fraction of the range
	monotone  = 0.8  // minimum rank correlation of a rising or falling curve
)

// shape returns the form of a dependence. A curve holds the mean prediction of a forest for
// each code.
func shape(c coding, curves [][]float64) (s Shape, at, top string) {
	if c.bins >= 3 || c.bins == 2 && c.bins == len(c.labels) {
		return numberShape(c, curves)
	}
	if c.bins > 0 {
		return Unknown, "", ""
	}
	votes := func(better func(a, b float64) bool) string {
		counts := map[int]int{}
		for _, curve := range curves {
			best := -1
			for code, v := range curve {
				if c.alone[code] && (best < 0 || better(v, curve[best])) {
					best = code
				}
			}
			if counts[best]++; best >= 0 && float64(counts[best]) >= agreement*float64(len(curves)) {
				return c.labels[best]
			}
		}
		return ""
	}
	at = votes(func(a, b float64) bool { return a < b })
	top = votes(func(a, b float64) bool { return a > b })
	if at == "" && top == "" {
		return Unknown, "", ""
	}
	return Between, at, top
}

func numberShape(c coding, curves [][]float64) (s Shape, at, top string) {
	counts := map[Shape]int{}
	mean := make([]float64, c.bins)
	for _, curve := range curves {
		numbers := curve[:c.bins]
		counts[formOf(numbers)]++
		for code, v := range numbers {
			mean[code] += v
		}
	}
	for _, s := range []Shape{Rising, Falling, Lowest, Highest} {
		if float64(counts[s]) >= agreement*float64(len(curves)) {
			switch s {
			case Lowest:
				at = optimum(c, mean)
			case Highest:
				for i := range mean {
					mean[i] = -mean[i]
				}
				at = optimum(c, mean)
			}
			return s, at, ""
		}
	}
	return Unknown, "", ""
}

// formOf returns the form of one curve.
func formOf(curve []float64) Shape {
	low, high := slices.Min(curve), slices.Max(curve)
	first, last := curve[0], curve[len(curve)-1]
	far := clearly * (high - low)
	switch {
	case high == low:
		return Unknown
	case min(first, last)-low > far && high-max(first, last) > far:
		return Unknown // the curve has a peak and a valley
	case min(first, last)-low > far:
		return Lowest
	case high-max(first, last) > far:
		return Highest
	}
	places := make([]float64, len(curve))
	for i := range places {
		places[i] = float64(i)
	}
	switch r := correlation(places, ranks(curve)); {
	case r >= monotone:
		return Rising
	case r <= -monotone:
		return Falling
	}
	return Unknown
}

// optimum returns the middle of the range of values around the lowest point in which the curve
// is nearly as low, rounded to two digits.
func optimum(c coding, curve []float64) string {
	low, high := slices.Min(curve), slices.Max(curve)
	at := slices.Index(curve, low)
	from, to := at, at
	near := func(code int) bool { return curve[code]-low <= 0.1*(high-low) }
	for from > 0 && near(from-1) {
		from--
	}
	for to+1 < len(curve) && near(to+1) {
		to++
	}
	if from == to || c.bins < 8 {
		return round(c.labels[at])
	}
	return round(c.labels[(from+to)/2])
}

func round(number string) string {
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return number
	}
	f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'e', 1, 64), 64)
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// correlation returns the correlation of two lists of numbers.
func correlation(x, y []float64) float64 {
	mx, _ := deviation(x)
	my, _ := deviation(y)
	var xy, xx, yy float64
	for i := range x {
		xy += (x[i] - mx) * (y[i] - my)
		xx += (x[i] - mx) * (x[i] - mx)
		yy += (y[i] - my) * (y[i] - my)
	}
	if xx == 0 || yy == 0 {
		return 0
	}
	return xy / math.Sqrt(xx*yy)
}
