package ui

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"slices"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/scalar"
	"tracker/ui/chart"
	"tracker/ui/preview"
)

// heatSteps is the maximum number of steps in a heat map of histograms.
const heatSteps = 100

// heat is a heat map of histograms over steps. Counts holds the number of values by step and
// bin. The bins have equal width between Low and High.
type heat struct {
	Run    string       `json:"run"`
	Low    scalar.Value `json:"low"`
	High   scalar.Value `json:"high"`
	Steps  []int64      `json:"steps"`
	Counts [][]float64  `json:"counts"` // by step, then bin
	All    int          `json:"all"`    // number of logged steps, including omitted steps
}

// heatData returns the histograms that a run logged under a name.
func (s *site) heatData(r *http.Request, actor domain.Actor) (any, error) {
	q, found, err := s.media(r, actor)
	if err != nil {
		return nil, err
	}
	if len(q.Iterations) != 1 {
		return nil, domain.Invalid("iterations", "A request for histograms must name one run.")
	}
	byStep := map[int64]preview.Medium{}
	steps := []int64{}
	for _, m := range found.All {
		if m.Key != q.Key || m.Kind != preview.Histogram || m.Bytes > preview.MaxJSON {
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
	chosen := chart.Thin(steps, heatSteps)
	var fromHistory map[int64]*chart.Histogram
	err = s.DB.View(r.Context(), actor, func(db *store.View) (err error) {
		fromHistory, err = preview.LoggedHistograms(db, q, chosen)
		return err
	})
	if err != nil {
		return nil, err
	}
	h := heat{Run: q.Iterations[0], Steps: []int64{}, Counts: [][]float64{}, All: len(steps)}
	var read []chart.Histogram
	low, high := math.Inf(1), math.Inf(-1)
	for _, step := range chosen {
		c := fromHistory[step]
		if id := byStep[step].ID; id != "" {
			c, err = s.countsOf(r.Context(), actor, id)
		}
		if web.AsError(err) != nil && web.AsError(err).Code == domain.CodeNotFound || err == nil && c == nil {
			continue // the artifact was deleted or is not a histogram
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
		h.Counts = append(h.Counts, c.Spread(low, high))
	}
	return h, nil
}

// countsOf reads the artifact with the given ID and parses it as a histogram. It returns nil if
// the artifact is not a histogram.
func (s *site) countsOf(ctx context.Context, actor domain.Actor, id string) (*chart.Histogram, error) {
	_, data, err := s.DB.Files.OpenArtifact(ctx, actor, id)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(data, preview.MaxJSON+1))
	if err := errors.Join(err, data.Close()); err != nil {
		return nil, err
	}
	return chart.ParseHistogram(body), nil
}
