package domain

import (
	"context"
	"errors"
	"time"
)

// SearchLimit is the time limit of the searches of one read. Sorting 100,000 iterations by a
// metric takes 2.4 s on a busy machine with two cores (measured). A search that takes four
// times as long delays all others, and nobody waits for its result.
const SearchLimit = 10 * time.Second

var errSearchLimit = errors.New("the search has reached its time limit")

// WithinLimit runs fn, which is a search, with the time limit of searches. If fn does much work
// between two rows, it must check the context of tx. If the limit is reached, WithinLimit returns
// the error of slow.
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

// SlowRead returns the argument slow of WithinLimit for a read that is not a search.
func SlowRead(tx *Tx, field string) func() error {
	return func() error {
		return Invalid(field, "Reading took longer than %v and was stopped; request fewer records or columns at once.", tx.DB.SearchLimit)
	}
}

// ListLimited is WithinLimit for a search that compares records one by one.
func ListLimited[T any](tx *Tx, fn func() ([]T, error)) ([]T, error) {
	return WithinLimit(tx, func() error {
		return Invalid("filter", "The search took longer than %v and was stopped. Simplify it: use fewer tags, or compare text with = instead of LIKE.",
			tx.DB.SearchLimit)
	}, fn)
}
