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
	// MinPassword and MaxPassword are the limits of the length of a password, in
	// bytes. MaxPassword is the limit of bcrypt.
	MinPassword = 8
	MaxPassword = 72
)

// CheckName checks that s has 1 to MaxName printable characters that are not all spaces.
func CheckName(field, s string) error {
	if strings.TrimSpace(s) == "" {
		return Invalid(field, "%s must not be empty.", field)
	}
	return CheckShort(field, s)
}

// CheckShort checks that s has at most MaxName characters, all printable.
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

// printable reports whether r is a graphic character as defined by Unicode, or one of the
// two joiners that emoji and some scripts need within a word.
func printable(r rune) bool {
	return unicode.IsGraphic(r) || r == '\u200c' || r == '\u200d'
}

// CheckKey checks the name of a parameter or metric, which has 1 to MaxName printable
// characters.
func CheckKey(s string) error {
	if s == "" {
		return Invalid("key", "key must not be empty.")
	}
	return CheckShort("key", s)
}

// CheckText checks that s is valid UTF-8 of at most MaxText bytes.
func CheckText(field, s string) error {
	if len(s) > MaxText {
		return Invalid(field, "%s must have at most %d bytes, not %d.", field, MaxText, len(s))
	}
	if !utf8.ValidString(s) {
		return Invalid(field, "%s must be valid UTF-8.", field)
	}
	return nil
}

// CheckOptional is CheckText for a text that may be nil.
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

// NewID returns a new UUIDv7.
func NewID() (string, error) {
	id, err := uuid.NewV7()
	return id.String(), err
}

// CheckNameAndText checks the name and the text of a patch; either may be nil. field is the
// name of the text.
func CheckNameAndText(name *string, field string, text *string) error {
	if name != nil {
		if err := CheckName("name", *name); err != nil {
			return err
		}
	}
	return CheckOptional(field, text)
}

// OneOf checks that v is in all.
func OneOf[T ~string](field string, v T, all ...T) error {
	for _, a := range all {
		if v == a {
			return nil
		}
	}
	return Invalid(field, "%s must be one of %s.", field, fmt.Sprint(all))
}
