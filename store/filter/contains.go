package filter

import (
	"unicode"
	"unicode/utf8"
)

// Contains reports whether part occurs in text, in upper or lower case. If part
// is ASCII, only ASCII letters have two cases; otherwise all letters have the
// cases that Unicode's simple folding gives them, except that an ASCII letter in
// part never matches a character beyond ASCII.
//
// The time is at most proportional to the length of text times the number of
// 64-character words in part, whatever the two hold.
func Contains(text, part string) bool {
	if part == "" {
		return true
	}
	n := utf8.RuneCountInString(part)
	if n > len(text) {
		return false
	}
	var m matcher
	m.compile(part, n)
	return m.in(text)
}

// matcher looks for one text with the algorithm Shift-And (R. Baeza-Yates and
// G. Gonnet, A new approach to text searching, 1992). Bit i of the mask of a
// character is set when it matches place i of the text that is looked for; bit i
// of the state is set when the first i+1 places have just been matched.
type matcher struct {
	ascii [utf8.RuneSelf]int32 // index in masks; 0 for a character that matches no place
	other map[rune]int32       // the same beyond ASCII
	masks []uint64             // one after the other; the first is empty
	words int                  // in a mask
	last  uint64               // the bit of the last place, in the last word
}

func (m *matcher) compile(part string, n int) {
	m.words, m.last = (n+63)/64, 1<<((n-1)%64)
	m.masks = make([]uint64, m.words, 16*m.words)
	at := 0
	for _, r := range part {
		m.add(r, at)
		for v := unicode.SimpleFold(r); v != r; v = unicode.SimpleFold(v) {
			if r > unicode.MaxASCII || v <= unicode.MaxASCII {
				m.add(v, at)
			}
		}
		at++
	}
}

// add makes r match place at.
func (m *matcher) add(r rune, at int) {
	i := int(m.index(r))
	if i == 0 {
		i = len(m.masks)
		for range m.words {
			m.masks = append(m.masks, 0)
		}
		switch {
		case r < utf8.RuneSelf:
			m.ascii[r] = int32(i)
		case m.other == nil:
			m.other = map[rune]int32{r: int32(i)}
		default:
			m.other[r] = int32(i)
		}
	}
	m.masks[i+at/64] |= 1 << (at % 64)
}

func (m *matcher) index(r rune) int32 {
	if r < utf8.RuneSelf {
		return m.ascii[r]
	}
	return m.other[r]
}

func (m *matcher) in(text string) bool {
	if m.words == 1 {
		var state uint64
		for _, r := range text {
			if state = (state<<1 | 1) & m.masks[m.index(r)]; state&m.last != 0 {
				return true
			}
		}
		return false
	}
	state := make([]uint64, m.words)
	for _, r := range text {
		i := int(m.index(r))
		carry := uint64(1)
		for w, mask := range m.masks[i : i+m.words] {
			next := state[w] >> 63
			state[w] = (state[w]<<1 | carry) & mask
			carry = next
		}
		if state[m.words-1]&m.last != 0 {
			return true
		}
	}
	return false
}
