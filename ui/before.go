package ui

import (
	"net/url"
	"strings"

	"tracker/store/domain"
)

// wasPrefix is the name prefix of hidden form fields that contain fingerprints of original
// values.
const wasPrefix = "was-"

// basis holds the fingerprints of the original field values of a form. The fingerprints show
// which fields the user edited. Only edited fields are saved.
type basis struct {
	Before domain.Before
	Theirs map[string]string // stored values of fields that both the user and someone else changed
}

// basisOf reads the fingerprints of the original values from the submitted form.
func basisOf(fields url.Values) basis {
	b := basis{Before: domain.Before{}}
	for name := range fields {
		if field, ok := strings.CutPrefix(name, wasPrefix); ok {
			b.Before[field] = fields.Get(name)
		}
	}
	return b
}

// changed returns the value of a field if the user edited the field, otherwise nil.
func changed[T ~string](fields url.Values, field string, typed T) *T {
	if !fields.Has(field) || fields.Get(wasPrefix+field) == domain.Fingerprint(string(typed)) {
		return nil
	}
	return &typed
}

// checked returns the new state of a check box, or nil if the user did not change the check
// box.
func checked(fields url.Values, field string) *bool {
	has := fields.Get(field) != ""
	if fields.Get(wasPrefix+field) == domain.Fingerprint(box(has)) {
		return nil
	}
	return &has
}

// box returns the form value of a check box.
func box(checked bool) string {
	if checked {
		return "yes"
	}
	return ""
}

// renew updates a field of a form that is shown again. The parameter now is the stored value. If
// the user did not edit the field, renew sets the field to now. If both the user and someone else
// changed the field, renew saves now in Theirs. The form then shows the stored value beside the
// field, and the user can overwrite it knowingly.
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

// wrong returns a message about the conflict if someone else also changed the field, otherwise
// message.
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
