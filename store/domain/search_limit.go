package domain

import (
	"context"
	"errors"
	"time"
)

// SearchLimit is the time limit of the searches of one read. To sort 100,000 iterations by a
// metric takes 2.4 s on a busy machine with two cores (measured); a search that
// needs four times as long delays all others, and nobody waits for its result.
const SearchLimit = 10 * time.Second

var errSearchLimit = errors.New("the search has reached its time limit")

// WithinLimit runs a search, which ends when the limit for searches is reached. fn looks at the context
// of tx where it does much between two rows. slow returns the error when it takes too
// long.
func WithinLimit[T any](tx *Tx, slow func() error, fn func() (T, error)) (T, error) {
	start := time.Now()
	ctx, cancel := context.WithTimeoutCause(tx.Context(), tx.DB.SearchLimit-tx.searched, errSearchLimit)
	defer cancel()
	whole := tx.Tx
	tx.Tx = whole.WithContext(ctx)
	defer func() {
		tx.Tx = whole
		tx.searched += time.Since(start)
	}()
	out, err := fn()
	var known *Error
	if err != nil && !errors.As(err, &known) && errors.Is(context.Cause(ctx), errSearchLimit) {
		var none T
		return none, slow()
	}
	return out, err
}

// SlowRead returns what WithinLimit calls for the error of a read that is not a search.
func SlowRead(tx *Tx, field string) func() error {
	return func() error {
		return Invalid(field, "This took longer than %v to read and was stopped; ask for fewer records or columns at once.", tx.DB.SearchLimit)
	}
}

// ListLimited runs a search for records that are compared one by one.
func ListLimited[T any](tx *Tx, fn func() ([]T, error)) ([]T, error) {
	return WithinLimit(tx, func() error {
		return Invalid("filter", "The search took longer than %v and was stopped. Make it smaller: name fewer tags, or look for texts with = rather than LIKE.",
			tx.DB.SearchLimit)
	}, fn)
}
