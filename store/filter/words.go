package filter

import (
	"slices"
	"strings"
)

// maxWords is the maximum number of search words.
const maxWords = 20

// words parses text that is not a valid expression as a list of search words. Each word must
// occur in one of the iteration's text fields (AnyText). words returns nil if the text was
// probably meant as an expression: it contains an operator, a quote or a keyword, or begins with
// a field.
func words(text string) Expr {
	all := strings.Fields(text)
	if len(all) == 0 || len(all) > maxWords || len(text) > MaxContains || strings.ContainsAny(text, "=<>~()'\"`") {
		return nil
	}
	if slices.ContainsFunc(all, isKeyword) {
		return nil
	}
	for _, f := range fields {
		if f.field.Named() && strings.HasPrefix(strings.ToLower(all[0]), f.word+".") {
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
