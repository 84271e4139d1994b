package search

import (
	"tracker/store/filter"
	"tracker/store/sqlite"
)

// textContains is the name of the SQL function that calls filter.Contains.
const textContains = `text_contains`

// The names of the SQL functions that call filter.Like. textLike is case-sensitive and
// textILike is case-insensitive.
const (
	textLike  = `text_like`
	textILike = `text_ilike`
)

func init() {
	sqlite.RegisterPredicate(textContains, filter.Contains)
	sqlite.RegisterPredicate(textLike, func(text, pattern string) bool { return filter.Like(text, pattern, false) })
	sqlite.RegisterPredicate(textILike, func(text, pattern string) bool { return filter.Like(text, pattern, true) })
}

// like returns the SQL condition that column matches the bound pattern. op is "like" or
// "ilike".
func like(column, op string) string {
	if op == "ilike" {
		return textILike + `(` + column + `, ?)`
	}
	return textLike + `(` + column + `, ?)`
}

// Contains returns the SQL condition that column contains the bound text. The comparison
// ignores case.
func Contains(column string) string { return textContains + `(` + column + `, ?)` }
