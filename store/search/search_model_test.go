package search_test

import (
	"cmp"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"tracker/store/filter"
	"tracker/store/scalar"
)

// modelRun is an iteration in the model of searches, which is written in plain Go.
type modelRun struct {
	id, name, status string
	created, seen    scalar.Time
	ended            *scalar.Time
	tags             []string
	params           map[string]string
	metrics          map[string]*modelStats
}

// matches evaluates a filter for a run, without SQL.
func (r *modelRun) matches(e filter.Expr) bool {
	switch e := e.(type) {
	case nil:
		return true
	case filter.Junction:
		for _, p := range e.Parts {
			if r.matches(p) == e.Or {
				return e.Or
			}
		}
		return !e.Or
	case filter.Negation:
		return !r.matches(e.Part)
	case filter.Comparison:
		return r.compares(e)
	}
	panic(e)
}

func (r *modelRun) compares(c filter.Comparison) bool {
	holds := func(o filter.Literal) bool { return r.holds(c, o) }
	switch {
	case c.Ref.Field == filter.Tag && c.Op == "!=":
		return !slices.Contains(r.tags, c.Values[0].Text)
	case c.Ref.Field == filter.Tag:
		return slices.ContainsFunc(r.tags, func(tag string) bool {
			return slices.ContainsFunc(c.Values, func(o filter.Literal) bool {
				return tag == o.Text || c.Op == "contains" && modelContains(tag, o.Text)
			})
		})
	}
	return slices.ContainsFunc(c.Values, holds)
}

// holds evaluates a comparison. It returns false if the run lacks the value.
func (r *modelRun) holds(c filter.Comparison, o filter.Literal) bool {
	switch c.Ref.Field {
	case filter.Param:
		text, ok := r.params[c.Ref.Name]
		switch {
		case !ok:
			return false
		case c.Op == "contains":
			return modelContains(text, o.Text)
		case o.IsNumber && modelNumber(text) != nil:
			return modelOrder(c.Op, modelNumber(text).Cmp(modelNumber(o.Text)))
		}
		return modelOrder(c.Op, strings.Compare(text, o.Text))
	case filter.Metric:
		v, ok := r.statistic(c.Ref)
		switch {
		case !ok:
			return false
		case math.IsNaN(v) && math.IsNaN(o.Number):
			return c.Op == "=" || c.Op == "in"
		case math.IsNaN(v):
			return false
		case math.IsNaN(o.Number):
			return c.Op == "!="
		}
		return modelOrder(c.Op, cmp.Compare(v, o.Number))
	case filter.Created:
		return modelOrder(c.Op, cmp.Compare(r.created, o.Time))
	case filter.Ended:
		return r.ended != nil && modelOrder(c.Op, cmp.Compare(*r.ended, o.Time))
	case filter.Duration:
		return modelOrder(c.Op, cmp.Compare(r.duration(), o.Number))
	}
	text := r.text(c.Ref.Field)
	if c.Op == "contains" {
		return modelContains(text, o.Text)
	}
	return modelOrder(c.Op, strings.Compare(text, o.Text))
}

func (r *modelRun) text(f filter.Field) string {
	switch f {
	case filter.Name:
		return r.name
	case filter.Status:
		return r.status
	}
	return r.id
}

func (r *modelRun) duration() float64 {
	end := r.seen
	if r.ended != nil {
		end = *r.ended
	}
	return float64(end-r.created) / 1000
}

// modelStats are the statistics of a metric of a run.
type modelStats struct {
	Count, Finite       int
	lastStep            scalar.Step
	Last, Min, Max, Sum scalar.Value
}

func (s *modelStats) add(step scalar.Step, v scalar.Value) {
	if s.Count++; s.Count == 1 || step >= s.lastStep {
		s.Last, s.lastStep = v, step
	}
	if !v.Finite() {
		return
	}
	if s.Finite++; s.Finite == 1 {
		s.Min, s.Max = v, v
	}
	s.Min, s.Max, s.Sum = min(s.Min, v), max(s.Max, v), s.Sum+v
}

