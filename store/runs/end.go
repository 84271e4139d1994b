package runs

import (
	"tracker/store/domain"
	"tracker/store/scalar"
)

// SetEnd sets the status, the error message and the end of an iteration, and announces the
// change. All code that ends or reopens an iteration calls it. end is nil for a RUNNING
// iteration. An end before the creation of the iteration is moved to the creation.
func SetEnd(tx *domain.Tx, it domain.IterationRef, status domain.IterationStatus, message string, end *scalar.Time) error {
	// max is NULL if one of its values is.
	_, err := tx.Exec(`UPDATE iteration SET
			status        = ?,
			error_message = ?,
			end_date      = max(?, created_date)
		WHERE num = ?`, status, message, end, it.Num)
	if err != nil {
		return err
	}
	tx.Touch(it)
	tx.NoteIteration(it)
	return tx.NoteParent(it.Num)
}
