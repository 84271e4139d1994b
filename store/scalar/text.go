package scalar

import (
	"strings"

	"tracker/store/json"
)

// SummaryPrefix begins the key of a property that is a text in the summary of an iteration. The
// rest of the key is the name of the text.
const SummaryPrefix = "tracker.summary."

// AfterSummary is the smallest text after all texts that begin with SummaryPrefix, because a slash
// follows a full stop in Unicode.
const AfterSummary = "tracker.summary/"

// DefinitionPrefix begins the key of an iteration's property that defines how a metric is shown.
// The rest of the key is the name of the metric. A rest that ends with an asterisk is a pattern
// for all metrics whose names begin with the text before the asterisk. The value of the property
// is a runs.Definition in JSON.
const DefinitionPrefix = "tracker.metric."

// Limits of the texts of an iteration.
const (
	MaxTexts     = 1000    // maximum number of texts that are read, or that a client of another protocol sets
	MaxTextBytes = 8 << 10 // maximum length of a text of a client of another protocol
)

// SummaryText is a value of a summary that is not a number: a string, a boolean, null or a list. It
// is stored without quotes if it is a string, and as JSON otherwise, so that searches compare what
// people see. A string that could be mistaken for JSON is stored as JSON, too.
type SummaryText string

// SummaryTextOf returns the value of a summary with the given JSON. ok is false if the value is a
// number or an object, or invalid.
func SummaryTextOf(value string) (t SummaryText, ok bool) {
	value = strings.TrimSpace(value)
	switch {
	case value == "true", value == "false", value == "null", strings.HasPrefix(value, "["):
		return SummaryText(value), true
	case !strings.HasPrefix(value, `"`):
		return "", false
	}
	var s string
	if err := json.Unmarshal([]byte(value), &s, json.AllowInvalidUTF8(true)); err != nil {
		return "", false
	}
	if isJSON(s) {
		return SummaryText(value), true
	}
	return SummaryText(s), true
}

// isJSON reports whether a stored value is JSON and not a plain string.
func isJSON(s string) bool {
	return s == "true" || s == "false" || s == "null" || strings.HasPrefix(s, `"`) || strings.HasPrefix(s, "[")
}

// MarshalJSON returns the value as JSON of its type. A stored value that looks like JSON but is
// invalid is returned as a string.
func (t SummaryText) MarshalJSON() ([]byte, error) {
	if isJSON(string(t)) && json.Value(t).IsValid() {
		return []byte(t), nil
	}
	return json.Marshal(string(t))
}

// Cut returns the first MaxTextBytes bytes of a string that is longer. It returns all other values
// unchanged.
func (t SummaryText) Cut() SummaryText {
	if len(t) <= MaxTextBytes || isJSON(string(t)) {
		return t
	}
	return SummaryText(strings.ToValidUTF8(string(t[:MaxTextBytes]), ""))
}
