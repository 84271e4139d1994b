package ui

import (
	"net/url"

	"tracker/store"
)

// recordForm is the form about the name and description of a record, as
// somebody typed it.
type recordForm struct {
	Name        string
	Description string
	Status      string // of an experiment
	Wrong       *store.Error
}

func typedRecord(fields url.Values) recordForm {
	return recordForm{Name: readable(fields.Get("name")), Description: text(fields, "description"), Status: fields.Get("status")}
}

// wrong is what is wrong with a field, "" for nothing. What is about no field
// of the form is told under the field "".
func (f recordForm) wrong(field string) string {
	return wrongOf(f.Wrong, field, "name", "description", "status")
}
