package domain

import (
	"errors"

	"tracker/store/json"
)

// Strings is a list of strings that is scanned from a JSON array.
type Strings []string

// Scan implements sql.Scanner.
func (s *Strings) Scan(src any) error {
	text, ok := src.(string)
	if !ok {
		return errors.New("a list of strings is not text")
	}
	return json.Unmarshal([]byte(text), (*[]string)(s))
}
