package chart

import (
	"math"
	"strconv"

	"github.com/dustin/go-humanize"

	"tracker/store/json"
	"tracker/store/scalar"
	"tracker/ui/plain"
)

const heatBins = 64

// Histogram is a histogram in the JSON format of the Python client.
type Histogram struct {
	Edges     []float64 `json:"edges"`
	Counts    []float64 `json:"counts"`
	NotFinite int64     `json:"not_finite"`
}

// ParseHistogram parses a histogram. It returns nil if body is not a valid histogram.
func ParseHistogram(body []byte) *Histogram {
	var c Histogram
	err := json.Unmarshal(body, &c)
	if err != nil || !c.Valid() {
		return nil
	}
	return &c
}

// Valid reports whether the histogram can be drawn.
func (c *Histogram) Valid() bool {
	if len(c.Counts) == 0 || len(c.Counts) > histogramBins || len(c.Edges) != len(c.Counts)+1 {
		return false
	}
	for i, n := range c.Counts {
		if n < 0 || c.Edges[i+1] < c.Edges[i] {
			return false
		}
	}
	return !math.IsInf(c.Edges[len(c.Counts)]-c.Edges[0], 0)
}

// Spread returns the counts in heatBins bins of equal width between low and high. If a bin of c
// overlaps several new bins, the count is divided in proportion to the overlap.
func (c Histogram) Spread(low, high float64) []float64 {
	all := make([]float64, heatBins)
	width := (high - low) / heatBins
	if width <= 0 {
		for _, n := range c.Counts {
			all[heatBins/2] += n
		}
		return all
	}
	for i, n := range c.Counts {
		from, to := (c.Edges[i]-low)/width, (c.Edges[i+1]-low)/width
		if to-from < 1e-9 {
			all[min(heatBins-1, max(0, int(from)))] += n
			continue
		}
		for at := max(0, int(from)); at < heatBins && float64(at) < to; at++ {
			part := min(to, float64(at+1)) - max(from, float64(at))
			if part > 0 {
				all[at] += n * part / (to - from)
			}
		}
	}
	for i, n := range all { // round to six digits, which is more precise than the drawing
		all[i], _ = strconv.ParseFloat(strconv.FormatFloat(n, 'g', 6, 64), 64)
	}
	return all
}

// Bars is a histogram drawn on the server.
type Bars struct {
	bars      []bar
	Low, High string
	Most      string // count of the largest bin
	Total     string
	NotFinite string // number of NaN and infinite values, "" for none
}

// about returns a description of the histogram. The description contains the number of values,
// the count of the largest bin, and the number of NaN and infinite values.
func (h *Bars) about() string {
	text := h.Total + " values, up to " + h.Most + " in a bin"
	if h.NotFinite != "" {
		text += ", and " + h.NotFinite + " that are not finite"
	}
	return text
}

// bar is a drawn bin. Its coordinates are units of a drawing that is histogramWidth wide and
// histogramHeight high.
type bar struct {
	X, Y, Width, Height string
	Title               string
}

const (
	histogramWidth  = 640.0
	histogramHeight = 160.0
	histogramBins   = 4096 // maximum number of bins in a drawn histogram
)

// Bars returns the histogram drawn as bars.
func (c *Histogram) Bars() *Bars {
	low, high, most, total := c.Edges[0], c.Edges[len(c.Edges)-1], 0.0, 0.0
	for _, n := range c.Counts {
		most, total = max(most, n), total+n
	}
	across := high - low
	h := &Bars{Low: number(low), High: number(high), Most: number(most), Total: number(total)}
	if c.NotFinite > 0 {
		h.NotFinite = humanize.Comma(c.NotFinite)
	}
	at := func(edge float64, i int) float64 {
		if across == 0 { // all values are equal: draw the bins side by side
			return histogramWidth * float64(i) / float64(len(c.Counts))
		}
		return histogramWidth * (edge - low) / across
	}
	for i, n := range c.Counts {
		x, end := at(c.Edges[i], i), at(c.Edges[i+1], i+1)
		height := 0.0
		if most > 0 {
			height = histogramHeight * n / most
		}
		h.bars = append(h.bars, bar{X: units(x), Width: units(max(end-x-0.5, 0.5)), Y: units(histogramHeight - height), Height: units(height),
			Title: number(n) + " from " + number(c.Edges[i]) + " to " + number(c.Edges[i+1])})
	}
	return h
}

func number(v float64) string { return plain.Number(scalar.Value(v)) }

func units(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }
