package filter

import (
	"strings"
	"unicode/utf8"
)

// Like reports whether text matches pattern as in SQL's LIKE: % stands for any
// characters or none, _ for one character. With fold, upper and lower case are the
// same.
//
// The time is at most proportional to the length of text times that of the longest
// part of pattern between two %.
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
		// The first place is as good as any later one.
		end := find(text, part)
		if end < 0 {
			return false
		}
		text, rest = text[end:], next
	}
}

// prefix returns how many bytes at the beginning of text part matches.
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

// find returns the end of the first place in text that part matches, -1 when there
// is none.
func find(text, part string) int {
	if !strings.Contains(part, "_") {
		at := strings.Index(text, part)
		if at < 0 {
			return -1
		}
		return at + len(part)
	}
	for at := range text {
		if n, ok := prefix(text[at:], part); ok {
			return at + n
		}
	}
	return -1
}

// hasSuffix reports whether part matches the end of text.
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
