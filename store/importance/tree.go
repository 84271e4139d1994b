package importance

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

const (
	minLeaf  = 3  // runs
	maxDepth = 14 // divisions from the root to a leaf
)

// tree is a list of nodes, the root first.
type tree []node

// node divides the runs by one column, or is a leaf.
type node struct {
	column int    // -1 for a leaf
	left   uint64 // a bit for each code that goes to the left
	seen   uint64 // codes that the node was made of
	first  int32  // node of those on the left; those on the right are at the next place
	value  float64
	toLeft bool // where codes go that were not seen
}

type forest []tree

// predict returns the prediction of a tree for a run that has code in column, and adds
// the columns that it has used to used. With column -1 the run has its own codes.
func (t tree) predict(columns []coding, run, column int, code uint8, used *columnSet) float64 {
	at := int32(0)
	for t[at].column >= 0 {
		n := &t[at]
		c := code
		if n.column != column {
			c = columns[n.column].codes[run]
		}
		used.add(n.column)
		at = n.next(c)
	}
	return t[at].value
}

// predictions holds the prediction of a forest for a run, and those of its
// trees.
type predictions struct {
	mean float64
	of   []float64
	used []columnSet
}

func (f forest) predict(columns []coding, run int) predictions {
	p := predictions{of: make([]float64, len(f)), used: make([]columnSet, len(f))}
	for i, t := range f {
		p.of[i] = t.predict(columns, run, -1, 0, &p.used[i])
		p.mean += p.of[i] / float64(len(f))
	}
	return p
}

// with returns the mean prediction for the same run with another code in one column.
func (p predictions) with(f forest, columns []coding, run, column int, code uint8) float64 {
	mean := p.mean
	var used columnSet
	for i, t := range f {
		if p.used[i].has(column) {
			mean += (t.predict(columns, run, column, code, &used) - p.of[i]) / float64(len(f))
		}
	}
	return mean
}

// columnSet is a set of columns.
type columnSet [(MaxColumns + 63) / 64]uint64

func (s *columnSet) add(column int)      { s[column/64] |= 1 << (column % 64) }
func (s *columnSet) has(column int) bool { return s[column/64]>>(column%64)&1 == 1 }

func (n *node) next(code uint8) int32 {
	left := n.left>>code&1 == 1
	if n.seen>>code&1 == 0 {
		left = n.toLeft
	}
	if left {
		return n.first
	}
	return n.first + 1
}

// grow makes a tree from a sample of these runs, of the same size and drawn with
// replacement. A node chooses among a random half of the columns.
func grow(random *rand.Rand, y []float64, columns []coding, runs []int) tree {
	sample := make([]int, len(runs))
	for i := range sample {
		sample[i] = runs[random.IntN(len(runs))]
	}
	g := growth{random: random, y: y, columns: columns, order: make([]int, len(columns))}
	for i := range g.order {
		g.order[i] = i
	}
	g.tree = append(g.tree, node{})
	g.divide(0, sample, 0)
	return g.tree
}

// growth is a tree that is being made.
type growth struct {
	random  *rand.Rand
	y       []float64
	columns []coding
	order   []int // of the columns, shuffled for each node
	tree    tree
}

func (g *growth) divide(at int32, sample []int, depth int) {
	var sum float64
	for _, run := range sample {
		sum += g.y[run]
	}
	g.tree[at] = node{column: -1, value: sum / float64(len(sample))}
	if len(sample) < 2*minLeaf || depth == maxDepth {
		return
	}
	best := division{}
	tries := (len(g.order) + 1) / 2
	for i := range g.order {
		// Columns that can't divide these runs do not count as tried.
		k := i + g.random.IntN(len(g.order)-i)
		g.order[i], g.order[k] = g.order[k], g.order[i]
		d, ok := bestDivision(g.columns[g.order[i]], g.y, sample)
		if !ok {
			continue
		}
		if d.gain > best.gain {
			best, best.column = d, g.order[i]
		}
		if tries--; tries == 0 {
			break
		}
	}
	if best.gain <= 1e-12 {
		return
	}
	codes := g.columns[best.column].codes
	isLeft := func(run int) bool { return best.left>>codes[run]&1 == 1 }
	middle := 0
	for i, run := range sample {
		if isLeft(run) {
			sample[i], sample[middle] = sample[middle], run
			middle++
		}
	}
	first := int32(len(g.tree))
	g.tree = append(g.tree, node{}, node{})
	g.tree[at] = node{column: best.column, left: best.left, seen: best.seen, first: first, toLeft: middle*2 >= len(sample)}
	g.divide(first, sample[:middle], depth+1)
	g.divide(first+1, sample[middle:], depth+1)
}

// division divides codes into those on the left and the others.
type division struct {
	column     int
	left, seen uint64
	gain       float64
}

// part holds the runs of one code.
type part struct {
	code uint8
	n    float64
	sum  float64
}

// bestDivision returns the division of a column that leaves the least squared error. Numbers are
// divided at a threshold. Texts and missing values are ordered by their means, which has the best
// division among all of texts alone (Fisher, "On grouping for maximum homogeneity", 1958); beside
// numbers all of them go to one side, or one of them is separated from all others. ok is false
// when no division leaves enough runs on both sides.
func bestDivision(c coding, y []float64, sample []int) (best division, ok bool) {
	var parts [64]part
	var total part
	for _, run := range sample {
		p := &parts[c.codes[run]]
		p.n++
		p.sum += y[run]
		total.n++
		total.sum += y[run]
	}
	for code := range c.labels {
		if parts[code].n > 0 {
			best.seen |= 1 << code
		}
		parts[code].code = uint8(code)
	}
	try := func(left part, mask uint64) {
		right := part{n: total.n - left.n, sum: total.sum - left.sum}
		if left.n < minLeaf || right.n < minLeaf {
			return
		}
		gain := left.sum*left.sum/left.n + right.sum*right.sum/right.n - total.sum*total.sum/total.n
		if ok = true; gain > best.gain {
			best.gain, best.left = gain, mask
		}
	}
	scan := func(start part, mask uint64, order []part) {
		for _, p := range order {
			start.n, start.sum, mask = start.n+p.n, start.sum+p.sum, mask|1<<p.code
			try(start, mask)
		}
	}
	numbers, others := parts[:c.bins], parts[c.bins:len(c.labels)]
	// A threshold is in the middle of numbers that these runs do not have.
	thresholds := func(start part, mask uint64) {
		before := -1
		for code, p := range numbers {
			if p.n == 0 {
				continue
			}
			if before >= 0 {
				try(start, mask|(2<<((before+code)/2)-1))
			}
			start.n, start.sum, before = start.n+p.n, start.sum+p.sum, code
		}
		try(start, mask|(1<<c.bins-1))
	}
	best.seen |= 1<<c.bins - 1
	thresholds(part{}, 0)
	if len(others) == 0 {
		return best, ok
	}
	if c.bins > 0 {
		var all part
		var mask uint64
		for _, p := range others {
			all.n, all.sum, mask = all.n+p.n, all.sum+p.sum, mask|1<<p.code
			if p.n > 0 {
				try(p, 1<<p.code)
			}
		}
		if all.n > 0 {
			thresholds(all, mask)
		}
		return best, ok
	}
	present := slices.DeleteFunc(slices.Clone(others), func(p part) bool { return p.n == 0 })
	slices.SortFunc(present, func(a, b part) int { return cmp.Or(cmp.Compare(a.sum/a.n, b.sum/b.n), cmp.Compare(a.code, b.code)) })
	scan(part{}, 0, present)
	return best, ok
}
