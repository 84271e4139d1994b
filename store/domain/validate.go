package domain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
)

const (
	// MaxName is the maximum length of names, keys and tags, in characters.
	MaxName = 250
	// MaxText is the maximum length of text fields and parameter values, in bytes.
	MaxText = 1 << 20
	// MinPassword and MaxPassword limit the length of a password, in bytes. bcrypt accepts at
	// most MaxPassword bytes.
	MinPassword = 8
	MaxPassword = 72
)

// CheckName checks that s has 1 to MaxName characters. All characters must be printable, and at
// least one must not be a space.
func CheckName(field, s string) error {
	if strings.TrimSpace(s) == "" {
		return Invalid(field, "%s must not be empty.", field)
	}
	return CheckShort(field, s)
}

// CheckShort checks that s has at most MaxName characters. All characters must be printable.
func CheckShort(field, s string) error {
	if utf8.RuneCountInString(s) > MaxName {
		return Invalid(field, "%s must have at most %d characters.", field, MaxName)
	}
	if !utf8.ValidString(s) {
		return Invalid(field, "%s must be valid UTF-8.", field)
	}
	for _, r := range s {
		if !printable(r) {
			return Invalid(field, "%s must have printable characters only; %U is not printable.", field, r)
		}
	}
	return nil
}

// printable reports whether r is a Unicode graphic character or one of two joiners. Emoji and
// some scripts need the joiners within a word.
func printable(r rune) bool {
	return unicode.IsGraphic(r) || r == '\u200c' || r == '\u200d'
}

// CheckKey checks the name of a parameter or metric. It must have 1 to MaxName printable
// characters.
func CheckKey(s string) error {
	if s == "" {
		return Invalid("key", "key must not be empty.")
	}
	return CheckShort("key", s)
}

// CheckText checks that s is valid UTF-8 with at most MaxText bytes.
func CheckText(field, s string) error {
	if len(s) > MaxText {
		return Invalid(field, "%s must have at most %d bytes, not %d.", field, MaxText, len(s))
	}
	if !utf8.ValidString(s) {
		return Invalid(field, "%s must be valid UTF-8.", field)
	}
	return nil
}

// CheckOptional is CheckText for an optional field. It accepts nil.
func CheckOptional(field string, s *string) error {
	if s == nil {
		return nil
	}
	return CheckText(field, *s)
}

// FirstError returns the first non-nil error in errs, or nil.
func FirstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// NewID returns a new UUIDv7.
func NewID() string {
	return uuid.Must(uuid.NewV7()).String() // crypto/rand never returns an error
}

// CheckNameAndText checks the name and another text field of a patch. Both can be nil. field is
// the name of the text field.
func CheckNameAndText(name *string, field string, text *string) error {
	if name != nil {
		if err := CheckName("name", *name); err != nil {
			return err
		}
	}
	return CheckOptional(field, text)
}

// OneOf checks that v is one of the values in all.
func OneOf[T ~string](field string, v T, all ...T) error {
	for _, a := range all {
		if v == a {
			return nil
		}
	}
	return Invalid(field, "%s must be one of %s.", field, fmt.Sprint(all))
}
