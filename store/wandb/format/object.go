// Package format reads and writes values in the formats of W&B's clients and files: JSON objects as
// Python writes them, with NaN and infinities, and in them history rows, settings, and the charts
// and tables of wandb.plot.
//
// The package implements the rules for converting W&B's values to tracker's values: which values
// are numbers, how the numbers are named, and which values stay unchanged. A value that the package
// does not understand is returned as a string, so no value is lost.
//
// The package does not use the database or the network and has no state.
package format

import (
	"cmp"
	"errors"
	"io"
	"strings"

	"tracker/store/json"
)

// Member is a key of a JSON object and its value as JSON.
type Member struct{ Key, Value string }

var errObject = errors.New("this is not a JSON object as Python writes it")

// Members returns the members of a JSON object, in order. It accepts NaN, Infinity and -Infinity,
// which Python writes. It finds the end of each value but does not validate the value.
func Members(text string) ([]Member, error) {
	s := scanner{text: text}
	s.space()
	if !s.take('{') {
		return nil, errObject
	}
	var all []Member
	s.space()
	if s.take('}') {
		return all, s.end()
	}
	for {
		s.space()
		key, err := s.key()
		if err != nil {
			return nil, err
		}
		s.space()
		if !s.take(':') {
			return nil, errObject
		}
		s.space()
		from := s.at
		if !s.value() {
			return nil, errObject
		}
		all = append(all, Member{key, text[from:s.at]})
		s.space()
		if s.take('}') {
			return all, s.end()
		}
		if !s.take(',') {
			return nil, errObject
		}
	}
}

var errList = errors.New("this is not a JSON list as Python writes it")

// Elements is an iterator over the elements of a JSON list. Like Members, it does not validate
// the elements.
type Elements struct {
	s     scanner
	begun bool
	err   error
}

// NewElements returns an iterator over the elements of the JSON list text.
func NewElements(text string) *Elements { return &Elements{s: scanner{text: text}} }

// Next returns the next element of the list. It returns false after the last element or if the
// text is not valid.
func (e *Elements) Next() (string, bool) {
	if e.err != nil {
		return "", false
	}
	e.s.space()
	if !e.begun && !e.s.take('[') {
		e.err = errList
		return "", false
	}
	e.s.space()
	if e.s.take(']') {
		e.err = cmp.Or(e.s.end(), io.EOF)
		return "", false
	}
	if e.begun && !e.s.take(',') {
		e.err = errList
		return "", false
	}
	e.begun = true
	e.s.space()
	from := e.s.at
	if !e.s.value() {
		e.err = errList
		return "", false
	}
	return e.s.text[from:e.s.at], true
}

// Length returns the number of elements in a JSON list.
func Length(text string) (n int, err error) {
	e := NewElements(text)
	for {
		if _, ok := e.Next(); !ok {
			break
		}
		n++
	}
	if errors.Is(e.err, io.EOF) {
		return n, nil
	}
	return n, e.err
}

// Object returns the JSON object with the given members.
func Object(members []Member) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(Quote(m.Key))
		b.WriteByte(':')
		b.WriteString(m.Value)
	}
	b.WriteByte('}')
	return b.String()
}

// Quote returns s as a JSON string.
func Quote(s string) string {
	b, err := json.Marshal(s, json.AllowInvalidUTF8(true))
	if err != nil {
		return `""` // cannot happen for a string
	}
	return string(b)
}

// scanner reads the JSON value in text from left to right.
type scanner struct {
	text string
	at   int
}

func (s *scanner) space() {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\n' || s.text[s.at] == '\t' || s.text[s.at] == '\r') {
		s.at++
	}
}

func (s *scanner) take(c byte) bool {
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

// end returns an error if text remains after the value.
func (s *scanner) end() error {
	s.space()
	if s.at < len(s.text) {
		return errObject
	}
	return nil
}

// key reads the key of an object member.
func (s *scanner) key() (string, error) {
	from := s.at
	if !s.quoted() {
		return "", errObject
	}
	inner := s.text[from+1 : s.at-1]
	if strings.IndexByte(inner, '\\') < 0 {
		return inner, nil
	}
	var key string
	err := json.Unmarshal([]byte(s.text[from:s.at]), &key, json.AllowInvalidUTF8(true))
	return key, err
}

// quoted skips a quoted string. It reports whether it found a string.
func (s *scanner) quoted() bool {
	if !s.take('"') {
		return false
	}
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case '"':
			s.at++
			return true
		case '\\':
			s.at++
		}
		s.at++
	}
	return false
}

// value skips a JSON value. It reports whether it found one. It counts brackets without
// distinguishing [ from {.
func (s *scanner) value() bool {
	depth := 0
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case '"':
			if !s.quoted() {
				return false
			}
			if depth == 0 {
				return true
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return false
			}
			if depth--; depth == 0 {
				s.at++
				return true
			}
		case ',', ':', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return false
			}
		default:
			if depth == 0 {
				return s.word()
			}
		}
		s.at++
	}
	return false
}

// word skips a number or a word such as null. It reports whether it found one.
func (s *scanner) word() bool {
	from := s.at
	for s.at < len(s.text) {
		c := s.text[s.at]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '+' && c != '.' {
			break
		}
		s.at++
	}
	word := s.text[from:s.at]
	if word == "null" {
		return true
	}
	_, ok := Number(word)
	return ok
}
