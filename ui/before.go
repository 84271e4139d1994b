package ui

import (
	"net/url"
	"strings"

	"tracker/store"
)

// wasPrefix begins the names of the hidden fields that say what a form was made
// with.
const wasPrefix = "was-"

// basis is what a form that changes a record was made with. By it a form changes
// what somebody has typed, and nothing else.
type basis struct {
	Before store.Before
	Theirs map[string]string // what fields were changed to by somebody else, while this one typed something else
}

// basisOf reads what a form was made with.
func basisOf(fields url.Values) basis {
	b := basis{Before: store.Before{}}
	for name := range fields {
		if field, ok := strings.CutPrefix(name, wasPrefix); ok {
			b.Before[field] = fields.Get(name)
		}
	}
	return b
}

// changed is what somebody has typed in a field, nil for nothing.
func changed[T ~string](fields url.Values, field string, typed T) *T {
	if !fields.Has(field) || fields.Get(wasPrefix+field) == store.Fingerprint(string(typed)) {
		return nil
	}
	return &typed
}

// checked is what somebody has made of a box, nil when it is as it was.
func checked(fields url.Values, field string) *bool {
	has := fields.Get(field) != ""
	if fields.Get(wasPrefix+field) == store.Fingerprint(box(has)) {
		return nil
	}
	return &has
}

// box is the value of a box in a form.
func box(checked bool) string {
	if checked {
		return "yes"
	}
	return ""
}

// renew has a form that is shown follow what is stored now. A field in which
// nobody has typed becomes that; beside one that both have changed it is shown,
// and who saves again has seen it.
func (b *basis) renew(field string, typed *string, now string) {
	was, sent := b.Before[field]
	at := store.Fingerprint(now)
	if sent && store.Fingerprint(*typed) == was {
		*typed = now
	} else if sent && was != at && *typed != now {
		if b.Theirs == nil {
			b.Theirs = map[string]string{}
		}
		b.Theirs[field] = now
	}
	if b.Before == nil {
		b.Before = store.Before{}
	}
	b.Before[field] = at
}

// wrong is what to say of a field that somebody else has changed too, otherwise
// message.
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
