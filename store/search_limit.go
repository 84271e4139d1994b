package store

import (
	"context"
	"errors"
	"time"

	"tracker/store/search"
)

// searchLimit is the time limit of the searches of one read. To sort 100,000 iterations by a
// metric takes 2.4 s on a busy machine with two cores (measured); a search that
// needs four times as long delays all others, and nobody waits for its result.
const searchLimit = 10 * time.Second

var errSearchLimit = errors.New("the search has reached its time limit")

// limited runs a search, whose statements end when the limit for searches is reached.
// The error is INVALID_PAYLOAD then and not UNAVAILABLE, because clients repeat
// what is unavailable, and the same search would take as long again.
func limited[T any](tx *tx, s search.Query, fn func(*search.Snapshot) (T, error)) (T, error) {
	return withinLimit(tx, func() error { return tooSlow(s, tx.db.searchLimit) }, func() (T, error) { return fn(tx.search()) })
}

// withinLimit is limited for a search that is not one of runs. fn looks at the context
// of tx where it does much between two rows. slow returns the error when it takes too
// long.
func withinLimit[T any](tx *tx, slow func() error, fn func() (T, error)) (T, error) {
	start := time.Now()
	ctx, cancel := context.WithTimeoutCause(tx.Context(), tx.db.searchLimit-tx.searched, errSearchLimit)
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

// errSlowRead is the error of a read that takes too long and is not a search.
func errSlowRead(field string, tx *tx) error {
	return Invalid(field, "This took longer than %v to read and was stopped; ask for fewer records or columns at once.", tx.db.searchLimit)
}

func tooSlow(s search.Query, limit time.Duration) error {
	field := "filter"
	switch {
	case s.Filter != nil:
	case len(s.Sort) > 0:
		field = "sort"
	default:
		field = "group"
	}
	return Invalid(field, "The search took longer than %v and was stopped. Make it smaller: compare and sort by fewer names, "+
		"look for texts with = or in rather than contains, or put the runs into several experiments.", limit)
}

// listLimited runs a search for records that are compared one by one.
func listLimited[T any](tx *tx, fn func() ([]T, error)) ([]T, error) {
	return withinLimit(tx, func() error {
		return Invalid("filter", "The search took longer than %v and was stopped. Make it smaller: name fewer tags, or look for texts with = rather than LIKE.",
			tx.db.searchLimit)
	}, fn)
}
