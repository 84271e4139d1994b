package ui

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"

	"tracker/server/web"
	"tracker/store/domain"
	"tracker/store/json"
	"tracker/store/scalar"
)

const (
	heatSteps = 100 // maximum number of steps of a histogram over steps
	heatBins  = 64
)

// heat is a histogram over steps: the counts of values in bins of equal width between low and high, at each step.
type heat struct {
	Run    string       `json:"run"`
	Low    scalar.Value `json:"low"`
	High   scalar.Value `json:"high"`
	Steps  []int64      `json:"steps"`
	Counts [][]float64  `json:"counts"` // by step
	All    int          `json:"all"`    // steps, with those that are left out
}

// heatData answers with the histograms of one run under a name.
func (s *site) heatData(r *http.Request, actor domain.Actor) (any, error) {
	q, found, err := s.media(r, actor)
	if err != nil {
		return nil, err
	}
	if len(q.Iterations) != 1 {
		return nil, domain.Invalid("iterations", "Ask for the histograms of one run at a time.")
	}
	byStep := map[int64]medium{}
	steps := []int64{}
	for _, m := range found.all {
		if m.key != q.Key || m.kind != histogramKind || m.Bytes > jsonBytes {
			continue
		}
		step := int64(0)
		if m.Step != nil {
			step = *m.Step
		}
		if _, ok := byStep[step]; !ok {
			steps = append(steps, step)
		}
		byStep[step] = m
	}
	slices.Sort(steps)
	chosen := spread(steps, heatSteps)
	fromHistory, err := s.historyCounts(r, actor, q, chosen)
	if err != nil {
		return nil, err
	}
	h := heat{Run: q.Iterations[0], Steps: []int64{}, Counts: [][]float64{}, All: len(steps)}
	var read []binCounts
	low, high := math.Inf(1), math.Inf(-1)
	for _, step := range chosen {
		c := fromHistory[step]
		if id := byStep[step].ID; id != "" {
			c, err = s.countsOf(r.Context(), actor, id)
		}
		if web.AsError(err) != nil && web.AsError(err).Code == domain.CodeNotFound || err == nil && c == nil {
			continue // deleted, or not a histogram
		}
		if err != nil {
			return nil, err
		}
		h.Steps, read = append(h.Steps, step), append(read, *c)
		low, high = min(low, c.Edges[0]), max(high, c.Edges[len(c.Edges)-1])
	}
	if len(read) == 0 {
		return h, nil
	}
	h.Low, h.High = scalar.Value(low), scalar.Value(high)
	for _, c := range read {
		h.Counts = append(h.Counts, c.spread(low, high))
	}
	return h, nil
}

// spread returns at most most elements of all, evenly spaced, including the first and the last.
func spread(all []int64, most int) []int64 {
	if len(all) <= most {
		return all
	}
	some := make([]int64, most)
	for i := range some {
		some[i] = all[i*(len(all)-1)/(most-1)]
	}
	return some
}

// countsOf reads a histogram. It returns nil if the artifact is not a histogram.
func (s *site) countsOf(ctx context.Context, actor domain.Actor, id string) (*binCounts, error) {
	_, data, err := s.DB.Files.OpenArtifact(ctx, actor, id)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(data, jsonBytes+1))
	if err := errors.Join(err, data.Close()); err != nil {
		return nil, err
	}
	return readCounts(body), nil
}

// binCounts is a histogram as the Python client writes it.
type binCounts struct {
	Edges     []float64 `json:"edges"`
	Counts    []float64 `json:"counts"`
	NotFinite int64     `json:"not_finite"`
}

// readCounts parses a histogram. It returns nil if body is not one.
func readCounts(body []byte) *binCounts {
	var c binCounts
	err := json.Unmarshal(body, &c)
	if err != nil || !c.valid() {
		return nil
	}
	return &c
}

// valid reports whether the histogram can be drawn.
func (c *binCounts) valid() bool {
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

// spread returns the counts in heatBins bins between low and high. A bin that overlaps several of
// them is divided in proportion to the overlap.
func (c binCounts) spread(low, high float64) []float64 {
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
	for i, n := range all { // more precision than a picture shows
		all[i], _ = strconv.ParseFloat(strconv.FormatFloat(n, 'g', 6, 64), 64)
	}
	return all
}
