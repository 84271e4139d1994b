package points

import (
	"math"
	"math/bits"
	"slices"
)

// bins divide a range of a curve's axis. The bin edges depend only on the range and the number of
// bins, so a query has the same bins with and without rollups.
type bins struct {
	n     int
	from  int64 // first value of the range; to is the last value
	to    int64
	width uint64   // width of linear bins, as a difference of unsigned values; 0 for logarithmic bins
	edges []uint64 // sorted lower edges of all bins except the first
}

// binRun is a sequence of adjacent bins. All edges inside the sequence are multiples of
// 2^align.
type binRun struct {
	from, to int64
	align    int
}

// unsigned maps x to a uint64 and preserves the order. Differences of the results do not
// overflow. Multiples of a power of two stay multiples of that power.
func unsigned(x int64) uint64 { return uint64(x) ^ 1<<63 }

func signed(x uint64) int64 { return int64(x ^ 1<<63) }

// newBins divides the range from first to last into at most n bins. Both ends belong to the
// range.
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

// roundWidth rounds w up to a number with at most two significant binary digits. The result is at
// most 1.5 times w. Bins of a rounded width begin at multiples of this width, consist of whole
// rollup cells, and stay in place when a curve grows a little.
func roundWidth(w uint64) uint64 {
	digits := max(0, bits.Len64(w)-2)
	return (w + 1<<digits - 1) >> digits << digits
}

// logEdges divides a range into bins whose edges grow by a constant factor, rounded to whole
// steps. The first bin contains all values up to 1.
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
		// An edge is rounded to the precision of the bin's width, as for linear bins.
		digits := max(0, bits.Len64(uint64(int64(x)-before))-3)
		edge := int64(x) >> digits << digits
		if edge > before {
			edges, before = append(edges, unsigned(edge)), edge
		}
	}
	return edges
}

// of returns the index of the bin that contains x. The range must contain x.
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

// runs groups the bins into runs. Cells of a single width can fill all bins of a run.
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
