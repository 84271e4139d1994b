package wandb

import (
	"tracker/store/domain"
	"tracker/store/scalar"
	"tracker/store/wandb/format"
)

// EachValue calls the function each, in the order of the steps, for every value in the histories of
// iterations that is not a number. It reads only rows that contain one of the given texts and, if
// steps is not nil, only these steps. It stops at the first error and at the time limit of a search.
// more reports whether rows were not read because of a limit. Iterations that do not exist are
// ignored. Needs read.
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
