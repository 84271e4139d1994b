package runs

import (
	"tracker/store/domain"
	"tracker/store/scalar"
)

// End is the part of an iteration that SetEnd writes.
type End struct {
	Status  domain.IterationStatus
	Message string       // the error message
	Date    *scalar.Time // nil for a RUNNING iteration
	// Given reports whether a caller named Date. A given date is kept. Any other date is moved
	// to the creation of the iteration if it is before that.
	Given bool
}

// SetEnd writes the end of an iteration. It is the only place that ends an iteration or opens
// it again.
func SetEnd(tx *domain.Tx, it domain.IterationRef, e End) error {
	// max is NULL if one of its values is.
	_, err := tx.Exec(`UPDATE iteration SET
			status        = ?,
			error_message = ?,
			end_date      = iif(?, ?, max(?, created_date))
		WHERE num = ?`, e.Status, e.Message, e.Given, e.Date, e.Date, it.Num)
	return err
}
