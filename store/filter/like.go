package filter

import (
	"strings"
	"unicode/utf8"
)

// Like reports whether text matches an SQL LIKE pattern. % matches any number of characters,
// and _ matches one character. If fold is set, Like ignores case.
//
// The running time is at most proportional to the length of text times the number of
// 64-character words in pattern.
func Like(text, pattern string, fold bool) bool {
	if fold {
		text, pattern = strings.ToLower(text), strings.ToLower(pattern)
	}
	first, rest, any := strings.Cut(pattern, "%")
	n, ok := prefix(text, first)
	if !ok {
		return false
	}
	if !any {
		return n == len(text)
	}
	text = text[n:]
	for {
		part, next, more := strings.Cut(rest, "%")
		if !more {
			return hasSuffix(text, part)
		}
		// The first match is enough: a later match leaves less text for the next parts.
		end := find(text, part)
		if end < 0 {
			return false
		}
		text, rest = text[end:], next
	}
}

// prefix reports whether text begins with a match of part. n is the length of the match in
// bytes.
func prefix(text, part string) (n int, ok bool) {
	for _, want := range part {
		got, size := utf8.DecodeRuneInString(text[n:])
		if size == 0 || want != '_' && got != want {
			return 0, false
		}
		n += size
	}
	return n, true
}

// find returns the index in text where the first match of part ends, or -1.
func find(text, part string) int {
	if !strings.Contains(part, "_") {
		at := strings.Index(text, part)
		if at < 0 {
			return -1
		}
		return at + len(part)
	}
	n := utf8.RuneCountInString(part)
	if n > len(text) {
		return -1
	}
	var m matcher
	m.compileLike(part, n)
	return m.find(text)
}

// compileLike is compile for a part of a LIKE pattern. In part, _ matches any character.
func (m *matcher) compileLike(part string, n int) {
	m.begin(n)
	at := 0
	for _, r := range part {
		if r != '_' {
			m.add(r, at)
		}
		at++
	}
	at = 0
	for _, r := range part {
		for i := 0; r == '_' && i < len(m.masks); i += m.words {
			m.masks[i+at/64] |= 1 << (at % 64)
		}
		at++
	}
}

// hasSuffix reports whether text ends with a match of part.
func hasSuffix(text, part string) bool {
	start := len(text)
	for range utf8.RuneCountInString(part) {
		if start == 0 {
			return false
		}
		_, size := utf8.DecodeLastRuneInString(text[:start])
		start -= size
	}
	n, ok := prefix(text[start:], part)
	return ok && start+n == len(text)
}
