package importance

import (
	"math"
	"slices"
	"strconv"
)

const (
	certain = 2.6  // minimum difference along a curve, in standard errors
	likely  = 1.7  // minimum difference of a string from all other strings, in standard errors
	sloping = 2.0  // minimum difference along each half of a slope, in standard errors
	turning = 0.12 // minimum rise on both sides of a lowest point, as a fraction of the curve's range
)

// Shape is the shape of the curve of a result over a parameter.
type Shape string

// Values of Shape.
const (
	Unknown Shape = ""        // the runs do not show a shape
	Rising  Shape = "rising"  // the result rises with the parameter
	Falling Shape = "falling" // the result falls as the parameter rises
	Lowest  Shape = "lowest"  // the result is lowest inside the range and higher at both ends
	Highest Shape = "highest" // the result is highest inside the range and lower at both ends
	Uneven  Shape = "uneven"  // the result depends on the parameter, but the curve has no simple shape
	Between Shape = "between" // the result of one string is clearly lower or higher than for all other strings
)

// Form describes a curve by its shape and its extremes.
type Form struct {
	Shape    Shape
	Min, Max Range
}

// Range describes the position of a curve's lowest or highest value.
type Range struct {
	At       string // parameter value at the extreme; "" if no string is clearly the lowest or highest
	From, To string // ends of the interval around At in which the curve is not clearly different

	from, to int // indexes of the groups of From and To
}

// apart reports whether the ranges r and other do not overlap.
func (r Range) apart(other Range) bool { return r.to < other.from || other.to < r.from }

// samples holds several estimates of a curve, by forest and group.
type samples [][]float64

func (s samples) mean() []float64 {
	mean := make([]float64, len(s[0]))
	for _, one := range s {
		for i, v := range one {
			mean[i] += v / float64(len(s))
		}
	}
	return mean
}

// clearly returns the difference between the curve's groups high and low, in standard errors.
func (s samples) clearly(high, low int) float64 {
	differences := make([]float64, len(s))
	for i, one := range s {
		differences[i] = one[high] - one[low]
	}
	mean, sd := deviation(differences)
	switch {
	case mean == 0:
		return 0
	case sd == 0:
		return math.Copysign(math.Inf(1), mean)
	}
	return mean / sd
}

// mirrored returns a copy of the samples with the opposite sign.
func (s samples) mirrored() samples {
	out := make(samples, len(s))
	for i, one := range s {
		for _, v := range one {
			out[i] = append(out[i], -v)
		}
	}
	return out
}

// numberForm returns the form of a curve over ascending numbers. The shape is Unknown if the
// lowest and the highest point do not clearly differ.
func numberForm(curve samples, labels []string) Form {
	mean := curve.mean()
	low, high := slices.Index(mean, slices.Min(mean)), slices.Index(mean, slices.Max(mean))
	if curve.clearly(high, low) < certain {
		return Form{}
	}
	up := curve.mirrored()
	form := Form{Shape: Falling, Min: curve.lowest(low, labels), Max: up.lowest(high, labels)}
	switch valley, peak := curve.turns(low), up.turns(high); {
	case valley && peak:
		form.Shape = Uneven
	case valley:
		form.Shape = Lowest
	case peak:
		form.Shape = Highest
	case !curve.slopes(low, high):
		form.Shape = Uneven
	case low < high:
		form.Shape = Rising
	}
	return form
}

// slopes reports whether the curve rises, or falls, over its whole length. Both halves must
// clearly rise, or both must clearly fall, and no pair of points may clearly differ in the
// opposite direction.
func (s samples) slopes(low, high int) bool {
	up := s
	if low > high {
		up = s.mirrored()
	}
	end := len(s[0]) - 1
	if up.clearly(end/2, 0) < sloping || up.clearly(end, (end+1)/2) < sloping {
		return false
	}
	for i := range end {
		for j := i + 1; j <= end; j++ {
			if up.clearly(i, j) > likely {
				return false
			}
		}
	}
	return true
}

// turns reports whether the curve clearly rises on both sides of its lowest point.
func (s samples) turns(low int) bool {
	mean := s.mean()
	span := slices.Max(mean) - mean[low]
	rises := func(from, to int) bool {
		for at := from; at < to; at++ {
			if mean[at]-mean[low] > turning*span && s.clearly(at, low) > certain {
				return true
			}
		}
		return false
	}
	return rises(0, low) && rises(low+1, len(mean))
}

// lowest returns the range of the curve's lowest point. At is the middle of the neighbouring
// points that are nearly as low. low is the index of the lowest point.
func (s samples) lowest(low int, labels []string) Range {
	mean := s.mean()
	around := func(belongs func(at int) bool) (from, to int) {
		from, to = low, low
		for from > 0 && belongs(from-1) {
			from--
		}
		for to+1 < len(mean) && belongs(to+1) {
			to++
		}
		return from, to
	}
	near := 0.1 * (slices.Max(mean) - mean[low])
	from, to := around(func(at int) bool { return mean[at]-mean[low] <= near })
	r := Range{At: labels[low]}
	if from != to && len(mean) >= 6 {
		r.At = labels[(from+to)/2]
	}
	from, to = around(func(at int) bool { return s.clearly(at, low) < certain })
	r.At, r.From, r.To, r.from, r.to = round(r.At), labels[from], labels[to], from, to
	return r
}

// textForm returns the strings with clearly the lowest and clearly the highest result. It ignores
// points with an empty label, which are missing values and rare strings.
func textForm(curve samples, labels []string) Form {
	first := func(curve samples) string {
		mean := curve.mean()
		best := -1
		for i, label := range labels {
			if label != "" && (best < 0 || mean[i] < mean[best]) {
				best = i
			}
		}
		if best < 0 {
			return ""
		}
		for i, label := range labels {
			if label != "" && i != best && curve.clearly(i, best) < likely {
				return ""
			}
		}
		return labels[best]
	}
	f := Form{Shape: Between, Min: Range{At: first(curve)}, Max: Range{At: first(curve.mirrored())}}
	if f.Min.At == f.Max.At {
		return Form{}
	}
	return f
}

// round rounds a number to two significant digits. It returns any other string unchanged.
func round(number string) string {
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return number
	}
	f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'e', 1, 64), 64)
	return strconv.FormatFloat(f, 'g', -1, 64)
}
