package ui

import (
	"net/url"
	"strings"

	"tracker/store/domain"
)

// recordForm is the form for the name and description of a record, as somebody
// typed it.
type recordForm struct {
	basis
	Name        string
	Description string
	Status      string // of an experiment
	Objective   string // of an experiment
	Wrong       *domain.Error
}

func typedRecord(fields url.Values) recordForm {
	return recordForm{basis: basisOf(fields), Name: readable(fields.Get("name")), Description: text(fields, "description"), Status: fields.Get("status"),
		Objective: strings.TrimSpace(readable(fields.Get("objective")))}
}

// renewRecord updates the form to the stored values of its record.
func (f *recordForm) renewRecord(name, description string) {
	if f.Wrong == nil {
		f.Name, f.Description = name, description
	}
	f.renew("name", &f.Name, name)
	f.renew("description", &f.Description, description)
}

// wrong returns what is wrong with a field, "" for nothing. A mistake about no
// field of the form is that of the field "".
func (f recordForm) wrong(field string) string {
	return f.basis.wrong(field, wrongOf(f.Wrong, field, "name", "description", "status", "objective"))
}
