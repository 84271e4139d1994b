// Package json reads and writes JSON. It is strict: the input must be UTF-8, field names are
// case-sensitive, and an object must not contain duplicate names.
//
// Only this package imports the implementation, which has no releases and the same API as
// encoding/json/v2 and encoding/json/jsontext. Once the standard library includes these packages
// without an experiment flag, only the imports of this file need to change.
package json

import (
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

type (
	// Options configures the reading or writing of a value.
	Options = json.Options
	// UnmarshalerFrom is implemented by types that decode themselves with a Decoder.
	UnmarshalerFrom = json.UnmarshalerFrom
	// SemanticError reports well-formed JSON that does not fit the Go type.
	SemanticError = json.SemanticError
	// SyntacticError reports malformed JSON.
	SyntacticError = jsontext.SyntacticError
	// Decoder reads a document token by token.
	Decoder = jsontext.Decoder
	// Encoder writes a document token by token.
	Encoder = jsontext.Encoder
	// Kind is the kind of a token.
	Kind = jsontext.Kind
	// Pointer is a JSON Pointer, the address of a value in a document (RFC 6901).
	Pointer = jsontext.Pointer
	// Value is the JSON text of a value.
	Value = jsontext.Value
	// Token is a bracket, brace, string, number, true, false or null.
	Token = jsontext.Token
)

var (
	// ErrUnknownName is the cause of a SemanticError about a field that the Go struct does not
	// have.
	ErrUnknownName = json.ErrUnknownName
	// ErrDuplicateName is the cause of a SyntacticError about a duplicate name in an object.
	ErrDuplicateName = jsontext.ErrDuplicateName
)

// Marshal returns v as JSON.
func Marshal(v any, opts ...Options) ([]byte, error) { return json.Marshal(v, opts...) }

// MarshalWrite writes v to w as JSON.
func MarshalWrite(w io.Writer, v any, opts ...Options) error {
	return json.MarshalWrite(w, v, opts...)
}

// Unmarshal decodes one JSON value into the variable that v points to.
func Unmarshal(data []byte, v any, opts ...Options) error { return json.Unmarshal(data, v, opts...) }

// UnmarshalRead reads r until EOF and decodes its JSON value into the variable that v points
// to.
func UnmarshalRead(r io.Reader, v any, opts ...Options) error {
	return json.UnmarshalRead(r, v, opts...)
}

// UnmarshalDecode decodes the next value of d into the variable that v points to.
func UnmarshalDecode(d *Decoder, v any, opts ...Options) error {
	return json.UnmarshalDecode(d, v, opts...)
}

// EachMember reads an object and calls fn with each name. fn must read the value of the name.
func EachMember(d *Decoder, fn func(name string) error) error {
	return each(d, '}', func() error {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		return fn(name.String())
	})
}

// EachElement reads an array and calls fn for each element. fn must read the element.
func EachElement(d *Decoder, fn func() error) error { return each(d, ']', fn) }

func each(d *Decoder, end Kind, fn func() error) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != end {
		if err := fn(); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// NewDecoder returns a decoder for the document in r.
func NewDecoder(r io.Reader, opts ...Options) *Decoder { return jsontext.NewDecoder(r, opts...) }

// BeginArray is the token for an opening bracket.
var BeginArray = jsontext.BeginArray

// String returns the token for a string.
func String(s string) Token { return jsontext.String(s) }

// Int returns the token for an integer.
func Int(n int64) Token { return jsontext.Int(n) }

// Float returns the token for a floating-point number.
func Float(f float64) Token { return jsontext.Float(f) }

// Deterministic returns the option that writes map entries sorted by key.
func Deterministic(v bool) Options { return json.Deterministic(v) }

// RejectUnknownMembers returns the option that rejects members without a field in the Go
// struct.
func RejectUnknownMembers(v bool) Options { return json.RejectUnknownMembers(v) }

// AllowDuplicateNames returns the option that accepts objects with duplicate names.
func AllowDuplicateNames(v bool) Options { return jsontext.AllowDuplicateNames(v) }

// AllowInvalidUTF8 returns the option that replaces invalid UTF-8 with U+FFFD. Without the
// option, invalid UTF-8 is an error.
func AllowInvalidUTF8(v bool) Options { return jsontext.AllowInvalidUTF8(v) }

// EscapeForHTML returns the option that escapes <, > and &, so that HTML can embed the JSON.
func EscapeForHTML(v bool) Options { return jsontext.EscapeForHTML(v) }

// WithIndent returns the option that writes each entry on its own line. The line is indented by
// indent for each nesting level.
func WithIndent(indent string) Options { return jsontext.WithIndent(indent) }
