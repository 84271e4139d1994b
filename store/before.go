package store

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
)

// Before has what fields were when somebody began to change them, each as
// Fingerprint writes it, by the name of the field. A patch that has it changes
// none that became something else since: CONFLICT with the name of the first.
type Before map[string]string

// asRead writes a text as browsers read it: line ends are one character, and NUL
// is none.
var asRead = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "\uFFFD")

// Fingerprint is 16 letters that stand for a text, which may be long.
func Fingerprint(text string) string {
	sum := sha256.Sum256([]byte(asRead.Replace(text)))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// refuseIfOverwritten fails with CONFLICT when one of the fields that a record is
// to have next is not what it was before, nor what it is to be. A field is a
// column of the table; one that is nil stays as it is.
func (tx *tx) refuseIfOverwritten(b Before, table, id string, next map[string]*string) error {
	for _, field := range slices.Sorted(maps.Keys(next)) {
		was, ok := b[field]
		if !ok || next[field] == nil {
			continue
		}
		var now string
		if err := tx.row(`SELECT `+field+` FROM `+table+` WHERE id = ?`, id).Scan(&now); err != nil {
			return err
		}
		if now != *next[field] && Fingerprint(now) != was {
			return &Error{Code: CodeConflict, Field: field,
				Message: "The " + strings.ReplaceAll(field, "_", " ") + " was changed by somebody else meanwhile; look at it and try again."}
		}
	}
	return nil
}
