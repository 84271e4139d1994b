package domain

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
)

// Before holds, by field, the fingerprints of the values that a person saw before the
// change. A patch with it is refused when one of these fields has changed
// since: CONFLICT with the name of the first.
type Before map[string]string

// asRead returns a text as browsers read it, with single line feeds and without
// NUL.
var asRead = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "\uFFFD")

// Fingerprint returns 16 letters that identify a text.
func Fingerprint(text string) string {
	sum := sha256.Sum256([]byte(asRead.Replace(text)))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// RefuseIfOverwritten fails with CONFLICT when one of the fields to set has
// changed: when its value is neither the one before nor the new one. A field is a
// column of the table; one that is nil is not set.
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
				Message: "The " + strings.ReplaceAll(field, "_", " ") + " was changed by somebody else meanwhile; look at it and try again."}
		}
	}
	return nil
}
