package points

import (
	"testing"

	"tracker/store/sqlite"
)

// Writing to the same steps again costs the same each time, however many points these
// steps already have.
func TestRepeatedStepsCostTheSame(t *testing.T) {
	const steps, repetitions = 4000, 12
	b := newBed(t, true)
	first := make([]Sample, steps)
	for i := range first {
		first[i] = sample("loss", int64(i), 1)
	}
	b.append(t, first...)
	var pages []int64
	for n := range repetitions {
		wantOK(t, b.write(sqlite.Upkeep, func(tx *Tx) error {
			s, err := tx.openByID(1)
			if err != nil {
				return err
			}
			all := make([]row, steps)
			for i := range all {
				tx.engine.open.seq++
				p := point{Step(i), tx.engine.open.seq, Value((i + n) % 7), Time(1000*n + i)}
				all[i] = row{place{s.id, int64(i), p.seq}, p.value, p.at, s}
				s.Stats.add(p)
				s.lastSeq, s.compactedSeq = p.seq, p.seq
			}
			if err := tx.insertIntoMetric(all); err != nil {
				return err
			}
			before, err := tx.PageReads()
			if err != nil {
				return err
			}
			if err := tx.rollUp(s, all); err != nil {
				return err
			}
			after, err := tx.PageReads()
			if err != nil {
				return err
			}
			pages = append(pages, after-before)
			if err := tx.engine.open.saveSeq(tx.Tx); err != nil {
				return err
			}
			return tx.saveSeries(s)
		}))
	}
	b.wantClean(t)
	// The first repetition finds cells whose times are in order, and reads their points.
	if last := pages[repetitions-1]; last > pages[1]*5/4 {
		t.Errorf("pages that were looked at by each: %d", pages)
	}
}
