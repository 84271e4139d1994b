package chart

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
)

func TestByInterest(t *testing.T) {
	for _, c := range []struct{ given, want string }{
		{"", ""},
		{"amp/scale layer0/norm train/loss val/loss", "val/loss train/loss amp/scale layer0/norm"},
		{"system/cpu summary/best loss lr", "loss lr summary/best system/cpu"},
		{"train/acc train/lr train/loss val/acc val/loss epoch", "val/acc val/loss train/acc train/loss train/lr epoch"},
		{"b/x a/x plain", "a/x b/x plain"},
		{"loss grad/norm eval_loss", "eval_loss loss grad/norm"},
		{"/ a/ constructor", "a/ / constructor"},
		{"mapped _map map-50 0map", "0map _map map-50 mapped"},
		{"LEARNING_RATE AMP/x VAL_LOSS Loss ttl", "VAL_LOSS Loss ttl LEARNING_RATE AMP/x"},
		{"timestep steps gpu.time a.step_1 xlr", "steps timestep xlr a.step_1 gpu.time"},
	} {
		got := strings.Fields(c.given)
		Sort(got, func(name string) string { return name }, nil)
		if want := strings.Fields(c.want); !slices.Equal(got, want) {
			t.Errorf("%s are sorted %v, not %v", c.given, got, want)
		}
	}
}

// BenchmarkByInterest sorts long names of many metrics.
func BenchmarkByInterest(b *testing.B) {
	names := make([]string, 90_000)
	for i := range names {
		names[i] = fmt.Sprintf("%0200d", i)
	}
	for b.Loop() {
		Sort(names, func(name string) string { return name }, nil)
	}
}

// TestSpread sorts metrics of equal interest by the differences between runs.
func TestSpread(t *testing.T) {
	var iterations []runs.Summary
	of := func(low, mean, high float64) points.Summary {
		return points.Summary{Min: new(scalar.Value(low)), Mean: new(scalar.Value(mean)), Max: new(scalar.Value(high))}
	}
	for i := range 4 {
		iterations = append(iterations, runs.Summary{Metrics: map[string]points.Summary{
			"constant": of(65536, 65536, 65536),
			"near":     of(0, 5+float64(i)/10, 10),
			"far":      of(float64(i), float64(i), float64(i)),
			"nan":      {},
			"huge":     of(-math.MaxFloat64, 0, math.MaxFloat64),
		}})
	}
	iterations[0].Metrics["once"], iterations[0].Metrics["alone"] = of(1, 1, 1), of(1, 1, 2)
	got := Spreads(iterations)
	if want := (map[string]int{"near": 1, "far": 4, "huge": 0, "alone": 1}); !maps.Equal(got, want) {
		t.Errorf("the spreads are %v, want %v", got, want)
	}
	names := strings.Fields("constant near far layer0/norm val/loss train/loss train/acc")
	Sort(names, func(name string) string { return name }, map[string]int{"near": 1, "far": 4, "layer0/norm": 5, "train/loss": 2})
	if want := strings.Fields("val/loss train/loss train/acc far near constant layer0/norm"); !slices.Equal(names, want) {
		t.Errorf("sorted %v, not %v", names, want)
	}
}
