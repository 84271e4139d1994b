package points

import (
	"fmt"
	"testing"
)

// TestTail compares the last points of a series with its list while points move between tables.
func TestTail(t *testing.T) {
	b := newBed(t, true)
	check := func(state string) {
		t.Helper()
		all := b.list(t)
		b.read(t, func(tx *Tx) error {
			for _, limit := range []int{1, 3, 1000} {
				first, tail, ok, err := tx.Tail(1, "loss", limit)
				if err != nil || !ok || fmt.Sprint(first) != fmt.Sprint(all[0]) || fmt.Sprint(tail) != fmt.Sprint(all[max(0, len(all)-limit):]) {
					t.Errorf("%s, %d: %v %v, %v", state, limit, first, tail, err)
				}
			}
			_, _, ok, err := tx.Tail(1, "none", 3)
			if ok || err != nil {
				t.Errorf("no series: %v %v", ok, err)
			}
			return nil
		})
	}
	sample := func(step Step, value Value) Sample { return Sample{Key: "loss", Step: &step, Value: value} }
	b.append(t, sample(5, 1), sample(3, 2), sample(9, 3))
	check("recent")
	var many []Sample
	for i := range 50 {
		many = append(many, sample(Step(2*i), Value(i)))
	}
	b.append(t, many...)
	check("both tables")
	b.append(t, sample(98, 7), sample(1, 8))
	check("after a repeated step")
	wantOK(t, b.Compact(ctx))
	check("compacted")
}
