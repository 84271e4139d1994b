package diagnosis

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Column holds a parameter of several runs. A value is nil if a run does not have the parameter.
type Column struct {
	Name   string
	Values []*string
}

const (
	leastFinished = 5    // minimum number of finished runs for a comparison of parameters
	level         = 0.05 // maximum probability of reporting one or more parameters by chance
	mostTraits    = 3    // maximum number of parameters that are reported
)

// Trait is a parameter that sets failed runs apart from the runs that finished.
type Trait struct {
	Name string  `json:"name"`
	P    float64 `json:"p"` // adjusted p-value
	Text string  `json:"text"`
}

// comparison holds the values of one parameter.
type comparison struct {
	name             string
	self             string // value of the run that is explained, "" for a group
	failed, finished []string
	numeric          bool
	a, b             []float64 // numbers of the failed and of the finished runs, if numeric
	x                float64   // number of self
	p                float64
	value            string // most typical value of the failed runs, if not numeric
}

// Traits returns the parameters in which the failed runs differ from the finished runs by more
// than chance explains. failed and finished hold indexes into Column.Values. If self is not
// negative, it is the index of the run that is explained, which must be one of failed. Then only
// parameters in which this run itself differs are returned. If there are fewer than leastFinished
// finished runs, Traits returns nil.
//
// Numbers are compared by the rank-sum test. A single failed run is compared with a prediction
// interval instead, on a logarithmic scale if all numbers are positive. Other values, called
// choices, are compared by Fisher's exact test, corrected for the number of choices. The choice
// of a single failed run is compared by its rarity among all runs, which is a permutation test.
// Holm's method adjusts the p-values for the number of parameters.
func Traits(columns []Column, failed, finished []int, self int) []Trait {
	if len(finished) < leastFinished || len(failed) == 0 {
		return nil
	}
	var all []comparison
	var p []float64
	for _, c := range columns {
		if one, ok := compare(c, failed, finished, self); ok {
			all, p = append(all, one), append(p, one.p)
		}
	}
	var traits []Trait
	for i, adjusted := range holm(p) {
		if adjusted >= level {
			continue
		}
		if text := all[i].text(); text != "" {
			traits = append(traits, Trait{all[i].name, adjusted, text})
		}
	}
	slices.SortStableFunc(traits, func(a, b Trait) int { return cmp.Compare(a.P, b.P) })
	return traits[:min(len(traits), mostTraits)]
}

// compare compares the values of one parameter. ok is false if too few runs have the parameter or
// if its value does not vary.
func compare(c Column, failed, finished []int, self int) (one comparison, ok bool) {
	one.name = c.Name
	if self >= 0 {
		if c.Values[self] == nil {
			return one, false
		}
		one.self = *c.Values[self]
	}
	for _, i := range failed {
		if v := c.Values[i]; v != nil {
			one.failed = append(one.failed, *v)
		}
	}
	for _, i := range finished {
		if v := c.Values[i]; v != nil {
			one.finished = append(one.finished, *v)
		}
	}
	if len(one.failed) == 0 || len(one.finished) < leastFinished || 2*len(one.failed) < len(failed) || 2*len(one.finished) < len(finished) {
		return one, false
	}
	first := one.finished[0]
	if !slices.ContainsFunc(append(slices.Clone(one.failed), one.finished...), func(v string) bool { return v != first }) {
		return one, false
	}
	one.a, one.b = floats(one.failed), floats(one.finished)
	x := floats([]string{one.self})
	one.numeric = len(one.a) == len(one.failed) && 10*len(one.b) >= 9*len(one.finished) && len(one.b) >= leastFinished && (self < 0 || len(x) == 1)
	if one.numeric {
		if len(x) == 1 {
			one.x = x[0]
		}
		one.p = one.ofNumbers()
	} else {
		one.p = one.ofChoices()
	}
	return one, true
}

func floats(texts []string) (all []float64) {
	for _, text := range texts {
		if f, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil && finite(f) {
			all = append(all, f)
		}
	}
	return all
}

func (c *comparison) ofNumbers() float64 {
	if len(c.a) > 1 {
		return rankSum(c.a, c.b)
	}
	x, sample := c.a[0], slices.Clone(c.b)
	if slices.Min(sample) == slices.Max(sample) {
		return c.rarity(c.failed[0])
	}
	if x > 0 && slices.Min(sample) > 0 {
		x = math.Log(x)
		for i, v := range sample {
			sample[i] = math.Log(v)
		}
	}
	return outlying(x, sample)
}

