package store

import "tracker/store/wandb/format"

// EachWandbValue calls each with the values in the histories of iterations that are not numbers, by step.
// It reads the rows that contain one of texts, of some steps or, when steps is nil, of all. It ends with
// the first error. more reports that there are rows that it did not read. Needs read; iterations that do
// not exist are left out.
func (v *View) EachWandbValue(ids []string, steps []Step, texts []string, each func(id string, step Step, m format.Member) error) (more bool, err error) {
	states, err := v.tx.allowExisting(v.actor, ids, rightRead)
	if err != nil {
		return false, err
	}
	byNum := make(map[int64]string, len(states))
	for _, it := range states {
		byNum[it.num] = it.id
	}
	return v.tx.wandb().EachValue(numsOf(states), steps, texts, func(num int64, step Step, m format.Member) error {
		return each(byNum[num], step, m)
	})
}
