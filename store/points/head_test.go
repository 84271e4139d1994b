package points

import (
	"fmt"
	"testing"
)

// A snapshot that is older than a compaction sees points in the recent table that the head has
// dropped. Reading the points of many series must not scan the table once for each.
func TestManySeriesInASnapshotBeforeACompaction(t *testing.T) {
	const series = 1000
	b := newBed(t, true)
	for step := range 3 {
		samples := make([]Sample, series)
		for i := range samples {
			samples[i] = sample(fmt.Sprintf("m%04d", i), int64(step), float64(step))
		}
		b.append(t, samples...)
	}
	b.read(t, func(tx *Tx) error {
		if _, err := tx.recentWindow(); err != nil { // takes the snapshot
			return err
		}
		if err := b.Compact(ctx); err != nil {
			return err
		}
		before, err := tx.PageReads()
		if err != nil {
			return err
		}
		all, err := tx.seriesWhere(`series.iteration_num = 1`)
		if err != nil {
			return err
		}
		after, err := tx.PageReads()
		if err != nil {
			return err
		}
		for _, s := range all {
			if s.Count != 3 || s.Last != 2 {
				t.Fatalf("%s has %d points, the last is %v", s.key, s.Count, s.Last)
			}
		}
		if pages := after - before; len(all) != series || pages > 10*series {
			t.Errorf("%d series in %d pages", len(all), pages)
		}
		return nil
	})
}
