package wandb

import (
	"tracker/store/domain"
	"tracker/store/runs"
)

const (
	// preempted is the error message of a preempted run.
	preempted = "preempted"
	// exitLost is the exit code for a run whose client sent no exit code.
	exitLost = -1
)

// endPreempted reports whether an ended or lost run was preempted. If a lost run announced its
// preemption, endPreempted ends the run. A run with a stop request does not count as preempted.
func endPreempted(tx *domain.Tx, it domain.IterationState) (bool, error) {
	if it.Ended() {
		return it.Status == domain.Killed && it.ErrorMessage == preempted, nil
	}
	w, err := wandbRun(tx, it.IterationRef)
	if err != nil || !w.Preempting {
		return false, err
	}
	request, err := runs.StopRequest(tx, it.IterationRef)
	if err != nil {
		return false, err
	}
	if err := completeRun(tx, it, &w, exitLost, request); err != nil {
		return false, err
	}
	return request == "", wandbTx(tx).Save(it.Num, w)
}
