package patch

import "slices"

const (
	// maxEdits is the maximum number of removed and added lines in a part of a file that are
	// aligned. The memory use grows with the square of this number.
	maxEdits = 600
	// maxSteps is the maximum number of steps for all parts of all files.
	maxSteps = 4_000_000
)

// comparer compares parts of files in a limited number of steps.
type comparer struct{ steps int }

func newComparer() *comparer { return &comparer{steps: maxSteps} }

// compare returns the lines of a and b as a difference. firstA and firstB are the numbers of the
// first lines. It finds the smallest number of edits with the greedy algorithm by Myers ("An
// O(ND) Difference Algorithm and Its Variations", 1986). If there are more than maxEdits edits or
// no steps are left, all lines from the first to the last difference are removed and added.
func (c *comparer) compare(a, b []string, firstA, firstB int) []Line {
	lines := make([]Line, 0, max(len(a), len(b)))
	i, j := 0, 0
	emit := func(kind Kind) {
		switch kind {
		case Same:
			lines = append(lines, Line{Same, b[j], firstA + i, firstB + j})
			i, j = i+1, j+1
		case Removed:
			lines = append(lines, Line{Removed, a[i], firstA + i, 0})
			i++
		case Added:
			lines = append(lines, Line{Added, b[j], 0, firstB + j})
			j++
		}
	}
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	for range head {
		emit(Same)
	}
	for _, kind := range c.edits(a[head:len(a)-tail], b[head:len(b)-tail]) {
		emit(kind)
	}
	for range tail {
		emit(Same)
	}
	return removedFirst(lines)
}

// edits returns the kinds of the lines of a difference between a and b.
func (c *comparer) edits(a, b []string) []Kind {
	most := min(maxEdits, len(a)+len(b))
	var steps [][]int                // farthest position in a by diagonal, before each edit
	reached := make([]int, 2*most+3) // the same for the next edit
	middle := most + 1               // index of diagonal 0
	for d := 0; d <= most; d++ {
		if c.steps -= d + 1; c.steps < 0 {
			break
		}
		steps = append(steps, slices.Clone(reached[middle-d-1:middle+d+2]))
		for k := -d; k <= d; k += 2 {
			var x int
			if k == -d || k != d && reached[middle+k-1] < reached[middle+k+1] {
				x = reached[middle+k+1]
			} else {
				x = reached[middle+k-1] + 1
			}
			y := x - k
			for x < len(a) && y < len(b) && a[x] == b[y] {
				x, y = x+1, y+1
			}
			if reached[middle+k] = x; x >= len(a) && y >= len(b) {
				return walkBack(steps, len(a), len(b))
			}
		}
	}
	all := make([]Kind, 0, len(a)+len(b))
	for range a {
		all = append(all, Removed)
	}
	for range b {
		all = append(all, Added)
	}
	return all
}

// walkBack returns the path through steps from the start to the position (x, y).
func walkBack(steps [][]int, x, y int) []Kind {
	var all []Kind
	for d := len(steps) - 1; d >= 0; d-- {
		at := func(k int) int { return steps[d][k+d+1] }
		k := x - y
		previous := k - 1
		if k == -d || k != d && at(k-1) < at(k+1) {
			previous = k + 1
		}
		px := at(previous)
		py := px - previous
		if d == 0 {
			px, py = 0, 0
		}
		for x > px && y > py {
			all = append(all, Same)
			x, y = x-1, y-1
		}
		switch {
		case d == 0:
		case x > px:
			all = append(all, Removed)
		default:
			all = append(all, Added)
		}
		x, y = px, py
	}
	slices.Reverse(all)
	return all
}

// removedFirst sorts each sequence of changed lines so that removed lines come before added
// lines.
func removedFirst(lines []Line) []Line {
	for at := 0; at < len(lines); {
		if lines[at].Kind == Same {
			at++
			continue
		}
		var removed, added []Line
		from := at
		for ; at < len(lines) && lines[at].Kind != Same; at++ {
			if lines[at].Kind == Removed {
				removed = append(removed, lines[at])
			} else {
				added = append(added, lines[at])
			}
		}
		copy(lines[from:], removed)
		copy(lines[from+len(removed):], added)
	}
	return lines
}
