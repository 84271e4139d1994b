package chart_test

import (
	"slices"
	"testing"

	"tracker/ui/chart"
)

func TestSortParams(t *testing.T) {
	keys := []string{"accelerator_config/split_batches", "label_smoothing", "output_dir", "seed", "Batch-Size", "zeta", "model.lr", "optimizer"}
	chart.SortParams(keys)
	want := []string{"model.lr", "optimizer", "Batch-Size", "label_smoothing", "accelerator_config/split_batches", "zeta", "output_dir", "seed"}
	if !slices.Equal(keys, want) {
		t.Errorf("sorted as %q, want %q", keys, want)
	}
	for _, value := range []string{"", "None", "null", "False", "[]"} {
		if !chart.IsUnset(value) {
			t.Errorf("%q is set", value)
		}
	}
	for _, value := range []string{"0", "true", "adam", "no"} {
		if chart.IsUnset(value) {
			t.Errorf("%q is unset", value)
		}
	}
}
