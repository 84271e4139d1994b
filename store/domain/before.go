package domain

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
)

// Before holds, by field, the fingerprints of the values that a user saw before the
// change. A patch with a Before is rejected with CONFLICT and the name of the field if
// one of these fields has changed since.
type Before map[string]string

// asRead replaces line breaks by line feeds, and NUL by U+FFFD, as browsers do.
var asRead = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "\uFFFD")

// Fingerprint returns 16 characters that identify a text: 96 bits of its SHA-256 in
// base64url.
func Fingerprint(text string) string {
	sum := sha256.Sum256([]byte(asRead.Replace(text)))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// RefuseIfOverwritten returns CONFLICT if the present value of one of the fields to set is
// neither the value in b nor the new value. next holds the new values by field, which is a
// column of the table; nil leaves a field unchanged.
func (tx *Tx) RefuseIfOverwritten(b Before, table, id string, next map[string]*string) error {
	for _, field := range slices.Sorted(maps.Keys(next)) {
		was, ok := b[field]
		if !ok || next[field] == nil {
			continue
		}
		var now string
		if err := tx.Row(`SELECT `+field+` FROM `+table+` WHERE id = ?`, id).Scan(&now); err != nil {
			return err
		}
		if now != *next[field] && Fingerprint(now) != was {
			return &Error{Code: CodeConflict, Field: field,
				Message: "The " + strings.ReplaceAll(field, "_", " ") + " was changed by someone else in the meantime; check it and try again."}
		}
	}
	return nil
}
