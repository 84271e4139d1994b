package wandb

import "tracker/store/domain"

const (
	// preempted is the error message of a run that was preempted.
	preempted = "preempted"
	// exitLost is used as the exit code of a run that sent none.
	exitLost = -1
)

// endPreempted reports whether a run that has ended or is lost was preempted. If it is lost and
// had announced its preemption, endPreempted ends it.
func endPreempted(tx *domain.Tx, it domain.IterationState) (bool, error) {
	if it.Ended() {
		return it.Status == domain.Killed && it.ErrorMessage == preempted, nil
	}
	w, err := wandbRun(tx, it.IterationRef)
	if err != nil || !w.Preempting {
		return false, err
	}
	if err := completeRun(tx, it, &w, exitLost); err != nil {
		return false, err
	}
	return true, wandbTx(tx).Save(it.Num, w)
}
