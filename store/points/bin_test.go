package points

import (
	"math"
	"testing"
)

// Bins cover their range without a gap, there are at most as many as requested, and no cell that
// fits their runs crosses an edge.
func TestBins(t *testing.T) {
	for _, c := range [][2]int64{{0, 1}, {0, 999}, {-7, 7}, {5, 1_000_003}, {math.MinInt64, math.MaxInt64},
		{math.MaxInt64 - 3, math.MaxInt64}, {-1 << 40, -1 << 20}, {1, 1 << 62}} {
		for _, n := range []int{1, 2, 3, 10, 299, 999} {
			for _, scale := range []Scale{Linear, Log} {
				b := newBins(c[0], c[1], n, scale)
				if b.n > n || b.of(c[0]) != 0 || b.of(c[1]) >= b.n {
					t.Fatalf("%v in %d %s: %d bins, the ends are in %d and %d", c, n, scale, b.n, b.of(c[0]), b.of(c[1]))
				}
				at := c[0]
				for i, r := range b.runs() {
					if r.from != at || r.to < r.from {
						t.Fatalf("%v in %d %s: run %d is from %d to %d, want it from %d", c, n, scale, i, r.from, r.to, at)
					}
					at = r.to + 1
					checkRun(t, b, r)
				}
				if at != c[1]+1 {
					t.Fatalf("%v in %d %s: the runs end at %d", c, n, scale, at-1)
				}
			}
		}
	}
}

// TestBinsOfWholeCells checks the width of the cells that a curve can use. Cells of 16 points
// need bins of at least 25 points, and cells of 32 points need bins of at least 49. A series has
// cells of 32 points if its first requests arrived out of order.
func TestBinsOfWholeCells(t *testing.T) {
	const points = 100_000
	for n := 1; n < points/25; n++ {
		least := 4
		if n < points/49 {
			least = 5
		}
		b := newBins(0, points-1, n, Linear)
		for _, r := range b.runs() {
			if r.align < least {
				t.Fatalf("%d bins of %d points begin at multiples of 2^%d", n, points, r.align)
			}
		}
	}
	if b := newBins(0, points-1, 500, Linear); b.of(points-1) < 500*2/3-1 {
		t.Errorf("500 bins became %d", b.of(points-1)+1)
	}
}

// checkRun checks that all steps in a cell of 2^align steps are in the same bin.
func checkRun(t *testing.T, b bins, r binRun) {
	t.Helper()
	if r.align > 61 {
		return
	}
	span := uint64(r.to) - uint64(r.from)
	for i := range uint64(200) {
		x := int64(uint64(r.from) + span/200*i)
		first := max(x>>r.align<<r.align, r.from)
		last := min(x|(1<<r.align-1), r.to)
		if b.of(first) != b.of(last) {
			t.Fatalf("%d and %d are in one cell of 2^%d, and in the bins %d and %d", first, last, r.align, b.of(first), b.of(last))
		}
	}
}
