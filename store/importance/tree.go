package importance

import (
	"cmp"
	"math/bits"
	"math/rand/v2"
	"slices"
)

const (
	minLeaf  = 3  // minimum number of runs in a leaf
	maxDepth = 14 // maximum depth of a tree, in divisions
)

// tree is a list of nodes. The root is the first node.
type tree []node

// node is a leaf, or divides the runs by one column.
type node struct {
	column int    // index of the column; -1 for a leaf
	left   uint64 // set of codes for the left child
	seen   uint64 // set of all intervals, plus the other codes in the node's sample
	first  int32  // index of the left child; the right child is the next node
	value  float64
	toLeft bool // set if codes outside seen belong to the left child
}

type forest []tree

// predict returns the tree's prediction for a run. It uses code instead of the run's own code in
// the given column; column -1 replaces no code. predict adds the columns of all visited nodes to
// used.
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

// predictions holds the predictions of a forest and its trees for a run. The slices of and used
// have an element for each tree.
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

// with returns the mean prediction for the run with another code in one column.
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

// columnSet is a set of column indexes, stored as bits.
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

// grow returns a tree for a bootstrap sample of runs. The sample has len(runs) runs, drawn with
// replacement. Each node chooses its column from a random half of the columns.
func grow(random *rand.Rand, y []float64, columns []coding, runs []int) tree {
	sample := make([]int, len(runs))
	for i := range sample {
		sample[i] = runs[random.IntN(len(runs))]
	}
	return growOn(random, y, columns, sample)
}

// growOn returns a tree for a sample of runs. It sorts the sample.
func growOn(random *rand.Rand, y []float64, columns []coding, sample []int) tree {
	g := growth{random: random, y: y, columns: columns, order: make([]int, len(columns))}
	for i := range g.order {
		g.order[i] = i
	}
	g.tree = append(g.tree, node{})
	g.divide(0, sample, 0)
	return g.tree
}

// growth holds a tree while grow builds the tree.
type growth struct {
	random  *rand.Rand
	y       []float64
	columns []coding
	order   []int // column indexes, shuffled for each node
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
		// Columns that can't divide the sample do not count as tries.
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

// division divides the codes of a column into a left and a right set.
type division struct {
	column     int
	left, seen uint64
	gain       float64
}

// part holds the count and the result sum of the runs with one code.
type part struct {
	code uint8
	n    float64
	sum  float64
}

// bestDivision returns the column's division with the smallest squared error. ok is false if no
// division leaves minLeaf runs on both sides.
//
// A column with only numbers is divided at a threshold. A column without numbers is divided in
// the order of the mean results of its codes. This order includes the best of all divisions
// (Fisher, "On grouping for maximum homogeneity", 1958).
//
// A column with numbers and other values has two kinds of divisions. In the first kind, a
// threshold divides the numbers, and all other values are on one side. In the second kind, one
// string or the missing values are on one side, and all other values are on the opposite side.
func bestDivision(c coding, y []float64, sample []int) (best division, ok bool) {
	var parts [64]part // only the parts of the codes in present are set
	var present uint64
	var total part
	for _, run := range sample {
		code := c.codes[run]
		p := &parts[code]
		if present>>code&1 == 0 {
			present |= 1 << code
			*p = part{code: code}
		}
		p.n++
		p.sum += y[run]
		total.n++
		total.sum += y[run]
	}
	whole := total.sum * total.sum / total.n
	try := func(left part, mask uint64) {
		right := part{n: total.n - left.n, sum: total.sum - left.sum}
		if left.n < minLeaf || right.n < minLeaf {
			return
		}
		gain := left.sum*left.sum/left.n + right.sum*right.sum/right.n - whole
		if ok = true; gain > best.gain {
			best.gain, best.left = gain, mask
		}
	}
	intervals := uint64(1)<<c.bins - 1
	numbers, others := present&intervals, present&^intervals
	best.seen = present | intervals
	// A threshold is halfway between two neighbouring numbers in the sample.
	thresholds := func(start part, mask uint64) {
		before := -1
		for rest := numbers; rest != 0; rest &= rest - 1 {
			code := bits.TrailingZeros64(rest)
			if before >= 0 {
				try(start, mask|(2<<((before+code)/2)-1))
			}
			start.n, start.sum, before = start.n+parts[code].n, start.sum+parts[code].sum, code
		}
		try(start, mask|intervals)
	}
	thresholds(part{}, 0)
	if others == 0 {
		return best, ok
	}
	var texts []part
	var all part
	for rest := others; rest != 0; rest &= rest - 1 {
		p := parts[bits.TrailingZeros64(rest)]
		all.n, all.sum, texts = all.n+p.n, all.sum+p.sum, append(texts, p)
	}
	if c.bins > 0 {
		for _, p := range texts {
			try(p, 1<<p.code)
		}
		thresholds(all, others)
		return best, ok
	}
	slices.SortFunc(texts, func(a, b part) int { return cmp.Or(cmp.Compare(a.sum/a.n, b.sum/b.n), cmp.Compare(a.code, b.code)) })
	var left part
	var mask uint64
	for _, p := range texts {
		left.n, left.sum, mask = left.n+p.n, left.sum+p.sum, mask|1<<p.code
		try(left, mask)
	}
	return best, ok
}
