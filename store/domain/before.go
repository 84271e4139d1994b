package domain

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
)

// Before maps field names to fingerprints of the values that a user saw before an edit. A patch
// is rejected if the value of one of these fields has changed since. The error is CONFLICT and
// names the field.
type Before map[string]string

// asRead replaces each line break by a line feed, and NUL by U+FFFD, as browsers do.
var asRead = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "\uFFFD")

// Fingerprint returns 16 characters that identify a text. They encode 96 bits of the text's
// SHA-256 in base64url.
func Fingerprint(text string) string {
	sum := sha256.Sum256([]byte(asRead.Replace(text)))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// RefuseIfOverwritten returns CONFLICT if another user changed a field since b was read. It
// compares the stored values of record id with b. next maps column names of table to new
// values. A nil value leaves the column unchanged. A stored value that equals the new value is
// no conflict.
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
