package importance

import "math/bits"

// maxGroups is the maximum number of groups for the numbers in a column.
const maxGroups = 12

// grouping divides the codes of a column into groups for curves and surfaces. Neighbouring
// intervals of numbers share a group, so that the groups have about the same number of runs.
// Each code that is not a number has its own group.
type grouping struct {
	of      []int     // group of each code
	first   []int     // first code of each group
	numbers int       // number of groups with numbers; these groups come first
	weight  []float64 // fraction of the runs in each group
	code    []float64 // fraction of the runs with each code
	middle  []string  // median value of each group; "" for missing values and rare strings
}

func group(c coding) grouping {
	g := grouping{of: make([]int, len(c.labels)), code: make([]float64, len(c.labels))}
	for _, code := range c.codes {
		g.code[code] += 1 / float64(len(c.codes))
	}
	var total, before float64
	for code := range c.bins {
		total += g.code[code]
	}
	slot := -1
	for code := range c.labels {
		next := slot + 1
		if code < c.bins && c.bins > maxGroups {
			next = int(before / total * maxGroups)
		}
		if before += g.code[code]; next > slot {
			g.first, g.weight = append(g.first, code), append(g.weight, 0)
		}
		slot = next
		n := len(g.first) - 1
		g.of[code] = n
		g.weight[n] += g.code[code]
		if code < c.bins {
			g.numbers = n + 1
		}
	}
	g.middle = make([]string, len(g.first))
	for i, first := range g.first {
		var sum float64
		for code := first; code < len(c.labels) && g.of[code] == i; code++ {
			if sum += g.code[code]; sum >= g.weight[i]/2 {
				g.middle[i] = c.labels[code]
				break
			}
		}
	}
	return g
}

// effects holds a functional analysis of variance of a forest (Hutter, Hoos and Leyton-Brown,
// "An efficient approach for assessing hyperparameter importance", 2014). The predictions of
// the forest are the sum of a mean, an effect of each column, and an interaction of each pair
// of columns. In the paper, all values of a parameter have the same weight. In effects, the
// weight of a value is its fraction of the runs, independent of the other columns.
type effects struct {
	mean float64
	main [][]float64 // difference from the mean, for each column and group
	pair [][]float64 // interaction of each pair, as a matrix: groups of a times groups of b
}

// pair is a pair of column indexes with a < b.
type pair struct{ a, b int }

// effects returns the effects of a forest. It visits each leaf once. It adds the leaf's value,
// times the fraction of the runs that reach the leaf, to the groups that lead to the leaf.
func (f forest) effects(groups []grouping, pairs []pair) effects {
	e := effects{main: make([][]float64, len(groups)), pair: make([][]float64, len(pairs))}
	for c, g := range groups {
		e.main[c] = make([]float64, len(g.weight))
	}
	for p, of := range pairs {
		e.pair[p] = make([]float64, len(groups[of.a].weight)*len(groups[of.b].weight))
	}
	w := walk{effects: &e, groups: groups, pairs: pairs, sets: make([]uint64, len(groups)), part: make([][]float64, len(groups)), scale: 1 / float64(len(f))}
	for c, g := range groups {
		w.sets[c] = 1<<len(g.code) - 1
		w.part[c] = make([]float64, len(g.weight))
	}
	for _, t := range f {
		w.visit(t, 0)
	}
	for c, g := range groups {
		center(e.main[c], g.weight)
	}
	for p, of := range pairs {
		centerPair(e.pair[p], groups[of.a].weight, groups[of.b].weight)
	}
	return e
}

// walk adds the leaves of trees to an effects value.
type walk struct {
	*effects
	groups []grouping
	pairs  []pair
	sets   []uint64    // codes of each column that lead to the current node
	path   []int       // columns by which the nodes above the current node divide the runs
	part   [][]float64 // for each column and group: fraction of the group in sets, divided by the fraction of all runs in sets
	scale  float64
}

func (w *walk) visit(t tree, at int32) {
	n := t[at]
	if n.column < 0 {
		w.leaf(n.value * w.scale)
		return
	}
	all := w.sets[n.column]
	left := n.left
	if n.toLeft {
		left |= ^n.seen
	}
	divided := all != 1<<len(w.groups[n.column].code)-1
	if !divided {
		w.path = append(w.path, n.column)
	}
	w.sets[n.column] = all & left
	w.visit(t, n.first)
	w.sets[n.column] = all &^ left
	w.visit(t, n.first+1)
	w.sets[n.column] = all
	if !divided {
		w.path = w.path[:len(w.path)-1]
	}
}

func (w *walk) leaf(value float64) {
	weight := value
	for _, c := range w.path {
		in, g := 0.0, &w.groups[c]
		clear(w.part[c])
		for set := w.sets[c]; set != 0; set &= set - 1 {
			code := bits.TrailingZeros64(set)
			in += g.code[code]
			w.part[c][g.of[code]] += g.code[code]
		}
		if in == 0 {
			return // no run reaches the leaf
		}
		for i := range w.part[c] {
			w.part[c][i] /= in * g.weight[i]
		}
		weight *= in
	}
	w.mean += weight
	for _, c := range w.path {
		for i, part := range w.part[c] {
			w.main[c][i] += weight * part
		}
	}
	for p, of := range w.pairs {
		if !w.divides(of.a) || !w.divides(of.b) {
			continue
		}
		second := w.part[of.b]
		for i, part := range w.part[of.a] {
			if part == 0 {
				continue
			}
			row := w.pair[p][i*len(second):]
			for j := range second {
				row[j] += weight * part * second[j]
			}
		}
	}
}

func (w *walk) divides(column int) bool {
	return w.sets[column] != 1<<len(w.groups[column].code)-1
}

// center subtracts the weighted mean from each value.
func center(values, weights []float64) {
	var mean float64
	for i, v := range values {
		mean += v * weights[i]
	}
	for i := range values {
		values[i] -= mean
	}
}

// centerPair subtracts the weighted mean of each row and then of each column. a and b hold the
// weights of the rows and columns.
func centerPair(surface, a, b []float64) {
	for i := range a {
		center(surface[i*len(b):][:len(b)], b)
	}
	column := make([]float64, len(a))
	for j := range b {
		for i := range a {
			column[i] = surface[i*len(b)+j]
		}
		center(column, a)
		for i := range a {
			surface[i*len(b)+j] = column[i]
		}
	}
}

// shared returns the weighted mean product of two effects of the same column. x and y come from
// two forests with different runs, so their errors are independent. If the column has no
// effect, the expected product is 0.
func shared(x, y, weights []float64) float64 {
	var sum float64
	for i, w := range weights {
		sum += w * x[i] * y[i]
	}
	return sum
}

func sharedPair(x, y, a, b []float64) float64 {
	var sum float64
	for i, w := range a {
		sum += w * shared(x[i*len(b):], y[i*len(b):], b)
	}
	return sum
}
