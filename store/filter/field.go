package filter

import "strings"

// Field is a kind of value that an expression can compare, such as a metric or a tag.
type Field int

// Fields of an expression. In an expression, a name follows Param, Metric, Property and Summary.
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
	Summary // text, boolean or list in the summary of the iteration
	CreatedBy
	User // property UserProperty or, without it, CreatedBy
)

// UserProperty is the property in which MLflow's clients store the name of a run's user.
const UserProperty = "mlflow.user"

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

// Named reports whether a name follows f in an expression.
func (f Field) Named() bool { return f == Param || f == Metric || f == Property || f == Summary }

// Mixed reports whether values of f are texts that are compared as numbers if both sides of a
// comparison are numbers.
func (f Field) Mixed() bool { return f == Param || f == Summary }

// fields lists the fields of the language. The named fields come first.
var fields = []struct {
	word  string
	field Field
}{
	{"param", Param}, {"property", Property}, {"metric", Metric}, {"summary", Summary},
	{"tag", Tag}, {"name", Name}, {"status", Status}, {"created", Created}, {"ended", Ended},
	{"last_seen", LastSeen}, {"duration", Duration}, {"id", ID},
	{"created_by", CreatedBy},
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
	for _, f := range fields {
		if !f.field.Named() {
			words = append(words, f.word)
		}
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
