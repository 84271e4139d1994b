package filter

import (
	"unicode"
	"unicode/utf8"
)

// Contains reports whether text contains part, ignoring case. It uses Unicode's simple case
// folding. As an exception, an ASCII letter in part never matches a non-ASCII character.
//
// The running time is at most proportional to the length of text times the number of
// 64-character words in part.
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
	return m.find(text) >= 0
}

// matcher searches for one pattern with the Shift-And algorithm (R. Baeza-Yates and G. Gonnet, A
// new approach to text searching, 1992). Each character has a mask. Bit i of the mask is set if
// the character matches position i of the pattern. The search has a state. Bit i of the state is
// set if the first i+1 positions of the pattern match the last i+1 characters read.
type matcher struct {
	ascii [utf8.RuneSelf]int32 // index in masks; 0 for a character that the pattern does not contain
	other map[rune]int32       // index in masks for each non-ASCII character
	masks []uint64             // concatenated masks; the first mask is for characters that the pattern does not contain
	words int                  // number of 64-bit words in a mask
	last  uint64               // bit for the last position, in the last word of a mask
}

// begin prepares m for a pattern with n characters.
func (m *matcher) begin(n int) {
	m.words, m.last = (n+63)/64, 1<<((n-1)%64)
	m.masks = make([]uint64, m.words, 16*m.words)
}

func (m *matcher) compile(part string, n int) {
	m.begin(n)
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

// add makes r match the pattern position at.
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

// find returns the index in text where the first match ends, or -1.
func (m *matcher) find(text string) int {
	if m.words == 1 {
		var state uint64
		for at, r := range text {
			if state = (state<<1 | 1) & m.masks[m.index(r)]; state&m.last != 0 {
				return after(text, at)
			}
		}
		return -1
	}
	state := make([]uint64, m.words)
	for at, r := range text {
		i := int(m.index(r))
		carry := uint64(1)
		for w, mask := range m.masks[i : i+m.words] {
			next := state[w] >> 63
			state[w] = (state[w]<<1 | carry) & mask
			carry = next
		}
		if state[m.words-1]&m.last != 0 {
			return after(text, at)
		}
	}
	return -1
}

// after returns the index in text after the character at index at.
func after(text string, at int) int {
	_, size := utf8.DecodeRuneInString(text[at:])
	return at + size
}
