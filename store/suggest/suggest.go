// Package suggest proposes settings for the next runs of an experiment.
//
// Candidates are drawn by the tree-structured Parzen estimator that sweeps use, drawn at random,
// or copied from the best runs. A random forest orders the candidates, and a second forest
// predicts their results. Suggested numbers are within the range of the numbers in the runs. All
// other suggested values are values of runs.
package suggest

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"tracker/store/goal"
	"tracker/store/importance"
	"tracker/store/json"
	"tracker/store/wandb/sweep"
)

const (
	// MinRuns is the minimum number of runs for suggestions.
	MinRuns = 20
	// MinFit is the minimum fit of the model for suggestions.
	MinFit = 0.25
	// Most is the maximum number of suggestions.
	Most = 4

	mostRank     = 0.35 // maximum expected rank of a suggestion
	worstRank    = 0.8  // maximum rank at the worse end of the interval of a suggestion
	mostSettings = 8    // maximum number of parameters that vary
	mostChoices  = 12   // maximum number of distinct numbers that are treated as choices
	mostSeen     = 200  // maximum number of runs that the estimator uses
	drawn        = 120  // number of candidates drawn by the estimator
	random       = 120  // number of random candidates
	copied       = 30   // number of candidates copied from the best runs
	apart        = 0.15 // minimum difference between two suggestions in a number, as a fraction of its range
	nearlyBest   = 0.08 // maximum difference between a suggestion's score and the best score
)

// Setting is the value of a parameter.
type Setting struct{ Name, Value string }

// Suggestion holds settings for a run and its predicted result.
type Suggestion struct {
	Settings []Setting // most important parameter first
	importance.Prediction
}

// Reason is the reason why there are no suggestions.
type Reason string

// Values of Reason.
const (
	None      Reason = ""           // there are suggestions
	NoGoal    Reason = "no goal"    // neither smaller nor larger results are known to be better
	FewRuns   Reason = "few runs"   // fewer than MinRuns runs
	NoEffect  Reason = "no effect"  // no parameter matters more than chance explains
	Noise     Reason = "noise"      // the parameters explain too little of the results
	NotBetter Reason = "not better" // no candidate is expected to be among the better runs
)

