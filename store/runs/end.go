package runs

import (
	"tracker/store/domain"
	"tracker/store/scalar"
)

// End holds the fields of an iteration that SetEnd writes.
type End struct {
	Status  domain.IterationStatus
	Message string       // error message
	Date    *scalar.Time // nil for a RUNNING iteration
	// Given reports whether a caller chose Date. SetEnd stores a chosen date unchanged. If any
	// other date is earlier than the creation of the iteration, SetEnd stores the creation
	// date.
	Given bool
	// KeepStop leaves the stop request unchanged, for a run that continues.
	KeepStop bool
}

// SetEnd writes the status and the end of an iteration, and removes its stop request if KeepStop
// is not set. No other function ends or reopens an iteration.
func SetEnd(tx *domain.Tx, it domain.IterationRef, e End) error {
	// max returns NULL if one of its arguments is NULL.
	_, err := tx.Exec(`UPDATE iteration SET
			status            = ?,
			error_message     = ?,
			end_date          = iif(?, ?, max(?, created_date)),
			stop_requested    = iif(?, stop_requested, NULL),
			stop_requested_by = iif(?, stop_requested_by, NULL)
		WHERE num = ?`, e.Status, e.Message, e.Given, e.Date, e.Date, e.KeepStop, e.KeepStop, it.Num)
	return err
}
