package domain

import (
	"context"
	"errors"
	"time"
)

// SearchLimit is the total time limit for the searches of one read. Sorting 100,000 iterations by a
// metric takes 2.4 s on a busy machine with two cores (measured). A search that takes four times as
// long delays all other searches, and its user has probably left the page.
const SearchLimit = 10 * time.Second

var errSearchLimit = errors.New("the search has reached its time limit")

// WithinLimit runs the search fn and returns its result. When the searches of tx reach the time
// limit, WithinLimit stops fn and returns the error of slow. If fn runs for a long time without
// reading rows, it must check the context of tx itself.
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

// SlowRead returns a function to pass to WithinLimit as slow, for a read without search
// conditions. The returned function returns an INVALID_PAYLOAD error for the given field.
func SlowRead(tx *Tx, field string) func() error {
	return func() error {
		return Invalid(field, "Reading took longer than %v and was stopped; request fewer records or columns at once.", tx.DB.SearchLimit)
	}
}

// ListLimited is WithinLimit for a search with filters that compare records one by one.
func ListLimited[T any](tx *Tx, fn func() ([]T, error)) ([]T, error) {
	return WithinLimit(tx, func() error {
		return Invalid("filter", "The search took longer than %v and was stopped. Simplify it: use fewer tags, or compare text with = instead of LIKE.",
			tx.DB.SearchLimit)
	}, fn)
}
