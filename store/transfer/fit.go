package transfer

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The length limits of the store, in characters and in bytes.
const (
	maxName = 250
	// MaxText is the length limit of a text, in bytes.
	MaxText = 1 << 20
)

// FitName returns s as a name of at most 250 printable characters. A longer name is cut and ends
// with a part of its hash, so that different names stay different.
func FitName(s string) string {
	fits := strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsGraphic(r) && r != '\u200c' && r != '\u200d' {
			return '_'
		}
		return r
	}, s)
	if strings.TrimSpace(fits) == "" {
		fits = "_"
	}
	if utf8.RuneCountInString(fits) <= maxName {
		return fits
	}
	sum := sha256.Sum256([]byte(s))
	return string([]rune(fits)[:maxName-9]) + "~" + hex.EncodeToString(sum[:4])
}

// FitPath returns s as the name of an artifact: a path without "." and "..".
func FitPath(s string) string {
	var parts []string
	for p := range strings.SplitSeq(strings.ReplaceAll(s, `\`, "/"), "/") {
		switch p {
		case "", ".":
		case "..":
			parts = append(parts, "_")
		default:
			parts = append(parts, p)
		}
	}
	return FitName(strings.Join(parts, "/"))
}

// FitText returns s as valid UTF-8 of at most MaxText bytes.
func FitText(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= MaxText {
		return s
	}
	s = s[:MaxText]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s
}
