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
	maxTexts = 14 // maximum number of texts with their own code; rare texts share a code
)

// coding is a column in the form that trees use. Each run has a small number, its code. The
// codes from 0 to bins-1 are intervals of numbers in ascending order. The codes from bins on
// are texts and missing values, which have no order.
type coding struct {
	codes  []uint8
	bins   int
	labels []string // label of each code
	known  int      // number of runs with a value
	alone  []bool   // for each code: false for the rare texts and for missing values
}

// encode returns the coding of values. It divides numbers into intervals with about the same
// number of runs. If there are few distinct numbers, each number has its own interval.
func encode(values []*string) coding {
	c := coding{codes: make([]uint8, len(values))}
	numbers := make([]float64, len(values))
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
		f, err := strconv.ParseFloat(strings.TrimSpace(*v), 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			texts[*v]++
			continue
		}
		numbers[i] = f
		known = append(known, f)
	}
	ends := intervals(known)
	c.bins = len(ends)
	for _, end := range ends {
		c.labels = append(c.labels, strconv.FormatFloat(end.middle, 'g', -1, 64))
		c.alone = append(c.alone, true)
	}
	of := map[string]uint8{}
	for _, text := range mostFrequent(texts) {
		of[text] = uint8(len(c.labels))
		c.labels, c.alone = append(c.labels, text), append(c.alone, true)
	}
	rest, none := uint8(len(c.labels)), uint8(len(c.labels))
	if len(of) < len(texts) {
		c.labels, c.alone = append(c.labels, ""), append(c.alone, false)
		none++
	}
	if missing {
		c.labels, c.alone = append(c.labels, ""), append(c.alone, false)
	}
	for i, v := range values {
		switch code, ok := uint8(0), false; {
		case v == nil:
			c.codes[i] = none
		case !math.IsNaN(numbers[i]):
			at, _ := slices.BinarySearchFunc(ends, numbers[i], func(e interval, f float64) int { return cmp.Compare(e.high, f) })
			c.codes[i] = uint8(at)
		default:
			if code, ok = of[*v]; !ok {
				code = rest
			}
			c.codes[i] = code
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

// mostFrequent returns at most maxTexts texts, sorted by descending number of runs. If there
// are more than maxTexts texts, mostFrequent omits texts with a single run.
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
