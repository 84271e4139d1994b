package store

import (
	"crypto/rand"
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
)

const (
	// MaxName is the length limit of names, keys and tags, in characters.
	MaxName = 250
	// MaxText is the length limit of texts and parameter values, in bytes.
	MaxText = 1 << 20
	// MinPassword and MaxPassword are the limits of a password, in bytes; the
	// upper one is bcrypt's.
	MinPassword = 8
	MaxPassword = 72
)

// checkName accepts 1 to MaxName printable characters that are not all spaces.
func checkName(field, s string) error {
	if strings.TrimSpace(s) == "" {
		return Invalid(field, "%s must not be empty.", field)
	}
	return checkShort(field, s)
}

// checkShort accepts up to MaxName printable characters.
func checkShort(field, s string) error {
	if utf8.RuneCountInString(s) > MaxName {
		return Invalid(field, "%s must have at most %d characters.", field, MaxName)
	}
	if !utf8.ValidString(s) {
		return Invalid(field, "%s must be valid UTF-8.", field)
	}
	for _, r := range s {
		if !printable(r) {
			return Invalid(field, "%s must consist of printable characters; %U is not one.", field, r)
		}
	}
	return nil
}

// printable accepts what Unicode calls graphic, and the two joiners that
// emoji and some scripts need within a word.
func printable(r rune) bool {
	return unicode.IsGraphic(r) || r == '\u200c' || r == '\u200d'
}

// checkKey accepts the name of a parameter or metric: 1 to MaxName printable
// characters.
func checkKey(s string) error {
	if s == "" {
		return Invalid("key", "key must not be empty.")
	}
	return checkShort("key", s)
}

// checkText accepts up to MaxText bytes.
func checkText(field, s string) error {
	if len(s) > MaxText {
		return Invalid(field, "%s must have at most %d bytes, not %d.", field, MaxText, len(s))
	}
	if !utf8.ValidString(s) {
		return Invalid(field, "%s must be valid UTF-8.", field)
	}
	return nil
}

// checkOptional is checkText for a text that may be left out.
func checkOptional(field string, s *string) error {
	if s == nil {
		return nil
	}
	return checkText(field, *s)
}

func checkPassword(s string) error {
	if len(s) < MinPassword || len(s) > MaxPassword {
		return Invalid("password", "password must have %d to %d bytes, not %d.", MinPassword, MaxPassword, len(s))
	}
	return nil
}

// firstError returns the first of errs that is not nil.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// newID returns a fresh UUIDv7.
func newID() (string, error) {
	id, err := uuid.NewV7()
	return id.String(), err
}

// randomPassword returns 20 characters that are easy to read aloud, about 100
// bits.
func randomPassword() (string, error) {
	const letters = "abcdefghjkmnpqrstuvwxyz23456789"
	b := make([]byte, 20)
	for i := range b {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(letters))))
		if err != nil {
			return "", err
		}
		b[i] = letters[n.Int64()]
	}
	return string(b), nil
}
