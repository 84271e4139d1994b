package filter

import "strings"

// Field is a property of an iteration that an expression can use.
type Field int

// The fields. Param, Metric and Property are followed by a name.
const (
	Param Field = iota
	Metric
	Tag
	Name
	Status
	Created
	Ended
	LastSeen
	Duration
	ID
	Updated // only for records other than iterations
	Property
	Notes
	CompactID  // the id without its dashes
	Parent     // the id of the parent without its dashes
	Entrypoint // of the snapshot, like GitSHA and GitRemote
	GitSHA
	GitRemote
	DatasetName // of any of the datasets, like DatasetDigest and DatasetContext
	DatasetDigest
	DatasetContext
	AnyText // any of the name, the notes, the tags and the values of parameters
)

// Type is the type of the values that a field is compared with.
type Type int

// The types of values.
const (
	TextType Type = iota
	TimeType
	NumberType
)

// Type returns the type of the values that f is compared with.
func (f Field) Type() Type {
	switch f {
	case Created, Ended, LastSeen, Updated:
		return TimeType
	case Metric, Duration:
		return NumberType
	}
	return TextType
}

// fields holds the fields of the language. The fields after metric are not followed by a name.
var fields = []struct {
	word  string
	field Field
}{
	{"param", Param}, {"property", Property}, {"metric", Metric},
	{"tag", Tag}, {"name", Name}, {"status", Status}, {"created", Created}, {"ended", Ended},
	{"last_seen", LastSeen}, {"duration", Duration}, {"id", ID},
}

// fieldOf returns the field with a name in any case.
func fieldOf(word string) (f Field, ok bool) {
	for _, f := range fields {
		if f.word == strings.ToLower(word) {
			return f.field, true
		}
	}
	return 0, false
}

// fieldNames lists the fields that are not followed by a name, for error messages.
func fieldNames() string {
	var words []string
	for _, f := range fields[3:] {
		words = append(words, f.word)
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
