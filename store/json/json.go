// Package json reads and writes JSON. It is strict: the text must be UTF-8, names of
// fields are case-sensitive, and an object must not have a name twice.
//
// Only this package imports the implementation, which has the interface of
// encoding/json/v2 and encoding/json/jsontext and no releases. When the standard library
// contains these packages without an experiment, only the imports of this file change.
package json

import (
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

type (
	// Options configure how a value is read or written.
	Options = json.Options
	// UnmarshalerFrom is implemented by types that read JSON from a Decoder.
	UnmarshalerFrom = json.UnmarshalerFrom
	// SemanticError reports well-formed JSON that does not fit the Go value.
	SemanticError = json.SemanticError
	// SyntacticError reports JSON that is not well-formed.
	SyntacticError = jsontext.SyntacticError
	// Decoder reads a document token by token.
	Decoder = jsontext.Decoder
	// Encoder writes a document token by token.
	Encoder = jsontext.Encoder
	// Kind is the kind of a token.
	Kind = jsontext.Kind
	// Pointer is a place in a document (RFC 6901).
	Pointer = jsontext.Pointer
	// Value is a JSON value as text.
	Value = jsontext.Value
	// Token is a bracket, a brace, a string, a number, true, false or null.
	Token = jsontext.Token
)

var (
	// ErrUnknownName is the cause of a SemanticError for a field that the Go
	// struct does not have.
	ErrUnknownName = json.ErrUnknownName
	// ErrDuplicateName is the cause of a SyntacticError for a name that an
	// object has twice.
	ErrDuplicateName = jsontext.ErrDuplicateName
)

// Marshal returns v as JSON.
func Marshal(v any, opts ...Options) ([]byte, error) { return json.Marshal(v, opts...) }

// MarshalWrite writes v as JSON.
func MarshalWrite(w io.Writer, v any, opts ...Options) error {
	return json.MarshalWrite(w, v, opts...)
}

// Unmarshal reads one JSON value into the variable that v points to.
func Unmarshal(data []byte, v any, opts ...Options) error { return json.Unmarshal(data, v, opts...) }

// UnmarshalRead reads r to its end and unmarshals its JSON value into v.
func UnmarshalRead(r io.Reader, v any, opts ...Options) error {
	return json.UnmarshalRead(r, v, opts...)
}

// UnmarshalDecode reads the next value of d into the variable that v points to.
func UnmarshalDecode(d *Decoder, v any, opts ...Options) error {
	return json.UnmarshalDecode(d, v, opts...)
}

// NewDecoder returns a decoder of the document in r.
func NewDecoder(r io.Reader, opts ...Options) *Decoder { return jsontext.NewDecoder(r, opts...) }

// BeginArray is the token of an opening bracket.
var BeginArray = jsontext.BeginArray

// String returns the token of a string.
func String(s string) Token { return jsontext.String(s) }

// Int returns the token of an integer.
func Int(n int64) Token { return jsontext.Int(n) }

// Float returns the token of a number.
func Float(f float64) Token { return jsontext.Float(f) }

// Deterministic writes the entries of maps sorted by key.
func Deterministic(v bool) Options { return json.Deterministic(v) }

// RejectUnknownMembers makes fields that the Go struct does not have an error.
func RejectUnknownMembers(v bool) Options { return json.RejectUnknownMembers(v) }

// AllowDuplicateNames accepts objects that have a name twice.
func AllowDuplicateNames(v bool) Options { return jsontext.AllowDuplicateNames(v) }

// AllowInvalidUTF8 replaces invalid UTF-8 by U+FFFD instead of returning an error.
func AllowInvalidUTF8(v bool) Options { return jsontext.AllowInvalidUTF8(v) }

// EscapeForHTML escapes the characters <, > and &, so that JSON can be embedded in HTML.
func EscapeForHTML(v bool) Options { return jsontext.EscapeForHTML(v) }

// WithIndent writes each entry on its own line, indented by indent for each level.
func WithIndent(indent string) Options { return jsontext.WithIndent(indent) }
