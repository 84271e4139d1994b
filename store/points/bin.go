package points

import (
	"math"
	"math/bits"
	"slices"
)

// bins divide a range of a curve's axis. Their edges depend only on the range and
// the number of bins, so the same query always has the same bins, whatever rollups
// there are.
type bins struct {
	n     int
	from  int64 // the ends of the range, included
	to    int64
	width uint64   // width of linear bins, in the space of unsigned; 0 for logarithmic ones
	edges []uint64 // where each bin but the first begins, in order
}

// binRun is a run of adjacent bins. All their edges except the ends of the whole
// range are multiples of 2^align.
type binRun struct {
	from, to int64
	align    int
}

// unsigned maps x to a uint64 in the same order, so that differences do not
// overflow. Multiples of a power of two stay multiples of it.
func unsigned(x int64) uint64 { return uint64(x) ^ 1<<63 }

func signed(x uint64) int64 { return int64(x ^ 1<<63) }

// newBins divides the range from first to last into at most n bins.
func newBins(first, last int64, n int, scale Scale) bins {
	b := bins{n: n, from: first, to: last}
	switch {
	case n == 1 || first == last:
		b.n = 1
	case scale == Log:
		b.edges = logEdges(first, last, n)
		b.n = len(b.edges) + 1
	default:
		low, high := unsigned(first), unsigned(last)
		b.width = roundWidth((high-low)/uint64(n) + 1)
		for high/b.width-low/b.width >= uint64(n) {
			b.width = roundWidth(b.width + 1)
		}
	}
	return b
}

// roundWidth rounds w up, by half at most, to a number whose binary digits after
// the first two are zeros. Bins of such a width begin at multiples of it. They
// consist of whole rollups, and stay in place when a curve grows a little.
func roundWidth(w uint64) uint64 {
	digits := max(0, bits.Len64(w)-2)
	return (w + 1<<digits - 1) >> digits << digits
}

// logEdges divides a range into bins that grow by the same factor, rounded to whole
// steps. The first bin has all values up to 1.
func logEdges(first, last int64, n int) []uint64 {
	floor := math.Log(math.Max(1, float64(first)))
	width := (math.Log(math.Max(1, float64(last))) - floor) / float64(n)
	var edges []uint64
	before := max(first, 1)
	for i := 1; i < n; i++ {
		x := math.Exp(floor + float64(i)*width)
		if x >= float64(last) {
			break
		}
		// The edge is rounded to the precision of the bin's width, like the edges of linear bins.
		digits := max(0, bits.Len64(uint64(int64(x)-before))-3)
		edge := int64(x) >> digits << digits
		if edge > before {
			edges, before = append(edges, unsigned(edge)), edge
		}
	}
	return edges
}

// of returns the index of the bin that contains x, which must be in the range.
func (b *bins) of(x int64) int {
	switch {
	case b.n == 1:
		return 0
	case b.edges == nil:
		return int(unsigned(x)/b.width - unsigned(b.from)/b.width)
	}
	i, found := slices.BinarySearch(b.edges, unsigned(x))
	if found {
		i++
	}
	return i
}

// runs splits the range into runs that can be read with cells of one width.
func (b *bins) runs() []binRun {
	switch {
	case b.n == 1:
		return []binRun{{b.from, b.to, 63}}
	case b.edges == nil:
		return []binRun{{b.from, b.to, bits.TrailingZeros64(b.width)}}
	}
	var all []binRun
	low := unsigned(b.from)
	for i := 0; i <= len(b.edges); i++ {
		end, align := unsigned(b.to), 63
		if i > 0 {
			align = bits.TrailingZeros64(low)
		}
		if i < len(b.edges) {
			end = b.edges[i] - 1
			align = min(align, bits.TrailingZeros64(b.edges[i]))
		}
		if n := len(all); n > 0 && all[n-1].align/rowShift == align/rowShift {
			all[n-1].to, all[n-1].align = signed(end), min(all[n-1].align, align)
		} else {
			all = append(all, binRun{signed(low), signed(end), align})
		}
		low = end + 1
	}
	return all
}
