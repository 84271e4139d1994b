package points

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"tracker/store/sqlite"
)

// TestPut puts random samples and compares the result with a map. Many samples are put repeatedly
// or at steps that already have points. Points are compacted and rolled up in between.
func TestPut(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			b := newBed(t, seed%2 == 0)
			random := rand.New(rand.NewPCG(seed, 2))
			type at struct {
				key  string
				step Step
			}
			want := map[at]Value{}
			for round := range 30 {
				var samples []Sample
				from := random.Int64N(int64(100*round + 1))
				for range random.IntN(600) + 1 {
					s := sample([]string{"loss", "acc"}[random.IntN(2)], from, math.Round(random.Float64()*4))
					if random.IntN(30) == 0 {
						s.Value = Value(math.NaN())
					}
					s.RecordedAt = new(Time(from + 1))
					from += random.Int64N(3)
					samples = append(samples, s)
				}
				replaces := map[at]bool{}
				before := map[at]Value{}
				for k, v := range want {
					before[k] = v
				}
				for _, s := range samples {
					want[at{s.Key, *s.Step}] = s.Value
				}
				for _, s := range samples {
					k := at{s.Key, *s.Step}
					if old, ok := before[k]; ok && !sameValue(old, want[k]) {
						replaces[k] = true
					}
				}
				for again := range 2 {
					wantOK(t, b.write(sqlite.Change, func(tx *Tx) error {
						n, err := tx.Put(1, append([]Sample(nil), samples...))
						if err == nil && again == 0 && n != len(replaces) || again == 1 && n != 0 {
							t.Errorf("round %d.%d replaced %d points, want %d", round, again, n, len(replaces))
						}
						return err
					}))
				}
				if random.IntN(5) == 0 {
					wantOK(t, b.Compact(ctx))
				}
			}
			got := map[at]Value{}
			for _, p := range b.list(t) {
				if _, twice := got[at{p.Key, p.Step}]; twice {
					t.Fatalf("%s has several points at step %d", p.Key, p.Step)
				}
				got[at{p.Key, p.Step}] = p.Value
			}
			if len(got) != len(want) {
				t.Errorf("there are %d points, want %d", len(got), len(want))
			}
			for k, v := range want {
				if g, ok := got[k]; !ok || !sameValue(g, v) {
					t.Errorf("%v is %v, want %v", k, g, v)
				}
			}
			b.wantClean(t)
		})
	}
}
