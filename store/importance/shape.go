package importance

import (
	"math"
	"slices"
	"strconv"
)

const (
	certain = 2.6  // standard errors that a difference along a curve must have
	likely  = 1.7  // standard errors by which a text must differ from all other texts
	sloping = 2.0  // standard errors of each half of a slope
	turning = 0.12 // minimum rise after an optimum inside a curve, as a fraction of the range
)

// Shape is the form of the dependence of a result on a parameter.
type Shape string

// The shapes of a dependence.
const (
	Unknown Shape = ""        // the runs do not show a shape
	Rising  Shape = "rising"  // the result rises with the parameter
	Falling Shape = "falling" // the result falls as the parameter rises
	Lowest  Shape = "lowest"  // the result is lowest in between, and higher on both sides
	Highest Shape = "highest" // the result is highest in between, and lower on both sides
	Uneven  Shape = "uneven"  // some values are clearly better than others, in no simple form
	Between Shape = "between" // one text is clearly lower or higher than all others
)

// Form describes a curve.
type Form struct {
	Shape    Shape
	Min, Max Range
}

// Range is where a curve has its lowest or highest value.
type Range struct {
	At       string // the value of the parameter; "" if no text is clearly the lowest or highest
	From, To string // the numbers around At between which the curve is not clearly different

	from, to int // the groups of From and To
}

// apart reports whether two ranges have no number in common.
func (r Range) apart(other Range) bool { return r.to < other.from || other.to < r.from }

// samples holds an estimate of one curve by each of several forests, in the same groups.
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

// clearly returns the difference between two points of the curve in standard errors.
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

// mirrored returns the samples with the other sign.
func (s samples) mirrored() samples {
	out := make(samples, len(s))
	for i, one := range s {
		for _, v := range one {
			out[i] = append(out[i], -v)
		}
	}
	return out
}

// numberForm returns the form of a curve over numbers, in ascending order. It is Unknown if the
// lowest and the highest point are not clearly different.
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

// slopes reports whether the curve goes one way from one end to the other: whether both of its
// halves do, and no point is clearly on the wrong side of an earlier one.
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

// lowest describes the surroundings of the lowest point. Its value is in the middle of the points
// around it that are nearly as low.
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

// textForm returns which text has clearly the lowest result, and which one clearly the highest.
// Points whose label is empty are missing values and rare texts; they are not named.
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

// round rounds a number to two digits. It returns texts unchanged.
func round(number string) string {
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return number
	}
	f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'e', 1, 64), 64)
	return strconv.FormatFloat(f, 'g', -1, 64)
}
