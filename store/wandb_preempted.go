package store

const (
	// preempted is the error message of a run whose machine was taken away.
	preempted = "preempted"
	// exitLost stands for the exit code of a run that gave none.
	exitLost = -1
)

// settlePreempted reports whether a run that has ended or is lost was preempted. One that
// is lost after it announced that ends as preempted.
func (tx *tx) settlePreempted(it iterationState) (bool, error) {
	if it.ended() {
		return it.status == Killed && it.errorMessage == preempted, nil
	}
	w, err := tx.wandbRun(it.iterationRef)
	if err != nil || !w.Preempting {
		return false, err
	}
	if err := tx.completeWandb(it, &w, exitLost); err != nil {
		return false, err
	}
	tx.noteIteration(it.iterationRef)
	return true, tx.wandb().Save(it.num, w)
}
