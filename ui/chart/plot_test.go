package chart_test

import (
	"testing"

	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/ui/chart"
)

// TestTicksDiffer checks that no label of an axis repeats, however narrow the axis is.
func TestTicksDiffer(t *testing.T) {
	for _, span := range []float64{1, 1e-3, 1e-5, 1e-7, 1e-9} {
		c := runs.Curve{IterationID: "a"}
		c.Step = []scalar.Step{0, 1, 2}
		c.Value = []scalar.Value{scalar.Value(0.69334), scalar.Value(0.69334 + span/2), scalar.Value(0.69334 + span)}
		p := chart.New("loss", []runs.Curve{c}, map[string]chart.Run{"a": {Name: "a"}}, chart.Scales{})
		seen := map[string]bool{}
		for _, tick := range p.Y {
			if seen[tick.Label] {
				t.Errorf("over %v the label %s repeats", span, tick.Label)
			}
			seen[tick.Label] = true
		}
		if len(seen) < 3 {
			t.Errorf("over %v there are only %d labels", span, len(seen))
		}
	}
}
