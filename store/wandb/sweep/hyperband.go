package sweep

import (
	"math"
	"slices"
)

// Hyperband decides which runs to stop early. A bracket is a number of metric values. When a run
// reaches a bracket, its best value is compared with the best values of other runs at the same
// bracket. The run continues only if its value is among the best 1/Eta of these values.
//
// A run is compared only with the runs that have reached the bracket so far, so no run waits for
// others. The method is described in L. Li et al., "A System for Massively Parallel Hyperparameter
// Tuning", MLSys 2020.
type Hyperband struct {
	Eta      float64
	Brackets []int // numbers of metric values, ascending
}

const maxBrackets = 30

func parseHyperband(in map[string]any, m Metric) (*Hyperband, error) {
	if kind := textOf(in["type"]); kind != "hyperband" {
		return nil, wrong("The type of early_terminate is hyperband, not %q.", clip(kind))
	}
	if m.Name == "" {
		return nil, wrong("A sweep with early_terminate needs a metric with a name.")
	}
	h := &Hyperband{Eta: 3}
	if in["eta"] != nil {
		h.Eta, _ = number(in["eta"])
	}
	if h.Eta < 1.1 || h.Eta > 1e6 {
		return nil, wrong("The eta of early_terminate must be a number above 1.")
	}
	least, hasLeast := number(in["min_iter"])
	most, hasMost := number(in["max_iter"])
	switch {
	case hasLeast && least >= 1:
		for x := least; len(h.Brackets) < maxBrackets && x < math.MaxInt32; x *= h.Eta {
			h.Brackets = append(h.Brackets, int(x))
		}
	case hasMost && most >= 1:
		s, ok := number(in["s"])
		if !ok || s < 1 || s > maxBrackets {
			return nil, wrong("With max_iter, early_terminate needs s: the number of brackets, from 1 to %d.", maxBrackets)
		}
		for x := min(most, math.MaxInt32) / h.Eta; len(h.Brackets) < int(s) && x >= 1; x /= h.Eta {
			h.Brackets = append(h.Brackets, int(x))
		}
		slices.Sort(h.Brackets)
	default:
		return nil, wrong("early_terminate needs min_iter, or max_iter and s, as numbers from 1.")
	}
	h.Brackets = slices.Compact(h.Brackets)
	return h, nil
}

// Stops reports whether to stop a run at a bracket. mine is the best value of the run, and others
// holds the best values of other runs at the bracket. NaN counts as the worst value.
func (h *Hyperband) Stops(m Metric, mine float64, others []float64) bool {
	all := len(others) + 1
	if float64(all) < h.Eta {
		return false // too few runs to compare
	}
	c := Config{Metric: m}
	loss := c.loss(Observation{Value: mine})
	better := 0
	for _, v := range others {
		if c.loss(Observation{Value: v}) < loss {
			better++
		}
	}
	return better >= int(math.Max(1, math.Floor(float64(all)/h.Eta)))
}
