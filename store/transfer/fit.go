package transfer

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

// These are the length limits of the store.
const (
	maxName = 250
	// MaxText is the maximum length of a text value in bytes.
	MaxText = 1 << 20
)

// FitName converts s to a valid name with at most 250 printable characters. A longer name is cut
// and ends with part of its hash. The hash ensures that different names remain different.
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

// FitPath converts s to a valid artifact name, which is a path without "." and "..".
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

// FitText returns s as valid UTF-8, cut to at most MaxText bytes.
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