// Next returns at most Most suggestions, best first. r is the estimate for target and columns.
// The result is deterministic.
func Next(ctx context.Context, r importance.Result, target []float64, columns []importance.Column, aim goal.Goal) ([]Suggestion, Reason, error) {
	known := slices.ContainsFunc(r.Columns, func(e importance.Estimate) bool { return e.Known })
	switch {
	case aim == "":
		return nil, NoGoal, nil
	case r.Runs < MinRuns:
		return nil, FewRuns, nil
	case !known:
		return nil, NoEffect, nil
	}
	m, err := r.Model(ctx)
	switch {
	case err != nil:
		return nil, None, err
	case m == nil:
		return nil, NoEffect, nil
	case m.Fit < MinFit:
		return nil, Noise, nil
	}
	s := newSpace(r, target, columns, aim)
	all, err := s.candidates(ctx)
	if err != nil {
		return nil, None, err
	}
	type scored struct {
		point
		score float64
	}
	var ranked []scored
	for _, p := range all {
		if s.contradicts(r, p) {
			continue
		}
		if score, ok := m.Score(s.settings(p)); ok {
			ranked = append(ranked, scored{p, score})
		}
	}
	slices.SortStableFunc(ranked, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
	var chosen []point
	var out []Suggestion
	for _, c := range ranked {
		if len(out) == Most || c.score > ranked[0].score+nearlyBest {
			break
		}
		if slices.ContainsFunc(chosen, func(p point) bool { return !s.differ(p, c.point) }) {
			continue
		}
		p, ok := m.Predict(s.settings(c.point))
		if !ok || p.Rank > mostRank || p.RankHigh > worstRank {
			continue
		}
		chosen = append(chosen, c.point)
		one := Suggestion{Prediction: p}
		for i, d := range s.dimensions {
			one.Settings = append(one.Settings, Setting{d.name, c.point[i]})
		}
		out = append(out, one)
	}
	if len(out) == 0 {
		return nil, NotBetter, nil
	}
	slices.SortStableFunc(out, func(a, b Suggestion) int { return cmp.Compare(a.Rank, b.Rank) })
	return out, None, nil
}

// point holds a value for each dimension of a space.
type point []string

// space holds the parameters that vary.
type space struct {
	dimensions []dimension
	fixed      map[string]string // values of the other parameters
	runs       []int             // runs with a value of each dimension, newest first
	order      []int             // runs, sorted by result, best first
	target     []float64
	aim        goal.Goal
	seed       uint64
}

// dimension is a parameter that varies. Its values are numbers in a range, or a list of choices.
type dimension struct {
	name      string
	values    []*string // values of the runs
	choices   []string  // nil for a range
	low, high float64
	log       bool // the range is logarithmic
	whole     bool // the numbers are integers
}

func newSpace(r importance.Result, target []float64, columns []importance.Column, aim goal.Goal) space {
	s := space{fixed: map[string]string{}, target: target, aim: aim}
	h := fnv.New64a()
	fmt.Fprint(h, r.Runs, r.Fit) // never returns an error
	s.seed = h.Sum64()
	of := map[string]importance.Column{}
	for _, c := range columns {
		of[c.Name] = c
	}
	for i := range target {
		s.order = append(s.order, i)
	}
	slices.SortStableFunc(s.order, func(a, b int) int {
		if aim == goal.Maximize {
			a, b = b, a
		}
		return cmp.Compare(target[a], target[b])
	})
	for _, e := range r.Columns {
		values := of[e.Name].Values
		if d := newDimension(e.Name, values); e.Known && len(s.dimensions) < mostSettings && d.ok() {
			s.dimensions = append(s.dimensions, d)
		} else if best := values[s.order[0]]; best != nil {
			s.fixed[e.Name] = *best
		}
	}
	for i := range target {
		if !slices.ContainsFunc(s.dimensions, func(d dimension) bool { return d.values[i] == nil }) {
			s.runs = append(s.runs, i)
		}
	}
	return s
}

func newDimension(name string, values []*string) dimension {
	d := dimension{name: name, values: values, low: math.Inf(1), high: math.Inf(-1), whole: true}
	counts := map[string]int{}
	numbers := true
	for _, v := range values {
		if v == nil {
			continue
		}
		if len(counts) < 1000 || counts[*v] > 0 {
			counts[*v]++
		}
		f, err := strconv.ParseFloat(strings.TrimSpace(*v), 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			numbers = false
			continue
		}
		d.low, d.high, d.whole = min(d.low, f), max(d.high, f), d.whole && f == math.Trunc(f)
	}
	d.log = d.low > 0 && d.high/d.low >= 30
	if !numbers || len(counts) <= mostChoices {
		for v, n := range counts {
			if n > 1 { // the model does not know values of a single run well
				d.choices = append(d.choices, v)
			}
		}
		slices.SortFunc(d.choices, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
		d.choices = d.choices[:min(len(d.choices), mostChoices)]
	}
	if numbers && len(d.choices) == 0 {
		d.choices = nil
	}
	return d
}

func (d dimension) ok() bool { return len(d.choices) > 0 || d.low < d.high }

// place returns the position of a value as a number between 0 and 1.
func (d dimension) place(v string) float64 {
	if d.choices != nil {
		return (float64(slices.Index(d.choices, v)) + 0.5) / float64(len(d.choices))
	}
	f, _ := strconv.ParseFloat(strings.TrimSpace(v), 64)
	if d.log {
		return math.Log(f/d.low) / math.Log(d.high/d.low)
	}
	return (f - d.low) / (d.high - d.low)
}

// value returns the value at a position between 0 and 1. Numbers are rounded to two significant
// digits, or to four if the range is narrow, unless the rounded number would be outside the
// range.
func (d dimension) value(u float64) string {
	u = max(0, min(1, u))
	if d.choices != nil {
		return d.choices[min(len(d.choices)-1, int(u*float64(len(d.choices))))]
	}
	f := d.low + u*(d.high-d.low)
	if d.log {
		f = d.low * math.Pow(d.high/d.low, u)
	}
	digits := 1
	if span := d.high - d.low; !d.log && span > 0 && max(math.Abs(d.low), math.Abs(d.high)) > 10*span {
		digits = 3
	}
	short, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'e', digits, 64), 64)
	if d.whole {
		short = math.Round(short)
	}
	if short < d.low || short > d.high {
		short = f
		if d.whole {
			short = max(d.low, min(d.high, math.Round(f)))
		}
	}
	return strconv.FormatFloat(short, 'g', -1, 64)
}

// settings returns the values of a candidate by parameter. Parameters that do not vary have the
// values of the best run.
func (s *space) settings(p point) map[string]string {
	all := make(map[string]string, len(s.fixed)+len(p))
	for name, v := range s.fixed {
		all[name] = v
	}
	for i, d := range s.dimensions {
		all[d.name] = p[i]
	}
	return all
}

