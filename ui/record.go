package ui

import (
	"net/url"
	"strings"

	"tracker/store"
)

// recordForm is the form about the name and description of a record, as
// somebody typed it.
type recordForm struct {
	basis
	Name        string
	Description string
	Status      string // of an experiment
	Objective   string // of an experiment
	Wrong       *store.Error
}

func typedRecord(fields url.Values) recordForm {
	return recordForm{basis: basisOf(fields), Name: readable(fields.Get("name")), Description: text(fields, "description"), Status: fields.Get("status"),
		Objective: strings.TrimSpace(readable(fields.Get("objective")))}
}

// renewRecord has the form follow what is stored of its record now.
func (f *recordForm) renewRecord(name, description string) {
	if f.Wrong == nil {
		f.Name, f.Description = name, description
	}
	f.renew("name", &f.Name, name)
	f.renew("description", &f.Description, description)
}

// wrong is what is wrong with a field, "" for nothing. What is about no field
// of the form is told under the field "".
func (f recordForm) wrong(field string) string {
	return f.basis.wrong(field, wrongOf(f.Wrong, field, "name", "description", "status", "objective"))
}
