package wandb

import (
	"tracker/store/domain"
	"tracker/store/scalar"
	"tracker/store/wandb/format"
)

// EachValue calls each with the values in the histories of iterations that are not numbers, by step.
// It reads the rows that contain one of texts, of some steps or, when steps is nil, of all. It ends with
// the first error. more reports that there are rows that it did not read. Needs read; iterations that do
// not exist are left out. It has the time limit of a search.
func (v *View) EachValue(ids []string, steps []scalar.Step, texts []string, each func(id string, step scalar.Step, m format.Member) error) (more bool, err error) {
	states, err := v.tx.AllowExisting(v.tx.Actor, ids, domain.RightRead)
	if err != nil {
		return false, err
	}
	byNum := make(map[int64]string, len(states))
	for _, it := range states {
		byNum[it.Num] = it.ID
	}
	return domain.WithinLimit(v.tx, domain.SlowRead(v.tx, "iterations"), func() (bool, error) {
		return wandbTx(v.tx).EachValue(domain.NumsOf(states), steps, texts, func(num int64, step scalar.Step, m format.Member) error {
			return each(byNum[num], step, m)
		})
	})
}
