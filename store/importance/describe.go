package importance

import (
	"cmp"
	"math"
	"slices"

	"tracker/store/goal"
)

const (
	evident     = 3.0  // minimum share of an interaction, in standard errors
	leastShared = 0.01 // minimum share of an interaction
	mostLevels  = 6    // maximum number of levels for a column of strings
	leastLevel  = 0.05 // minimum fraction of the runs in a level
)

// strongest returns all pairs among the mostPairs columns with the largest shares. It ignores
// columns that are not Known.
func strongest(columns []Estimate) []pair {
	var all []int
	for c, e := range columns {
		if e.Known {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(columns[b].Share, columns[a].Share) })
	all = all[:min(len(all), mostPairs)]
	slices.Sort(all)
	var pairs []pair
	for i, a := range all {
		for _, b := range all[i+1:] {
			pairs = append(pairs, pair{a, b})
		}
	}
	return pairs
}

// describe sets the curves, forms and levels of the columns that are Known. It also sets the
// interactions. sorted holds the results in ascending order.
func (t *table) describe(r *Result, judged []judgement, pairs []pair, sorted []float64) {
	var spread float64
	mean, _ := deviation(t.y)
	for _, y := range t.y {
		spread += (y - mean) * (y - mean) / float64(len(t.y))
	}
	partner := make([]int, len(t.columns)) // for each column: index of the pair with the strongest interaction plus 1, or 0
	type found struct {
		Interaction
		pair int
	}
	var all []found
	for p, of := range pairs {
		shares := make([]float64, splits)
		for i := range shares {
			x, y := judged[2*i].effects.pair[p], judged[2*i+1].effects.pair[p]
			shares[i] = sharedPair(x, y, t.groups[of.a].weight, t.groups[of.b].weight) / spread
		}
		share, sd := deviation(shares)
		if share > leastShared && share > evident*sd {
			all = append(all, found{Interaction{A: r.Columns[of.a].Name, B: r.Columns[of.b].Name, Share: share, Error: sd}, p})
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(b.Share, a.Share) })
	for _, f := range all {
		r.Interactions = append(r.Interactions, f.Interaction)
		for _, c := range []int{pairs[f.pair].a, pairs[f.pair].b} {
			if partner[c] == 0 {
				partner[c] = f.pair + 1
			}
		}
	}
	for c := range r.Columns {
		e := &r.Columns[c]
		if !e.Known {
			continue
		}
		main := make(samples, len(judged))
		for i, j := range judged {
			main[i] = shifted(j.effects.main[c], j.effects.mean)
		}
		e.Form = t.form(c, main)
		e.Curve = t.points(c, main, sorted)
		if tuned := t.tuned(c, judged); tuned != nil {
			e.Form = textForm(tuned, t.groups[c].middle)
			e.Tuned = t.points(c, tuned, sorted)
		}
		if p := partner[c]; p > 0 {
			of := pairs[p-1]
			other := of.a + of.b - c
			e.With = r.Columns[other].Name
			e.Levels = t.levels(c, other, p-1, of, judged, sorted)
			e.Contrast = t.contrast(c, e.Levels)
			if t.columns[c].bins > 0 && !t.agree(e.Levels, e.Form) {
				e.Form = Form{}
			}
		}
	}
}

// form returns the form of a curve of column c. If the column has both numbers and other
// values, form uses only the numbers.
func (t *table) form(c int, curve samples) Form {
	g := t.groups[c]
	if g.numbers == 0 {
		return textForm(curve, g.middle)
	}
	if g.numbers < 3 && g.numbers < len(g.middle) {
		return Form{}
	}
	numbers := make(samples, len(curve))
	for i := range curve {
		numbers[i] = curve[i][:g.numbers]
	}
	return numberForm(numbers, g.middle)
}

// tuned returns the tuned results of column c by group. It returns nil if the column has
// numbers or the goal is unknown.
func (t *table) tuned(c int, judged []judgement) samples {
	if t.aim == "" || t.columns[c].bins > 0 {
		return nil
	}
	var all samples
	for _, j := range judged {
		all = append(all, j.tuned[c]) // in a column of strings, each code is a group
	}
	return all
}

// points returns the points of a curve of column c, in the units of the results.
func (t *table) points(c int, curve samples, sorted []float64) []Point {
	g := t.groups[c]
	all := make([]Point, len(g.middle))
	for i := range all {
		values := make([]float64, len(curve))
		for k := range curve {
			values[k] = curve[k][i]
		}
		mean, sd := deviation(values)
		all[i] = Point{Value: g.middle[i], Runs: int(math.Round(g.weight[i] * float64(len(t.y)))),
			Mean: atRank(sorted, mean), Low: atRank(sorted, mean-quantile*sd), High: atRank(sorted, mean+quantile*sd)}
	}
	return all
}

// levels returns a curve of column c for each level of column other. A level is one string, or
// the lowest, middle or highest third of the numbers.
func (t *table) levels(c, other, p int, of pair, judged []judgement, sorted []float64) []Level {
	g := t.groups[other]
	var all [][]int // groups of each level
	for i, label := range g.middle {
		switch {
		case i >= g.numbers:
			if label != "" && g.weight[i] >= leastLevel && len(all) < mostLevels {
				all = append(all, []int{i})
			}
		case g.numbers <= 3:
			all = append(all, []int{i})
		case i == 0 || i == (g.numbers+2)/3 || i == (2*g.numbers+2)/3:
			all = append(all, []int{i})
		default:
			all[len(all)-1] = append(all[len(all)-1], i)
		}
	}
	var levels []Level
	for _, groups := range all {
		var weight float64
		for _, i := range groups {
			weight += g.weight[i]
		}
		curve := make(samples, len(judged))
		for k, j := range judged {
			curve[k] = shifted(j.effects.main[c], j.effects.mean)
			for _, i := range groups {
				for own := range curve[k] {
					at := own*len(g.weight) + i
					if of.a == other {
						at = i*len(t.groups[c].weight) + own
					}
					curve[k][own] += (j.effects.main[other][i] + j.effects.pair[p][at]) * g.weight[i] / weight
				}
			}
		}
		levels = append(levels, Level{From: g.middle[groups[0]], To: g.middle[groups[len(groups)-1]],
			Form: t.form(c, curve), Curve: t.points(c, curve, sorted), best: t.centers(c, curve)})
	}
	return levels
}

// agree reports whether all levels agree with form. They agree if their shape is the same and not
// Uneven, and if their optima overlap.
func (t *table) agree(levels []Level, form Form) bool {
	if form.Shape == Uneven {
		return false
	}
	for _, l := range levels {
		if l.Shape != form.Shape ||
			t.aim != goal.Maximize && l.Min.apart(form.Min) || t.aim != goal.Minimize && l.Max.apart(form.Max) {
			return false
		}
	}
	return true
}

// shifted returns a copy of values with shift added to each value.
func shifted(values []float64, shift float64) []float64 {
	out := slices.Clone(values)
	for i := range out {
		out[i] += shift
	}
	return out
}

// atRank returns the result at a rank between 0 and 1. It interpolates between two results.
func atRank(sorted []float64, rank float64) float64 {
	at := max(0, min(1, rank)) * float64(len(sorted)-1)
	low := int(at)
	if low+1 == len(sorted) || sorted[low] == sorted[low+1] {
		return sorted[low]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}
