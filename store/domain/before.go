package domain

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
)

// Before maps field names to fingerprints of the values that a user saw before an edit. If one of
// these fields has changed since then, the patch is rejected with a CONFLICT error that names the
// field.
type Before map[string]string

// asRead replaces each line break with a line feed, and NUL with U+FFFD, as browsers do.
var asRead = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "\uFFFD")

// Fingerprint returns 16 characters that identify text. They encode 96 bits of the text's SHA-256
// in base64url.
func Fingerprint(text string) string {
	sum := sha256.Sum256([]byte(asRead.Replace(text)))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// RefuseIfOverwritten returns CONFLICT if another user has changed a field since b was read. It
// compares the stored fields of the record with b. table and id identify the record, and next
// maps column names to new values. A nil value leaves its column unchanged. It is not a conflict
// if the stored value already equals the new value.
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
