package ui

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"tracker/store/goal"
	"tracker/store/scalar"
	"tracker/ui/plain"
)

// progress is a drawing of how the best result of a sweep improved from run to run, oldest run
// first.
type progress struct {
	Words      string // description of the drawing
	Dots       string // path with a dot for each run
	Line       string // path of the best result so far
	Low, High  string // labels of the ends of the Y axis
	LowY       float64
	HighY      float64
	First, All string // labels of the ends of the X axis
}

// Size of the drawing of a sweep's progress, and its margins.
const (
	progressWidth, progressHeight = 720, 220
	progressLeft, progressRight   = 90, 12
	progressTop, progressBottom   = 12, 28
	progressDots                  = 1000 // maximum number of dots; the line includes all runs
)

// progressOf returns the drawing for the results of runs, oldest first. A missing result is nil.
// It returns nil if fewer than two runs have a finite result. Bad results far from most results
// are at the edge of the drawing.
func progressOf(values []*scalar.Value, o goal.Objective) *progress {
	sign := 1.0
	if o.Goal == goal.Maximize {
		sign = -1
	}
	type result struct {
		run   int
		value float64
	}
	var all []result
	for i, v := range values {
		if v != nil && v.Finite() {
			all = append(all, result{i, float64(*v)})
		}
	}
	if len(all) < 2 {
		return nil
	}
	costs := make([]float64, len(all))
	for i, r := range all {
		costs[i] = sign * r.value
	}
	low, high := axisOfCosts(costs)
	x := func(run int) float64 {
		return progressLeft + float64(run)/float64(max(1, len(values)-1))*(progressWidth-progressLeft-progressRight)
	}
	// Better results are lower if the goal is to minimize, and higher if it is to maximize.
	y := func(cost float64) float64 {
		part := (min(max(cost, low), high) - low) / (high - low)
		if sign < 0 {
			part = 1 - part
		}
		return progressHeight - progressBottom - part*(progressHeight-progressTop-progressBottom)
	}
	p := &progress{First: "1", All: humanize.Comma(int64(len(values)))}
	var dots, line strings.Builder
	best, bestRun, improved := math.Inf(1), 0, 0
	every := max(1, (len(all)+progressDots-1)/progressDots)
	for i, r := range all {
		cost := costs[i]
		if i%every == 0 || cost < best {
			fmt.Fprintf(&dots, "M%.1f %.1fh0", x(r.run), y(cost))
		}
		if cost < best {
			if i == 0 {
				fmt.Fprintf(&line, "M%.1f %.1f", x(r.run), y(cost))
			} else {
				fmt.Fprintf(&line, "H%.1fV%.1f", x(r.run), y(cost))
			}
			best, bestRun = cost, r.run
			improved++
		}
	}
	fmt.Fprintf(&line, "H%.1f", x(len(values)-1))
	p.Dots, p.Line = dots.String(), line.String()
	label := func(cost float64) string { return plain.Number(scalar.Value(sign * cost)) }
	p.Low, p.LowY, p.High, p.HighY = label(low), y(low), label(high), y(high)
	p.Words = fmt.Sprintf("Best %s so far over %s: %s, reached by run %s.", o.Metric, runsOf(len(values)), label(best), humanize.Comma(int64(bestRun+1)))
	if since := len(values) - 1 - bestRun; since > 0 {
		p.Words += fmt.Sprintf(" %s since then %s not improved it.", capital(runsOf(since)), has(since))
	}
	return p
}

func has(n int) string {
	if n == 1 {
		return "has"
	}
	return "have"
}

// axisOfCosts returns the range of an axis for costs, for which smaller is better. Costs far above
// the third quartile are outside of the range.
func axisOfCosts(costs []float64) (low, high float64) {
	sorted := slices.Sorted(slices.Values(costs))
	low, high = sorted[0], sorted[len(sorted)-1]
	first, third := sorted[len(sorted)/4], sorted[len(sorted)*3/4]
	if reach := third + 4*(third-first); third > first && high > reach {
		for _, c := range sorted {
			if c <= reach {
				high = c
			}
		}
	}
	if low == high {
		low, high = low-1, high+1
	}
	return low, high
}
