package ui

import (
	"net/url"
	"strings"

	"tracker/store/domain"
)

// wasPrefix is the prefix of the hidden fields with the fingerprints of a form's original values.
const wasPrefix = "was-"

// basis holds the fingerprints of the values with which a form was rendered. With them a form
// changes only the fields that were edited.
type basis struct {
	Before domain.Before
	Theirs map[string]string // current values of fields that were changed both in this form and by somebody else
}

// basisOf reads the fingerprints of a form's original values.
func basisOf(fields url.Values) basis {
	b := basis{Before: domain.Before{}}
	for name := range fields {
		if field, ok := strings.CutPrefix(name, wasPrefix); ok {
			b.Before[field] = fields.Get(name)
		}
	}
	return b
}

// changed returns the value of a field if it was edited, otherwise nil.
func changed[T ~string](fields url.Values, field string, typed T) *T {
	if !fields.Has(field) || fields.Get(wasPrefix+field) == domain.Fingerprint(string(typed)) {
		return nil
	}
	return &typed
}

// checked returns the new state of a check box, nil if it was not changed.
func checked(fields url.Values, field string) *bool {
	has := fields.Get(field) != ""
	if fields.Get(wasPrefix+field) == domain.Fingerprint(box(has)) {
		return nil
	}
	return &has
}

// box returns the value of a check box in a form.
func box(checked bool) string {
	if checked {
		return "yes"
	}
	return ""
}

// renew updates a form that is shown again to the current stored value now. If the field was not
// edited, it gets that value. If both sides changed it, the stored value is shown beside the field,
// so that the user overwrites it knowingly.
func (b *basis) renew(field string, typed *string, now string) {
	was, sent := b.Before[field]
	at := domain.Fingerprint(now)
	if sent && domain.Fingerprint(*typed) == was {
		*typed = now
	} else if sent && was != at && *typed != now {
		if b.Theirs == nil {
			b.Theirs = map[string]string{}
		}
		b.Theirs[field] = now
	}
	if b.Before == nil {
		b.Before = domain.Before{}
	}
	b.Before[field] = at
}

// wrong returns a message about the conflict if somebody else has changed the field too, otherwise message.
func (b basis) wrong(field, message string) string {
	theirs, ok := b.Theirs[field]
	switch {
	case !ok:
		return message
	case theirs == "":
		return "Someone else has cleared this field. Save again to overwrite it."
	}
	return "Someone else has changed this field to the text below. Save again to overwrite it."
}
