package ui

import (
	"net/url"
	"strings"

	"tracker/store/domain"
	"tracker/ui/plain"
)

// recordForm holds the input of a form that edits a project, an experiment or a model.
type recordForm struct {
	basis
	Name        string
	Description string
	Status      string // set only for an experiment
	Objective   string // set only for an experiment
	Wrong       *domain.Error
}

func typedRecord(fields url.Values) recordForm {
	return recordForm{basis: basisOf(fields), Name: plain.Readable(fields.Get("name")), Description: text(fields, "description"), Status: fields.Get("status"),
		Objective: strings.TrimSpace(plain.Readable(fields.Get("objective")))}
}

// renewRecord updates the form to the stored values of its record.
func (f *recordForm) renewRecord(name, description string) {
	if f.Wrong == nil {
		f.Name, f.Description = name, description
	}
	f.renew("name", &f.Name, name)
	f.renew("description", &f.Description, description)
}

// wrong returns the error message for the given field, "" for none. Errors that concern no
// field of the form are listed under "".
func (f recordForm) wrong(field string) string {
	return f.basis.wrong(field, wrongOf(f.Wrong, field, "name", "description", "status", "objective"))
}
