package suggest_test

import (
	"testing"

	"tracker/store/goal"
	"tracker/store/importance"
	"tracker/store/suggest"
)

// BenchmarkNext measures how long it takes to suggest settings from 10,000 runs, without the estimate
// of the importance.
func BenchmarkNext(b *testing.B) {
	d := searched(10_000, 0.15, goal.Minimize, 1)
	r, err := importance.Of(b.Context(), d.target, d.columns, d.aim)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, err := suggest.Next(b.Context(), r, d.target, d.columns, d.aim); err != nil {
			b.Fatal(err)
		}
	}
}