// statistic returns a statistic of a metric. ok is false if the run does not have it.
func (r *modelRun) statistic(f filter.Ref) (float64, bool) {
	s := r.metrics[f.Name]
	if s == nil {
		return 0, false
	}
	switch f.Stat {
	case "count":
		return float64(s.Count), true
	case "last":
		return float64(s.Last), true
	}
	if s.Finite == 0 {
		return 0, false
	}
	switch f.Stat {
	case "min":
		return float64(s.Min), true
	case "max":
		return float64(s.Max), true
	}
	mean := float64(s.Sum) / float64(s.Finite)
	return mean, !math.IsInf(mean, 0)
}

func modelOrder(op string, c int) bool {
	switch op {
	case "=", "in":
		return c == 0
	case "!=":
		return c != 0
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	}
	return c >= 0
}

var numeric = regexp.MustCompile(`^[ \t\n\v\f\r]*([+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)[ \t\n\v\f\r]*$`)

// modelNumber parses a numeric string: a 64-bit integer exactly, any other number as the nearest
// double. It returns nil if the string is not numeric.
func modelNumber(s string) *big.Float {
	m := numeric.FindStringSubmatch(s)
	if m == nil {
		return nil
	}
	if n, err := strconv.ParseInt(m[1], 10, 64); err == nil {
		return new(big.Float).SetInt64(n)
	}
	f, _ := strconv.ParseFloat(m[1], 64) // an infinity if it is too large
	return big.NewFloat(f)
}

// modelContains reports whether text contains part. It ignores the case of all letters if part
// has a non-ASCII character, and otherwise only the case of ASCII letters.
func modelContains(text, part string) bool {
	ascii := !strings.ContainsFunc(part, func(r rune) bool { return r > unicode.MaxASCII })
	equal := func(want, got rune) bool {
		if want == got {
			return true
		}
		if ascii || want <= unicode.MaxASCII {
			return want <= unicode.MaxASCII && got <= unicode.MaxASCII && unicode.ToLower(want) == unicode.ToLower(got)
		}
		return strings.EqualFold(string(want), string(got))
	}
	runes, wanted := []rune(text), []rune(part)
	for start := 0; start+len(wanted) <= len(runes); start++ {
		if slices.EqualFunc(wanted, runes[start:start+len(wanted)], equal) {
			return true
		}
	}
	return false
}

// compareBy compares two runs by one sort key.
func compareBy(a, b *modelRun, k filter.SortKey) int {
	rankA, rankB := a.rank(k.Ref), b.rank(k.Ref)
	if rankA != rankB || rankA == missingRank {
		return cmp.Compare(rankA, rankB)
	}
	c := 0
	switch k.Field {
	case filter.Param:
		x, y := a.params[k.Name], b.params[k.Name]
		if rankA == numberRank {
			c = modelNumber(x).Cmp(modelNumber(y))
		} else {
			c = strings.Compare(x, y)
		}
	case filter.Metric:
		x, _ := a.statistic(k.Ref)
		y, _ := b.statistic(k.Ref)
		if rankA == numberRank {
			c = cmp.Compare(x, y)
		}
	case filter.Tag:
		c = strings.Compare(slices.Min(a.tags), slices.Min(b.tags))
	case filter.Created:
		c = cmp.Compare(a.created, b.created)
	case filter.Ended:
		c = cmp.Compare(*a.ended, *b.ended)
	case filter.Duration:
		c = cmp.Compare(a.duration(), b.duration())
	default:
		c = strings.Compare(a.text(k.Field), b.text(k.Field))
	}
	if k.Descending {
		return -c
	}
	return c
}

const (
	numberRank  = iota
	otherRank   // NaN, or a parameter that is not a number
	missingRank // always last
)

func (r *modelRun) rank(f filter.Ref) int {
	switch f.Field {
	case filter.Param:
		text, ok := r.params[f.Name]
		switch {
		case !ok:
			return missingRank
		case modelNumber(text) == nil:
			return otherRank
		}
	case filter.Metric:
		v, ok := r.statistic(f)
		switch {
		case !ok:
			return missingRank
		case math.IsNaN(v):
			return otherRank
		}
	case filter.Tag:
		if len(r.tags) == 0 {
			return missingRank
		}
	case filter.Ended:
		if r.ended == nil {
			return missingRank
		}
	}
	return numberRank
}
