package domain

import (
	"fmt"
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

// CheckName accepts 1 to MaxName printable characters that are not all spaces.
func CheckName(field, s string) error {
	if strings.TrimSpace(s) == "" {
		return Invalid(field, "%s must not be empty.", field)
	}
	return CheckShort(field, s)
}

// CheckShort accepts up to MaxName printable characters.
func CheckShort(field, s string) error {
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

// CheckKey accepts the name of a parameter or metric: 1 to MaxName printable
// characters.
func CheckKey(s string) error {
	if s == "" {
		return Invalid("key", "key must not be empty.")
	}
	return CheckShort("key", s)
}

// CheckText accepts up to MaxText bytes.
func CheckText(field, s string) error {
	if len(s) > MaxText {
		return Invalid(field, "%s must have at most %d bytes, not %d.", field, MaxText, len(s))
	}
	if !utf8.ValidString(s) {
		return Invalid(field, "%s must be valid UTF-8.", field)
	}
	return nil
}

// CheckOptional is CheckText for a text that may be left out.
func CheckOptional(field string, s *string) error {
	if s == nil {
		return nil
	}
	return CheckText(field, *s)
}

// FirstError returns the first of errs that is not nil.
func FirstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// NewID returns a fresh UUIDv7.
func NewID() (string, error) {
	id, err := uuid.NewV7()
	return id.String(), err
}

// CheckNameAndText checks the two fields that most patches have.
func CheckNameAndText(name *string, field string, text *string) error {
	if name != nil {
		if err := CheckName("name", *name); err != nil {
			return err
		}
	}
	return CheckOptional(field, text)
}

// OneOf fails unless a value is in a list.
func OneOf[T ~string](field string, v T, all ...T) error {
	for _, a := range all {
		if v == a {
			return nil
		}
	}
	return Invalid(field, "%s must be one of %s.", field, fmt.Sprint(all))
}
