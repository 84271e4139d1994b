// Package lineage computes the positions of the boxes and arrows of a lineage graph. The method is
// by Sugiyama, Tagawa and Toda, "Methods for Visual Understanding of Hierarchical System
// Structures", IEEE Transactions on Systems, Man, and Cybernetics 11 (1981): records are put into
// layers, so that arrows lead to the right, and the records of each layer are sorted by the mean
// positions of their neighbours, so that few arrows cross.
package lineage

import (
	"cmp"
	"slices"
)

// The sizes of a picture in pixels.
const (
	Width  = 200 // width of a box
	Height = 44  // height of a box
	gapX   = 56
	gapY   = 16
	margin = 8
)

// sweeps is the number of times that the layers are sorted. More sweeps hardly change the order.
const sweeps = 12

// Point is a position in a picture.
type Point struct{ X, Y int }

// Layout is a picture of a graph.
type Layout struct {
	Width, Height int
	Boxes         []Point   // top left corner of each node
	Arrows        [][]Point // points of each edge, from the right side of a box to the left side of another
}

// vertex is a node, or a point at which an edge passes through a layer.
type vertex struct {
	layer  int
	place  float64 // position in the layer, during sorting the mean position of the neighbours
	row    int
	before []int
	after  []int
}

// Arrange returns the layout of a graph with n nodes. An edge is a pair of node numbers. If edges
// form a cycle, one of them leads to the left.
func Arrange(n int, edges [][2]int) Layout {
	layers := layersOf(n, edges)
	all := make([]vertex, n)
	for i := range all {
		all[i].layer = layers[i]
	}
	chains := make([][]int, len(edges))
	for i, e := range edges {
		chains[i] = chain(&all, e)
	}
	rows := sorted(all)
	tallest := 0
	for _, r := range rows {
		tallest = max(tallest, len(r))
	}
	l := Layout{Width: 2*margin + len(rows)*(Width+gapX) - gapX, Height: 2*margin + tallest*(Height+gapY) - gapY}
	at := func(v int) Point {
		free := (tallest - len(rows[all[v].layer])) * (Height + gapY) / 2
		return Point{margin + all[v].layer*(Width+gapX), margin + free + all[v].row*(Height+gapY)}
	}
	for i := range n {
		l.Boxes = append(l.Boxes, at(i))
	}
	for _, c := range chains {
		var points []Point
		for i, v := range c {
			p := at(v)
			p.Y += Height / 2
			if i > 0 {
				points = append(points, p)
			}
			if i < len(c)-1 {
				points = append(points, Point{p.X + Width, p.Y})
			}
		}
		l.Arrows = append(l.Arrows, points)
	}
	return l
}

// layersOf returns the layer of each node: the length of the longest path to the node. Edges that
// close a cycle are ignored. A node without predecessors is moved next to its nearest successor.
func layersOf(n int, edges [][2]int) []int {
	after, before := make([][]int, n), make([]int, n)
	for _, e := range edges {
		if e[0] != e[1] {
			after[e[0]] = append(after[e[0]], e[1])
		}
	}
	order, isOpen, isDone := make([]int, 0, n), make([]bool, n), make([]bool, n)
	var visit func(int)
	visit = func(v int) {
		isOpen[v] = true
		after[v] = slices.DeleteFunc(after[v], func(w int) bool {
			if !isOpen[w] && !isDone[w] {
				visit(w)
			}
			return isOpen[w] // the edge closes a cycle
		})
		isOpen[v], isDone[v] = false, true
		order = append(order, v)
	}
	for v := range n {
		if !isDone[v] {
			visit(v)
		}
	}
	slices.Reverse(order)
	layers := make([]int, n)
	for _, v := range order {
		for _, w := range after[v] {
			before[w]++
			layers[w] = max(layers[w], layers[v]+1)
		}
	}
	for _, v := range order {
		if before[v] > 0 || len(after[v]) == 0 {
			continue
		}
		nearest := n
		for _, w := range after[v] {
			nearest = min(nearest, layers[w])
		}
		layers[v] = nearest - 1
	}
	return layers
}

// chain returns the vertices of an edge. It adds a vertex for each layer between the nodes.
func chain(all *[]vertex, e [2]int) []int {
	c := []int{e[0]}
	for layer := (*all)[e[0]].layer + 1; layer < (*all)[e[1]].layer; layer++ {
		*all = append(*all, vertex{layer: layer})
		c = append(c, len(*all)-1)
	}
	c = append(c, e[1])
	for i := 1; i < len(c); i++ {
		(*all)[c[i-1]].after = append((*all)[c[i-1]].after, c[i])
		(*all)[c[i]].before = append((*all)[c[i]].before, c[i-1])
	}
	return c
}

// sorted sorts the vertices of each layer by the mean position of their neighbours in the previous
// layer and, in every other sweep, in the next layer. It sets the rows of the vertices.
func sorted(all []vertex) [][]int {
	var layers [][]int
	for v := range all {
		for len(layers) <= all[v].layer {
			layers = append(layers, nil)
		}
		layers[all[v].layer] = append(layers[all[v].layer], v)
		all[v].row = len(layers[all[v].layer]) - 1
	}
	for sweep := range sweeps {
		for i := range layers {
			layer := layers[i]
			if sweep%2 == 1 {
				layer = layers[len(layers)-1-i]
			}
			for _, v := range layer {
				near := all[v].before
				if sweep%2 == 1 {
					near = all[v].after
				}
				// Distances from the middle compare layers of different heights.
				all[v].place = middle(all, layers, v)
				if len(near) > 0 {
					all[v].place = 0
					for _, w := range near {
						all[v].place += middle(all, layers, w) / float64(len(near))
					}
				}
			}
			slices.SortStableFunc(layer, func(a, b int) int { return cmp.Compare(all[a].place, all[b].place) })
			for row, v := range layer {
				all[v].row = row
			}
		}
	}
	return layers
}

// middle returns the distance of a vertex from the middle of its layer.
func middle(all []vertex, layers [][]int, v int) float64 {
	return float64(all[v].row) - float64(len(layers[all[v].layer])-1)/2
}
