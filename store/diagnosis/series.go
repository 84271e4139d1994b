package diagnosis

import (
	"math"
	"slices"
	"sort"
	"strings"
)

// Series is a metric of a run, in the order of its steps. A long metric is reduced to buckets.
type Series struct {
	Key   string
	Step  []int64
	At    []int64   // times in Unix milliseconds
	Value []float64 // last value of each bucket, which is at Step
	// Low and High hold the smallest and the largest finite value of each bucket. They are NaN if
	// a bucket has no finite value. They are nil if the series is not reduced.
	Low, High []float64
}

func (s Series) whole() bool { return s.Low == nil }

// hasFinite reports whether bucket i has a finite value.
func (s Series) hasFinite(i int) bool {
	return finite(s.Value[i]) || !s.whole() && !math.IsNaN(s.Low[i])
}

// until returns the part of s with steps up to last.
func (s Series) until(last int64) Series {
	n := sort.Search(len(s.Step), func(i int) bool { return s.Step[i] > last })
	s.Step, s.Value = s.Step[:n], s.Value[:n]
	if !s.whole() {
		s.Low, s.High = s.Low[:n], s.High[:n]
	}
	if s.At != nil {
		s.At = s.At[:n]
	}
	return s
}

// finites returns the steps and values with a finite last value.
func (s Series) finites() (steps []int64, values []float64) {
	for i, v := range s.Value {
		if finite(v) {
			steps, values = append(steps, s.Step[i]), append(values, v)
		}
	}
	return steps, values
}

// valueAt interpolates the value of s at a step. It returns NaN outside the steps of s, and next
// to a value that is not finite.
func (s Series) valueAt(step int64) float64 {
	i := sort.Search(len(s.Step), func(i int) bool { return s.Step[i] >= step })
	if i == len(s.Step) || i == 0 && s.Step[0] > step {
		return math.NaN()
	}
	if s.Step[i] == step {
		return s.Value[i]
	}
	a, b := s.Value[i-1], s.Value[i]
	return a + (b-a)*float64(step-s.Step[i-1])/float64(s.Step[i]-s.Step[i-1])
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// isResult reports whether a metric describes the training, rather than the machine or a single
// result.
func isResult(key string) bool {
	return !strings.HasPrefix(key, systemPrefix) && !strings.HasPrefix(key, "summary/") && !strings.HasPrefix(key, "best/")
}

// Reader reads the part of a metric with steps in the range from..to, inclusive. It reduces a
// long part to buckets.
type Reader func(key string, from, to int64) (Series, error)

// maxZooms is the maximum number of parts that firstUnfinite reads.
const maxZooms = 10

// unfinite describes the end of a metric without finite values.
type unfinite struct {
	key   string
	step  int64 // first step after the last finite value
	value float64
	nan   bool // all values from step on are known to be NaN
	start bool // the metric has no finite value
}

// firstUnfinite returns the first step after which the metric s has no finite value. ok is false
// if its last value is finite. It reads parts of s with read to find the exact step.
func firstUnfinite(s Series, read Reader) (u unfinite, ok bool, err error) {
	if n := len(s.Value); n == 0 || finite(s.Value[n-1]) {
		return u, false, nil
	}
	key := s.Key
	for range maxZooms {
		last := len(s.Step) - 1 // last bucket with a finite value
		for last >= 0 && !s.hasFinite(last) {
			last--
		}
		switch {
		case last < 0:
			u = unfinite{key: key, step: s.Step[0], value: s.Value[0], start: true}
		case s.whole() && last+1 < len(s.Step):
			u = unfinite{key: key, step: s.Step[last+1], value: s.Value[last+1]}
		case s.whole():
			return u, false, nil // the metric has changed since s was read
		default:
			from, to := s.Step[max(0, last-1)], s.Step[last]
			if finite(s.Value[last]) {
				if last+1 == len(s.Step) {
					return u, false, nil
				}
				from, to = s.Step[last], s.Step[last+1]
			}
			if s, err = read(key, from, to); err != nil || len(s.Step) == 0 {
				return u, false, err
			}
			continue
		}
		tail, err := read(key, u.step, math.MaxInt64)
		u.nan = err == nil && tail.whole() && !slices.ContainsFunc(tail.Value, func(v float64) bool { return !math.IsNaN(v) })
		return u, err == nil, err
	}
	return u, false, nil
}

// shift is a change of the level of a metric that lasts to the end of its values.
type shift struct {
	key      string
	from, to int64 // last step of the former level; step of the most extreme value since
	at       int64 // first step of the new level
	old, new float64
	sds      float64 // size of the change in robust standard deviations of the former level
}

// factor returns new / old if both are positive, or NaN.
func (s shift) factor() float64 {
	if s.old > 0 && s.new > 0 {
		return s.new / s.old
	}
	return math.NaN()
}

const (
	leastHistory = 10 // minimum number of values before a shift
	mostHistory  = 50 // maximum number of values before a shift that determine the former level
)

// lastShift returns the earliest change of level that lasts until the last value. A level has
// changed if all later values differ from the median of the earlier values by at least sds robust
// standard deviations and by at least the given factor. Values are compared on a logarithmic
// scale if all of them are positive. Otherwise, the factor does not apply. If up is set, only
// higher levels count.
func lastShift(steps []int64, values []float64, sds, factor float64, up bool) (s shift, ok bool) {
	n := len(values)
	if n <= leastHistory {
		return s, false
	}
	scaled, least, floor := values, 0.0, 1e-6
	if !slices.ContainsFunc(values, func(v float64) bool { return v <= 0 }) {
		scaled, least, floor = make([]float64, n), math.Log(factor), 0.02
		for i, v := range values {
			scaled[i] = math.Log(v)
		}
	}
	low, high := make([]float64, n), make([]float64, n) // extremes of the values from i on
	for i := n - 1; i >= 0; i-- {
		low[i], high[i] = scaled[i], scaled[i]
		if i+1 < n {
			low[i], high[i] = min(low[i], low[i+1]), max(high[i], high[i+1])
		}
	}
	window := make([]float64, 0, mostHistory)
	for i := leastHistory; i < n; i++ {
		window = append(window[:0], scaled[max(0, i-mostHistory):i]...)
		middle, sd := spread(window)
		if least == 0 {
			floor = max(1e-12, 1e-6*math.Abs(middle))
		}
		enough := max(sds*max(sd, floor), least)
		rises, falls := low[i]-middle > enough, !up && middle-high[i] > enough
		if !rises && !falls {
			continue
		}
		extreme := i
		for j := i; j < n; j++ {
			if rises && scaled[j] > scaled[extreme] || falls && scaled[j] < scaled[extreme] {
				extreme = j
			}
		}
		from := i - 1 // last value near the former level
		for from > max(0, i-mostHistory) && math.Abs(scaled[from]-middle) > max(sd, floor) {
			from--
		}
		return shift{from: steps[from], at: steps[i], to: steps[extreme], old: values[from], new: values[extreme],
			sds: math.Abs(scaled[extreme]-middle) / max(sd, floor)}, true
	}
	return s, false
}
