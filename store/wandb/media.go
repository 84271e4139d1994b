package wandb

import (
	"tracker/store/domain"
	"tracker/store/scalar"
	"tracker/store/wandb/format"
)

// EachValue calls each for the non-numeric history values, sorted by step. It reads only rows that
// contain one of the strings in texts and, if steps is not nil, only rows with one of these steps.
// It ignores iterations that do not exist.
//
// EachValue stops at the first error or when the time limit of a search is exceeded. more reports
// whether the row limit left rows unread. The actor needs the right to read.
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
