// Package terminal converts console output into text with styles. The package interprets the
// control sequences for colours and for progress bars that overwrite a line. All other escape
// sequences are removed.
package terminal

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Span is a text in one style. Class holds CSS class names separated by spaces, for example
// "bold red". Class is "" for plain text.
type Span struct {
	Class string `json:"class,omitzero"`
	Text  string `json:"text"`
}

// style is the style of a character.
type style struct {
	color                                 int8 // 1 to 16; 0 for the default colour
	bold, dim, italic, underline, inverse bool
}

type cell struct {
	r     rune
	style style
}

// screen is one line of a terminal.
type screen struct {
	cells []cell
	at    int // cursor position
	style style
}

const (
	// maxColumns is the maximum cursor position.
	maxColumns = 16 << 10
	// maxGap is the maximum distance from the end of the text to the cursor.
	maxGap = 200
)

// Line returns the text and styles that a terminal shows after printing s.
func Line(s string) []Span {
	var l screen
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		if r == '\x1b' {
			s = l.escape(s)
		} else {
			l.put(r)
		}
	}
	return l.spans()
}

// Plain returns the text that a terminal shows after printing s, without styles.
func Plain(s string) string {
	var b strings.Builder
	for _, span := range Line(s) {
		b.WriteString(span.Text)
	}
	return b.String()
}

func (l *screen) put(r rune) {
	switch {
	case r == '\r':
		l.at = 0
	case r == '\b':
		l.at = max(0, l.at-1)
	case r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0:
		// Ignore other control characters.
	case l.at < maxColumns:
		for len(l.cells) <= l.at {
			l.cells = append(l.cells, cell{r: ' '})
		}
		l.cells[l.at] = cell{r, l.style}
		l.at++
	}
}

// escape executes an escape sequence and returns the text after the sequence. The parameter s
// starts after the escape character.
func (l *screen) escape(s string) string {
	if rest, ok := strings.CutPrefix(s, "]"); ok { // window title or hyperlink
		end := strings.IndexAny(rest, "\a\x1b")
		if end < 0 {
			return ""
		}
		return strings.TrimPrefix(strings.TrimPrefix(rest[end:], "\a"), "\x1b\\")
	}
	rest, ok := strings.CutPrefix(s, "[")
	if !ok {
		if s == "" {
			return ""
		}
		_, size := utf8.DecodeRuneInString(s)
		return s[size:]
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r >= 0x40 && r <= 0x7e })
	if end < 0 {
		return ""
	}
	var numbers []int
	for part := range strings.FieldsFuncSeq(rest[:end], func(r rune) bool { return r == ';' || r == ':' }) {
		n, err := strconv.Atoi(part)
		if err != nil {
			n = 0
		}
		numbers = append(numbers, n)
	}
	first := 0
	if len(numbers) > 0 {
		first = numbers[0]
	}
	switch rest[end] {
	case 'm':
		l.render(numbers)
	case 'K':
		l.erase(first)
	case 'C':
		l.at = min(len(l.cells)+maxGap, l.at+max(1, min(first, maxColumns)))
	case 'D':
		l.at = max(0, l.at-max(1, min(first, maxColumns)))
	case 'G':
		l.at = min(len(l.cells)+maxGap, max(0, first-1))
	}
	return rest[end+1:]
}

// erase removes text: 0 means after the cursor, 1 before the cursor, and 2 all text.
func (l *screen) erase(what int) {
	switch what {
	case 0:
		l.cells = l.cells[:min(l.at, len(l.cells))]
	case 1:
		for i := range min(l.at+1, len(l.cells)) {
			l.cells[i] = cell{r: ' '}
		}
	case 2:
		l.cells = l.cells[:0]
	}
}

// render sets the style according to the parameters of an SGR sequence (ECMA-48).
func (l *screen) render(numbers []int) {
	if len(numbers) == 0 {
		l.style = style{}
	}
	for i := 0; i < len(numbers); i++ {
		s := &l.style
		switch n := numbers[i]; {
		case n == 0:
			*s = style{}
		case n == 1:
			s.bold = true
		case n == 2:
			s.dim = true
		case n == 3:
			s.italic = true
		case n == 4:
			s.underline = true
		case n == 7:
			s.inverse = true
		case n == 22:
			s.bold, s.dim = false, false
		case n == 23:
			s.italic = false
		case n == 24:
			s.underline = false
		case n == 27:
			s.inverse = false
		case n >= 30 && n <= 37:
			s.color = int8(n - 30 + 1)
		case n >= 90 && n <= 97:
			s.color = int8(n - 90 + 9)
		case n == 39:
			s.color = 0
		case n == 38 || n == 48:
			color, used := colorOf(numbers[i+1:])
			if n == 38 {
				s.color = color
			}
			i += used
		}
	}
}

// colorOf returns the nearest of the 16 colours, and the number of parameters that it consumed.
func colorOf(numbers []int) (color int8, used int) {
	switch {
	case len(numbers) >= 2 && numbers[0] == 5:
		n := numbers[1]
		switch {
		case n >= 0 && n < 16:
			return int8(n + 1), 2
		case n >= 16 && n < 232:
			n -= 16
			return nearest(n/36*51, n/6%6*51, n%6*51), 2
		}
		return 0, 2 // greys have the default colour
	case len(numbers) >= 4 && numbers[0] == 2:
		return nearest(numbers[1], numbers[2], numbers[3]), 4
	}
	return 0, len(numbers)
}

// nearest returns the colour with the nearest hue, or 0 for grey.
func nearest(r, g, b int) int8 {
	most, least := max(r, g, b), min(r, g, b)
	if most-least < 48 {
		return 0
	}
	middle := (most + least) / 2
	var color int8 = 1
	for bit, part := range []int{r, g, b} {
		if part > middle {
			color += 1 << bit
		}
	}
	return color
}

var colors = [...]string{"", "black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"}

// class returns the CSS classes of a style.
func (s style) class() string {
	var names []string
	for _, n := range []struct {
		set  bool
		name string
	}{{s.bold, "bold"}, {s.dim, "dim"}, {s.italic, "italic"}, {s.underline, "underline"}, {s.inverse, "inverse"}} {
		if n.set {
			names = append(names, n.name)
		}
	}
	if color := s.color; color > 8 {
		names = append(names, colors[color-8])
	} else if color > 0 {
		names = append(names, colors[color])
	}
	return strings.Join(names, " ")
}

func (l *screen) spans() []Span {
	var all []Span
	var text strings.Builder
	for i, c := range l.cells {
		text.WriteRune(c.r)
		if i+1 == len(l.cells) || l.cells[i+1].style != c.style {
			all = append(all, Span{c.style.class(), text.String()})
			text.Reset()
		}
	}
	return all
}