// contradicts reports whether a candidate has a number that is clearly worse than the best one
// according to the estimate.
func (s *space) contradicts(r importance.Result, p point) bool {
	settings := s.settings(p)
	outside := func(f importance.Form, value string) bool {
		best := f.Min
		if s.aim == goal.Maximize {
			best = f.Max
		}
		from, err1 := strconv.ParseFloat(best.From, 64)
		to, err2 := strconv.ParseFloat(best.To, 64)
		v, err3 := strconv.ParseFloat(value, 64)
		return f.Shape != importance.Unknown && err1 == nil && err2 == nil && err3 == nil && (v < from || v > to)
	}
	for i, d := range s.dimensions {
		for _, e := range r.Columns {
			if e.Name != d.name {
				continue
			}
			if outside(e.Form, p[i]) {
				return true
			}
			for _, l := range e.Levels {
				if l.From == l.To && l.From == settings[e.With] && outside(l.Form, p[i]) {
					return true
				}
			}
		}
	}
	return false
}

// differ reports whether two candidates differ in a choice, or clearly in a number.
func (s *space) differ(a, b point) bool {
	for i, d := range s.dimensions {
		if d.choices != nil && a[i] != b[i] || d.choices == nil && math.Abs(d.place(a[i])-d.place(b[i])) >= apart {
			return true
		}
	}
	return false
}

// candidates returns the candidates without duplicates.
func (s *space) candidates(ctx context.Context) ([]point, error) {
	source := rand.New(rand.NewPCG(s.seed, uint64(len(s.target))))
	var all []point
	seen := map[string]bool{}
	add := func(p point) {
		if key := strings.Join(p, "\x00"); !seen[key] {
			seen[key] = true
			all = append(all, p)
		}
	}
	usable := map[int]bool{}
	for _, i := range s.runs {
		usable[i] = true
	}
	for _, i := range s.order {
		if len(all) == copied {
			break
		}
		if p, ok := s.pointOf(i); ok && usable[i] {
			for k, d := range s.dimensions {
				p[k] = d.value(d.place(p[k])) // rounded
			}
			add(p)
		}
	}
	for range random {
		p := point{}
		for _, d := range s.dimensions {
			p = append(p, d.value(source.Float64()))
		}
		add(p)
	}
	config, err := s.config()
	if err != nil {
		return all, nil // the estimator rejects the range, for example because it is too wide
	}
	var observed []sweep.Observation
	runs := slices.Clone(s.runs)
	source.Shuffle(len(runs), func(i, k int) { runs[i], runs[k] = runs[k], runs[i] })
	for _, i := range runs[:min(len(runs), mostSeen)] {
		if _, ok := s.pointOf(i); !ok {
			continue
		}
		o := sweep.Observation{Point: sweep.Point{}, Value: s.target[i]}
		for k, d := range s.dimensions {
			o.Point[key(k)] = d.place(*d.values[i])
		}
		observed = append(observed, o)
	}
	for range drawn {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		from, _, ok := config.Next(source, 0, observed)
		if !ok {
			break
		}
		p := point{}
		for k, d := range s.dimensions {
			p = append(p, d.value(from[key(k)]))
		}
		add(p)
	}
	return all, nil
}

// pointOf returns the values of a run. ok is false if the space lacks one of them.
func (s *space) pointOf(run int) (p point, ok bool) {
	for _, d := range s.dimensions {
		v := d.values[run]
		if v == nil || d.choices != nil && !slices.Contains(d.choices, *v) {
			return nil, false
		}
		p = append(p, *v)
	}
	return p, true
}

func key(dimension int) string { return "p" + strconv.Itoa(dimension) }

// config returns the configuration of the estimator. A range becomes positions between 0 and 1,
// and a list of choices becomes their indexes.
func (s *space) config() (sweep.Config, error) {
	parameters := map[string]any{}
	for i, d := range s.dimensions {
		if d.choices == nil {
			parameters[key(i)] = map[string]any{"distribution": "uniform", "min": 0, "max": 1}
			continue
		}
		values := make([]int, len(d.choices))
		for k := range values {
			values[k] = k
		}
		parameters[key(i)] = map[string]any{"values": values}
	}
	target := string(goal.Minimize)
	if s.aim == goal.Maximize {
		target = string(goal.Maximize)
	}
	text, err := json.Marshal(map[string]any{"method": "bayes", "metric": map[string]any{"name": "result", "goal": target}, "parameters": parameters})
	if err != nil {
		return sweep.Config{}, err
	}
	return sweep.Parse(string(text))
}
