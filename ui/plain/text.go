package plain

import (
	"strings"

	"github.com/dustin/go-humanize"
)

// Readable returns s with invalid UTF-8 replaced, for text from a request or a file.
func Readable(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// Line returns the first line of s, of at most n characters.
func Line(s string, n int) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(s), "\n")
	line = strings.TrimSpace(line)
	if cut := Clip(line, n); cut != line {
		return cut
	}
	if rest != "" {
		return line + " …"
	}
	return line
}

// Clip returns at most n characters of s. It marks a cut by an ellipsis.
func Clip(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// Size returns a number of bytes in a suitable unit.
func Size(n int64) string { return humanize.IBytes(uint64(n)) }

// Counted returns a number and the noun after it.
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return humanize.Comma(int64(n)) + " " + many
}
