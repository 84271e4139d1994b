package store_test

import (
	"math"
	"testing"

	"tracker/store/domain"
	"tracker/store/json"
	"tracker/store/runs"
)

// Every number is the same after a round trip through the file and through JSON, except for the
// sign of a zero, which SQLite does not store.
func TestValuesAreStoredAsTheyAre(t *testing.T) {
	b := newBed(t)
	values := []float64{0, math.Copysign(0, -1), 1, -1, 0.1, 1.0 / 3, math.Pi, 1 << 53, 1<<53 + 2, -(1 << 60), 1 << 63, 1e15, 1e16, 123456789,
		math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, math.Float64frombits(0x000fffffffffffff), 5e-310,
		math.NaN(), math.Float64frombits(0xfff8000000000001), math.Inf(1), math.Inf(-1), math.MaxInt64, math.MinInt64}
	for i, v := range values {
		id := b.log(t, "loss", int64(i), v)
		m := must(b.Runs.Metric(ctx, domain.System, id))(t)
		if !sameFloat(float64(m.Value), v) {
			t.Errorf("%v is read as %v", v, m.Value)
		}
		text := must(json.Marshal(m))(t)
		var again runs.Metric
		wantOK(t, json.Unmarshal(text, &again))
		if !samePoint(m, again) {
			t.Errorf("%s is read as %+v", text, again)
		}
	}
	for i, m := range pointsOf(t, b.DB, b.iteration, nil) {
		if !sameFloat(float64(m.Value), values[i]) {
			t.Errorf("%v is listed as %v", values[i], m.Value)
		}
	}
	wantClean(t, b.DB)
}
