package runs

import (
	"time"

	"tracker/store/access"
	"tracker/store/search"
)

// Limited runs a search, whose statements end when the limit for searches is reached.
// The error is INVALID_PAYLOAD then and not UNAVAILABLE, because clients repeat
// what is unavailable, and the same search would take as long again.
func Limited[T any](tx *access.Tx, s search.Query, fn func(*search.Snapshot) (T, error)) (T, error) {
	return access.WithinLimit(tx, func() error { return tooSlow(s, tx.DB.SearchLimit) }, func() (T, error) { return fn(SearchSnapshot(tx)) })
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
	return access.Invalid(field, "The search took longer than %v and was stopped. Make it smaller: compare and sort by fewer names, "+
		"look for texts with = or in rather than contains, or put the runs into several experiments.", limit)
}
