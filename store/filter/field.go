package filter

import "strings"

// Field is a kind of value that an expression can compare, such as a metric or a tag.
type Field int

// Fields of an expression. In an expression, a name follows Param, Metric and Property.
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
	Updated // only for records that are not iterations
	Property
	Notes
	CompactID  // iteration id without dashes
	Parent     // parent iteration id without dashes
	Entrypoint // Entrypoint, GitSHA and GitRemote are in the snapshot
	GitSHA
	GitRemote
	DatasetName // DatasetName, DatasetDigest and DatasetContext match any dataset of the iteration
	DatasetDigest
	DatasetContext
	AnyText // matches the name, the notes, a tag or a parameter value
)

// Type is the type of a field's values.
type Type int

// Types of values.
const (
	TextType Type = iota
	TimeType
	NumberType
)

// Type returns the type of f's values.
func (f Field) Type() Type {
	switch f {
	case Created, Ended, LastSeen, Updated:
		return TimeType
	case Metric, Duration:
		return NumberType
	}
	return TextType
}

// fields lists the fields of the language. In an expression, a name follows each of the first
// three fields.
var fields = []struct {
	word  string
	field Field
}{
	{"param", Param}, {"property", Property}, {"metric", Metric},
	{"tag", Tag}, {"name", Name}, {"status", Status}, {"created", Created}, {"ended", Ended},
	{"last_seen", LastSeen}, {"duration", Duration}, {"id", ID},
}

// fieldOf returns the field for the given word, ignoring case.
func fieldOf(word string) (f Field, ok bool) {
	for _, f := range fields {
		if f.word == strings.ToLower(word) {
			return f.field, true
		}
	}
	return 0, false
}

// fieldNames returns a list of the fields that no name follows, for error messages.
func fieldNames() string {
	var words []string
	for _, f := range fields[3:] {
		words = append(words, f.word)
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
