package lineage_test

import (
	"testing"

	"tracker/ui/lineage"
)

// In a graph without cycles, every arrow leads to the right, and no two boxes overlap.
func TestArrange(t *testing.T) {
	for name, edges := range map[string][][2]int{
		"chain":      {{0, 1}, {1, 2}, {2, 3}},
		"long edge":  {{0, 1}, {1, 2}, {2, 3}, {0, 3}},
		"late input": {{0, 1}, {1, 2}, {2, 3}, {4, 3}},
		"fan":        {{0, 1}, {0, 2}, {0, 3}, {1, 4}, {2, 4}, {3, 4}},
		"nothing":    {},
	} {
		const n = 6
		l := lineage.Arrange(n, edges)
		seen := map[lineage.Point]bool{}
		for i, p := range l.Boxes {
			if seen[p] || p.X < 0 || p.Y < 0 || p.X+lineage.Width > l.Width || p.Y+lineage.Height > l.Height {
				t.Errorf("%s: box %d is at %v of %d×%d", name, i, p, l.Width, l.Height)
			}
			seen[p] = true
		}
		for i, a := range l.Arrows {
			from, to := l.Boxes[edges[i][0]], l.Boxes[edges[i][1]]
			first, last := a[0], a[len(a)-1]
			if first != (lineage.Point{from.X + lineage.Width, from.Y + lineage.Height/2}) || last != (lineage.Point{to.X, to.Y + lineage.Height/2}) {
				t.Errorf("%s: arrow %d leads from %v to %v", name, i, first, last)
			}
			for j := 1; j < len(a); j++ {
				if a[j].X <= a[j-1].X {
					t.Errorf("%s: arrow %d leads to the left: %v", name, i, a)
				}
			}
		}
	}
	if l := lineage.Arrange(5, [][2]int{{0, 1}, {1, 2}, {2, 3}, {4, 3}}); l.Boxes[4].X != l.Boxes[2].X {
		t.Errorf("an input of the last node is at %v, far from the node at %v", l.Boxes[4], l.Boxes[3])
	}
}

// The arrows of two parallel chains do not cross, in whatever order the nodes are given.
func TestArrangeAvoidsCrossings(t *testing.T) {
	edges := [][2]int{{0, 3}, {1, 2}, {2, 5}, {3, 4}}
	l := lineage.Arrange(6, edges)
	isAbove := l.Boxes[0].Y < l.Boxes[1].Y
	for _, pair := range [][2]int{{3, 2}, {4, 5}} {
		if (l.Boxes[pair[0]].Y < l.Boxes[pair[1]].Y) != isAbove {
			t.Errorf("the chains cross: %v", l.Boxes)
		}
	}
}

// Edges that form a cycle have a layout.
func TestArrangeCycle(t *testing.T) {
	l := lineage.Arrange(3, [][2]int{{0, 1}, {1, 2}, {2, 0}, {1, 1}})
	if len(l.Boxes) != 3 || len(l.Arrows) != 4 || l.Boxes[0].X >= l.Boxes[1].X {
		t.Errorf("the layout is %+v", l)
	}
}
