package runs

import (
	"context"

	"tracker/store/domain"
	"tracker/store/scalar"
)

// stopColumns selects the stop request of an iteration. The default user has no name here,
// because it is the user of all requests if the server runs without sign-in.
const stopColumns = `
	iteration.stop_requested,
	(SELECT user.username FROM user
		WHERE user.id = iteration.stop_requested_by AND user.username <> 'default') AS stop_requested_by`

// StopMessage returns the error message of a run that was stopped by a request. The parameter
// by is the name of the user who requested it, or nil if it is unknown.
func StopMessage(by *string) string {
	if by == nil {
		return "Stopped on request."
	}
	return "Stopped on request of " + *by + "."
}

// StopRequest returns the error message of an iteration that ends after its stop was requested. It
// returns "" if there is no request.
func StopRequest(tx *domain.Tx, it domain.IterationRef) (message string, err error) {
	var requested *scalar.Time
	var by *string
	err = tx.Row(`SELECT `+stopColumns+` FROM iteration WHERE num = ?`, it.Num).Scan(&requested, &by)
	if err != nil || requested == nil {
		return "", err
	}
	return StopMessage(by), nil
}

// RequestStop records that actor asks the script of a run to stop. The script's client reads the
// request and interrupts the script. RequestStop itself does not end the run. The request is
// removed when the run ends or its status is set to RUNNING. A second request changes nothing.
// The actor needs the right to update.
//
// RequestStop returns ITERATION_ENDED if the run has ended. It returns CONFLICT if no client
// would read the request: if the run was imported, was logged by an MLflow client, or is lost.
func (db *DB) RequestStop(ctx context.Context, actor domain.Actor, id string) error {
	return domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
		it, err := tx.AllowIteration(actor, id, domain.RightUpdate)
		if err != nil {
			return err
		}
		if err := checkStop(tx, it); err != nil {
			return err
		}
		_, err = tx.Exec(`UPDATE iteration SET stop_requested = ?, stop_requested_by = nullif(?, '')
			WHERE num = ? AND stop_requested IS NULL`, tx.Now, actor.UserID, it.Num)
		return err
	})
}

// CheckStop returns the error that RequestStop would return for an iteration. The actor needs
// the right to read.
func (v *View) CheckStop(id string) error {
	it, err := v.tx.AllowIteration(v.tx.Actor, id, domain.RightRead)
	if err != nil {
		return err
	}
	return checkStop(v.tx, it)
}

func checkStop(tx *domain.Tx, it domain.IterationState) error {
	if it.Ended() {
		return domain.ErrEnded
	}
	var lastSeen scalar.Time
	var imported, mlflow bool
	// An MLflow client always sends the tag mlflow.user or the field user_id.
	err := tx.Row(`SELECT
			last_seen,
			EXISTS (SELECT 1 FROM source WHERE source.iteration_num = iteration.num),
			EXISTS (SELECT 1 FROM property WHERE property.iteration_num = iteration.num AND property.key = 'mlflow.user')
		FROM iteration WHERE num = ?`, it.Num).Scan(&lastSeen, &imported, &mlflow)
	switch {
	case err != nil:
		return err
	case imported:
		return domain.Errorf(domain.CodeConflict, "Imported runs can't be stopped from here, because their scripts do not talk to this server.")
	case mlflow:
		return domain.Errorf(domain.CodeConflict, "Runs of MLflow's clients can't be stopped from here. Stop the script on its machine.")
	case domain.Running.Lost(tx.DB.LastSeen.Latest(it.Num, lastSeen), tx.Now):
		return domain.Errorf(domain.CodeConflict, "A lost run can't be stopped, because its script does not talk to this server any more.")
	}
	return nil
}
