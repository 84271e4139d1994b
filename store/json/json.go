// Package json reads and writes JSON in UTF-8, strictly: names of fields are
// case-sensitive and given once.
//
// It is the one place that names the implementation, which has the interface
// of encoding/json/v2 and encoding/json/jsontext and no release of its own.
// When the standard library has these two without an experiment, only the
// imports of this file change.
package json

import (
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

type (
	// Options change how a value is read or written.
	Options = json.Options
	// UnmarshalerFrom is a type with its own method to read JSON.
	UnmarshalerFrom = json.UnmarshalerFrom
	// SemanticError is about JSON that is well-formed and does not fit the Go value.
	SemanticError = json.SemanticError
	// SyntacticError is about JSON that is not well-formed.
	SyntacticError = jsontext.SyntacticError
	// Decoder reads a document token by token.
	Decoder = jsontext.Decoder
	// Encoder writes a document token by token.
	Encoder = jsontext.Encoder
	// Kind is the kind of a token.
	Kind = jsontext.Kind
	// Pointer is a place in a document (RFC 6901).
	Pointer = jsontext.Pointer
	// Value is a value as it is written.
	Value = jsontext.Value
	// Token is a part of a document.
	Token = jsontext.Token
)

var (
	// ErrUnknownName is the cause of a SemanticError about a field that the Go
	// struct does not have.
	ErrUnknownName = json.ErrUnknownName
	// ErrDuplicateName is the cause of a SyntacticError about a name that an
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

// UnmarshalRead is Unmarshal for all of r.
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

// RejectUnknownMembers refuses fields that the Go struct does not have.
func RejectUnknownMembers(v bool) Options { return json.RejectUnknownMembers(v) }

// AllowDuplicateNames accepts objects that have a name twice.
func AllowDuplicateNames(v bool) Options { return jsontext.AllowDuplicateNames(v) }

// AllowInvalidUTF8 replaces what is not UTF-8 by U+FFFD instead of failing.
func AllowInvalidUTF8(v bool) Options { return jsontext.AllowInvalidUTF8(v) }

// EscapeForHTML escapes the characters that end a script or begin an element.
func EscapeForHTML(v bool) Options { return jsontext.EscapeForHTML(v) }

// WithIndent writes each entry on a line of its own.
func WithIndent(indent string) Options { return jsontext.WithIndent(indent) }
