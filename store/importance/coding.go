package importance

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The codes of a column must fit into 64 bits, because trees store sets of codes as bits.
const (
	maxBins  = 48
	maxTexts = 14 // maximum number of strings with their own code; rare strings share a code
)

// coding is a column in the form that trees use. Each run has a small number, its code. The codes
// from 0 to bins-1 stand for intervals of numbers in ascending order. The codes from bins on
// stand for strings, that is, values that are not numbers, and for missing values. They have no
// order.
type coding struct {
	codes  []uint8
	bins   int
	labels []string // label of each code
	known  int      // number of runs with a value
	alone  []bool   // for each code: false for the rare strings and for missing values

	ends       []interval       // intervals of the numbers
	texts      map[string]uint8 // codes of the strings with their own code
	rest, none uint8            // codes of rare strings and of missing values
}

// code returns the code of a value. A number outside all intervals gets the nearest interval. ok
// is false if the column has no code for the value.
func (c *coding) code(v *string) (code uint8, ok bool) {
	if v == nil {
		return c.none, int(c.none) < len(c.labels)
	}
	if f, isNumber := numberOf(*v); isNumber && c.bins > 0 {
		return c.interval(f), true
	} else if isNumber {
		return c.rest, int(c.rest) < len(c.labels)
	}
	if code, ok = c.texts[*v]; !ok {
		return c.rest, int(c.rest) < len(c.labels)
	}
	return code, true
}

// interval returns the code of the interval for f.
func (c *coding) interval(f float64) uint8 {
	at, _ := slices.BinarySearchFunc(c.ends, f, func(e interval, f float64) int { return cmp.Compare(e.high, f) })
	return uint8(min(at, c.bins-1))
}

// numberOf returns the finite number that a value holds. ok is false for any other value.
func numberOf(v string) (f float64, ok bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// encode returns the coding of values. It divides numbers into intervals with about the same
// number of runs. If there are few distinct numbers, each number has its own interval.
func encode(values []*string) coding {
	c := coding{codes: make([]uint8, len(values))}
	numbers := make([]float64, len(values)) // NaN where the value is not a number
	var known []float64
	texts := map[string]int{}
	missing := false
	for i, v := range values {
		numbers[i] = math.NaN()
		if v == nil {
			missing = true
			continue
		}
		c.known++
		f, ok := numberOf(*v)
		if !ok {
			texts[*v]++
			continue
		}
		numbers[i], known = f, append(known, f)
	}
	c.ends = intervals(known)
	c.bins = len(c.ends)
	for _, end := range c.ends {
		c.labels = append(c.labels, strconv.FormatFloat(end.middle, 'g', -1, 64))
		c.alone = append(c.alone, true)
	}
	c.texts = map[string]uint8{}
	for _, text := range mostFrequent(texts) {
		c.texts[text] = uint8(len(c.labels))
		c.labels, c.alone = append(c.labels, text), append(c.alone, true)
	}
	c.rest, c.none = math.MaxUint8, math.MaxUint8
	if len(c.texts) < len(texts) {
		c.rest = uint8(len(c.labels))
		c.labels, c.alone = append(c.labels, ""), append(c.alone, false)
	}
	if missing {
		c.none = uint8(len(c.labels))
		c.labels, c.alone = append(c.labels, ""), append(c.alone, false)
	}
	for i, v := range values {
		if f := numbers[i]; !math.IsNaN(f) {
			c.codes[i] = c.interval(f)
		} else {
			c.codes[i], _ = c.code(v)
		}
	}
	return c
}

// interval is a range of numbers. It begins above the previous interval's end and includes
// high.
type interval struct{ high, middle float64 }

// intervals divides numbers into at most maxBins intervals. It sorts numbers.
func intervals(numbers []float64) []interval {
	slices.Sort(numbers)
	var all []interval
	distinct := len(slices.Compact(slices.Clone(numbers)))
	for from := 0; from < len(numbers); {
		size := 1
		if distinct > maxBins {
			size = max(1, (len(numbers)-from)/(maxBins-len(all)))
		}
		to := min(len(numbers), from+size)
		for to < len(numbers) && numbers[to] == numbers[to-1] {
			to++
		}
		if len(all) == maxBins-1 {
			to = len(numbers)
		}
		all = append(all, interval{numbers[to-1], numbers[from+(to-from-1)/2]})
		from = to
	}
	return all
}

// mostFrequent returns at most maxTexts strings, sorted by descending number of runs. If there
// are more than maxTexts strings, mostFrequent omits strings with a single run.
func mostFrequent(texts map[string]int) []string {
	var all []string
	for text, runs := range texts {
		if runs > 1 || len(texts) <= maxTexts {
			all = append(all, text)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(texts[b], texts[a]), cmp.Compare(a, b)) })
	return all[:min(len(all), maxTexts)]
}