// rarity returns the fraction of all runs whose value is at least as rare as the given value. If
// the failed run is a random one of them, this is the probability that its value is at least as
// rare.
func (c *comparison) rarity(value string) float64 {
	all := append(slices.Clone(c.failed), c.finished...)
	count := map[string]int{}
	for _, v := range all {
		count[v]++
	}
	rare := 0
	for _, v := range all {
		if count[v] <= count[value] {
			rare++
		}
	}
	return float64(rare) / float64(len(all))
}

func (c *comparison) ofChoices() float64 {
	if len(c.failed) == 1 {
		c.value = c.failed[0]
		return c.rarity(c.value)
	}
	count, both := map[string]int{}, map[string]int{}
	for _, v := range c.failed {
		count[v]++
		both[v]++
	}
	for _, v := range c.finished {
		both[v]++
	}
	total := len(c.failed) + len(c.finished)
	best := 1.0
	for _, v := range c.failed { // in the order of the runs, so that the result does not depend on the map
		if p := fisher(count[v], len(c.failed), both[v], total); p < best && (c.self == "" || v == c.self) {
			best, c.value = p, v
		}
	}
	return min(1, best*float64(len(both)))
}

// text returns the sentence about a parameter. It returns "" if the run that is explained does
// not itself differ.
func (c *comparison) text() string {
	if !c.numeric {
		return c.choiceText()
	}
	slices.Sort(c.a)
	slices.Sort(c.b)
	n, middle := len(c.b), quantile(c.b, 0.5)
	finished := "the " + counted(n, "run", "runs") + " that finished"
	if c.self == "" {
		return c.name + " is " + between(c.a) + " in these runs, and " + between(c.b) + " in " + finished +
			", with medians of " + exact(quantile(c.a, 0.5)) + " and " + exact(middle) + "."
	}
	low, high, most := c.b[0], c.b[n-1], "none of them had"
	if n >= leastSpread && c.x >= low && c.x <= high {
		low, high, most = quantile(c.b, 0.05), quantile(c.b, 0.95), "at most 5% of them had"
	}
	text := c.name + " is " + exact(c.x) + ", "
	switch {
	case c.x > high && middle > 0 && c.x/middle >= 1.05:
		text += number2(c.x/middle) + " times the median of " + finished + "; " + most + " more than " + exact(high)
	case c.x > high:
		text += "above the median of " + finished + ", " + exact(middle) + "; " + most + " more than " + exact(high)
	case c.x < low && c.x > 0 && middle/c.x >= 1.05:
		text += "below the median of " + finished + " by a factor of " + number2(middle/c.x) + "; " + most + " less than " + exact(low)
	case c.x < low:
		text += "below the median of " + finished + ", " + exact(middle) + "; " + most + " less than " + exact(low)
	default:
		return ""
	}
	if len(c.a) > 1 {
		text += ". In the " + strconv.Itoa(len(c.a)) + " runs that failed in the same way, it is " + between(c.a)
	}
	return text + "."
}

func (c *comparison) choiceText() string {
	if c.value == "" || c.self != "" && c.value != c.self {
		return ""
	}
	have := func(values []string) (n int) {
		for _, v := range values {
			if v == c.value {
				n++
			}
		}
		return n
	}
	of := len(c.finished)
	text := c.name + " is " + clip(c.value, 60)
	if len(c.failed) > 1 {
		if c.self != "" {
			text += ", as in " + strconv.Itoa(have(c.failed)) + " of the " + strconv.Itoa(len(c.failed)) + " runs that failed in the same way"
		} else {
			text += " in " + strconv.Itoa(have(c.failed)) + " of these " + strconv.Itoa(len(c.failed)) + " runs"
		}
		text += ", and"
	} else {
		text += ", as"
	}
	switch n := have(c.finished); n {
	case 0:
		return text + " in none of the " + strconv.Itoa(of) + " runs that finished."
	default:
		return text + " in " + strconv.Itoa(n) + " of the " + strconv.Itoa(of) + " runs that finished."
	}
}

// between returns the smallest and the largest of sorted numbers as text.
func between(sorted []float64) string {
	low, high := exact(sorted[0]), exact(sorted[len(sorted)-1])
	if low == high {
		return low
	}
	return low + " to " + high
}
