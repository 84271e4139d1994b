package plain

import (
	"strings"

	"github.com/dustin/go-humanize"
)

// Readable returns s with each run of invalid UTF-8 replaced by U+FFFD. Callers use it for text
// from a request or a file.
func Readable(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// Line returns the first line of s, cut to n characters. An ellipsis marks omitted text.
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

// Clip returns s cut to n characters. An ellipsis marks omitted text.
func Clip(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// Size formats a number of bytes with a binary unit, for example "4.0 MiB".
func Size(n int64) string { return humanize.IBytes(uint64(n)) }

// Counted returns n followed by the noun one or many.
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return humanize.Comma(int64(n)) + " " + many
}
