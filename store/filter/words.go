package filter

import (
	"slices"
	"strings"
)

// maxWords is the maximum number of words in a search.
const maxWords = 20

// words reads a text that is not an expression as words to search for. Each word must occur
// in one of the texts of an iteration (AnyText). words returns nil for a text that was
// probably meant as an expression, because it contains operators, quotes or keywords or
// begins with a field.
func words(text string) Expr {
	all := strings.Fields(text)
	if len(all) == 0 || len(all) > maxWords || len(text) > MaxContains || strings.ContainsAny(text, "=<>()'\"`") {
		return nil
	}
	keyword := func(word string) bool {
		return slices.Contains([]string{"and", "or", "not", "in", "contains", "like"}, strings.ToLower(word))
	}
	if slices.ContainsFunc(all, keyword) {
		return nil
	}
	for _, kind := range []string{"param.", "metric.", "property."} {
		if strings.HasPrefix(strings.ToLower(all[0]), kind) {
			return nil
		}
	}
	if p, err := newParser(all[0], nil); err == nil {
		if _, err := p.ref(); err == nil {
			return nil
		}
	}
	var parts []Expr
	for _, word := range all {
		parts = append(parts, Comparison{Ref: Ref{Key: Key{Field: AnyText}}, Op: "contains", Values: []Literal{{Text: word}}})
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return Junction{Parts: parts}
}
