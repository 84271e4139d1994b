package ui

import (
	"net/url"
	"strings"

	"tracker/store/domain"
)

// wasPrefix begins the names of the hidden fields with the values that a form
// was made with.
const wasPrefix = "was-"

// basis holds the values that a form was made with. Because of it a form changes
// only the fields in which somebody has typed.
type basis struct {
	Before domain.Before
	Theirs map[string]string // values of fields that somebody else has changed meanwhile, and this form too
}

// basisOf reads the values that a form was made with.
func basisOf(fields url.Values) basis {
	b := basis{Before: domain.Before{}}
	for name := range fields {
		if field, ok := strings.CutPrefix(name, wasPrefix); ok {
			b.Before[field] = fields.Get(name)
		}
	}
	return b
}

// changed returns what somebody has typed in a field, nil for nothing.
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

// renew updates a form that is shown again to the stored value now. A field in
// which nobody has typed gets that value. Beside a field that both have changed
// it is shown, so that saving again overwrites it knowingly.
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

// wrong returns what to say about a field that somebody else has changed too,
// otherwise message.
func (b basis) wrong(field, message string) string {
	theirs, ok := b.Theirs[field]
	switch {
	case !ok:
		return message
	case theirs == "":
		return "Somebody else has emptied this meanwhile. Save again to put yours in its place."
	}
	return "Somebody else has changed this meanwhile, to what is below. Save again to put yours in its place."
}
