package points

import (
	"cmp"
	"slices"

	"tracker/store/sqlite"
)

// Put adds samples. Each sample replaces all points that its series already has at the same
// step. If several samples have the same key and step, the last sample wins. Putting the same
// samples twice changes nothing. Put returns the number of steps whose points were replaced.
//
// All samples must have a step and a time. The transaction must be the writer's and must not
// have added points before.
func (tx *Tx) Put(iteration int64, samples []Sample) (replaced int, err error) {
	byKey := map[string][]Sample{}
	var keys []string
	for _, s := range samples {
		if byKey[s.Key] == nil {
			keys = append(keys, s.Key)
		}
		byKey[s.Key] = append(byKey[s.Key], s)
	}
	for _, key := range keys {
		n, err := tx.putSeries(iteration, key, lastOfEachStep(byKey[key]))
		if err != nil {
			return 0, err
		}
		replaced += n
	}
	return replaced, nil
}

// lastOfEachStep returns the last sample of each step, sorted by step. All samples must have
// the same key.
func lastOfEachStep(all []Sample) []Sample {
	byStep := func(a, b Sample) int { return cmp.Compare(*a.Step, *b.Step) }
	if !slices.IsSortedFunc(all, byStep) {
		slices.SortStableFunc(all, byStep)
	}
	kept := all[:0]
	for i, s := range all {
		if i+1 == len(all) || *all[i+1].Step != *s.Step {
			kept = append(kept, s)
		}
	}
	return kept
}

// putSeries is Put for samples of one key. The samples must be sorted by step, and no two
// samples may have the same step.
func (tx *Tx) putSeries(iteration int64, key string, samples []Sample) (replaced int, err error) {
	s, err := tx.openSeries(iteration, key)
	if err != nil {
		return 0, err
	}
	late := 0
	if s.LastStep != nil {
		for late < len(samples) && *samples[late].Step <= *s.LastStep {
			late++
		}
	}
	missing := samples[:0:0]
	if late > 0 {
		var steps []Step
		if missing, steps, err = tx.differing(s, samples[:late]); err != nil {
			return 0, err
		}
		if replaced = len(steps); replaced > 0 {
			if s, err = tx.deleteSteps(s, steps); err != nil {
				return 0, err
			}
		}
	}
	for _, all := range [][]Sample{missing, samples[late:]} {
		for _, m := range all {
			tx.engine.open.add(s, point{step: *m.Step, value: m.Value + 0, at: *m.RecordedAt})
		}
	}
	return replaced, nil
}

// differing compares samples with the points of s. missing holds the samples that are not yet
// points of s. replaced holds the steps of missing samples where s already has points.
func (tx *Tx) differing(s *series, samples []Sample) (missing []Sample, replaced []Step, err error) {
	first, last := *samples[0].Step, *samples[len(samples)-1].Step
	there := map[Step][]point{}
	keep := func(p point) {
		if p.step >= first && p.step <= last {
			there[p.step] = append(there[p.step], p)
		}
	}
	if s.stored {
		if err := tx.eachPoint(s.id, int64(first), int64(last), keep); err != nil {
			return nil, nil, err
		}
		recent, err := tx.recent(s.id, s.compactedSeq)
		if err != nil {
			return nil, nil, err
		}
		for _, p := range recent {
			keep(p)
		}
	}
	for _, r := range s.pending { // points of an earlier job in the same transaction
		keep(r.point())
	}
	for _, m := range samples {
		old := there[*m.Step]
		if len(old) == 1 && old[0].sameAs(point{step: *m.Step, value: m.Value + 0, at: *m.RecordedAt}) {
			continue
		}
		missing = append(missing, m)
		if len(old) > 0 {
			replaced = append(replaced, *m.Step)
		}
	}
	return missing, replaced, nil
}

// deleteSteps removes all points of s at the given steps and returns the updated series.
func (tx *Tx) deleteSteps(s *series, steps []Step) (*series, error) {
	o := tx.engine.open
	forget := func() {
		delete(o.byKey, seriesKey{s.iteration, s.key})
		delete(o.byID, s.id)
	}
	forget()
	if err := tx.compactSeries(s.id); err != nil {
		return nil, err
	}
	var removed int64
	for _, step := range steps {
		_, checksum, err := tx.removeSteps(s.id, step, step)
		if err != nil {
			return nil, err
		}
		removed += checksum
	}
	forget()
	if err := tx.recompute(s.id, -removed); err != nil {
		return nil, err
	}
	if err := tx.rebuildRollups(s.id); err != nil {
		return nil, err
	}
	forget()
	return tx.openSeries(s.iteration, s.key)
}

// Flush inserts the points that this transaction has added. After Flush, statements of the
// transaction can read the points.
func (tx *Tx) Flush() error { return tx.engine.open.Flush(tx.Tx, sqlite.AroundJob) }
