package web

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"tracker/store/domain"
	"tracker/store/json"
)

const (
	// heldAnswer is the number of bytes that WriteJSON encodes before it sends the status. If
	// encoding fails within these bytes, WriteJSON sends an error with status 500.
	heldAnswer = 64 << 10
	// answerPause is the time in which a client must read heldAnswer bytes.
	answerPause = 30 * time.Second
)

// WriteJSON sends v as JSON. A large value is encoded while it is sent. Invalid UTF-8 is replaced,
// because error messages can quote invalid input.
func WriteJSON(w http.ResponseWriter, r *http.Request, status int, v any) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	out := &answer{w: w, conn: http.NewResponseController(w), status: status}
	err := json.MarshalWrite(out, v, json.AllowInvalidUTF8(true), json.Deterministic(true))
	switch {
	case out.err != nil: // the connection is broken
	case err == nil:
		if !out.begun {
			h.Set("Content-Length", strconv.Itoa(len(out.held))) // marks the end of the response even while Pace reads the request
		}
		out.send()
	case !out.begun:
		InfoOf(r).Err = err
		out.status, out.held = http.StatusInternalServerError, []byte(`{"code":"SERVER_ERROR","message":"The response can't be encoded as JSON."}`)
		out.send()
	default:
		InfoOf(r).Err = err
		panic(http.ErrAbortHandler) // an incomplete response must not look complete
	}
	if out.timed {
		_ = out.conn.SetWriteDeadline(time.Time{})
	}
}

// answer is a response body that delays its first heldAnswer bytes.
type answer struct {
	w      http.ResponseWriter
	conn   *http.ResponseController
	status int
	held   []byte
	begun  bool  // whether the status was sent
	timed  bool  // whether the connection has a deadline
	err    error // write error of the connection
}

func (a *answer) Write(p []byte) (int, error) {
	a.held = append(a.held, p...)
	if len(a.held) >= heldAnswer {
		// Ignore the error: writers in tests do not support deadlines.
		a.timed = a.conn.SetWriteDeadline(time.Now().Add(answerPause)) == nil
		a.send()
	}
	return len(p), a.err
}

func (a *answer) send() {
	if !a.begun {
		a.begun = true
		a.w.WriteHeader(a.status)
	}
	_, a.err = a.w.Write(a.held)
	a.held = a.held[:0]
}

// Decode decodes a JSON object into the struct to which dst points. It returns an error if a
// field is unknown or repeated.
func Decode(body []byte, dst any) error {
	return decode(body, dst, json.RejectUnknownMembers(true))
}

// DecodeLenient is like Decode, but ignores unknown fields and uses the last value of a
// repeated field.
func DecodeLenient(body []byte, dst any) error {
	return decode(body, dst, json.AllowDuplicateNames(true))
}

func decode(body []byte, dst any, options json.Options) error {
	err := json.Unmarshal(body, dst, options)
	if err == nil {
		if bytes.TrimLeft(body, " \t\r\n")[0] != '{' {
			return errNotObject // the body is null
		}
		return nil
	}
	if err := wellFormed(body); err != nil {
		return err // a syntax error takes precedence over an earlier invalid value
	}
	return decodeError(err, dst)
}

// decodeError returns the client error for JSON that can't be decoded into the struct to which
// dst points. It returns other errors unchanged.
func decodeError(err error, dst any) error {
	var syntax *json.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.As(err, &syntax) && errors.Is(err, json.ErrDuplicateName):
		field := fieldName(syntax.JSONPointer)
		return domain.Invalid(field, "%s is given twice; give it once.", field)
	case errors.As(err, &syntax) && !errors.Is(err, io.ErrUnexpectedEOF):
		return domain.Errorf(CodeMalformedBody, "The body is not valid JSON at byte %d; correct it and send it again.", syntax.ByteOffset)
	case errors.As(err, &semantic):
		return semanticError(semantic, dst)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return domain.Errorf(CodeMalformedBody, "The body is not valid JSON: it ends too early.")
	}
	return err
}

// wellFormed returns an error if body is not a single JSON value in UTF-8. It uses a
// bytes.Buffer, because the decoder does not copy a bytes.Buffer.
func wellFormed(body []byte) error {
	dec := json.NewDecoder(bytes.NewBuffer(body), json.AllowDuplicateNames(true))
	err := dec.SkipValue()
	if err == nil {
		if _, err = dec.ReadToken(); err == io.EOF {
			return nil
		}
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return decodeError(err, new(struct{}))
}

var errNotObject = domain.Errorf(domain.CodeInvalidPayload, "The body must be a JSON object.")

// semanticError returns the client error for valid JSON with an invalid field or value.
func semanticError(e *json.SemanticError, dst any) error {
	field := fieldName(e.JSONPointer)
	switch {
	case errors.Is(e.Err, json.ErrUnknownName):
		return domain.Invalid(field, "%q is not a field of this request; the fields are %s.", field, strings.Join(fieldsOf(dst), ", "))
	case e.JSONPointer == "":
		return errNotObject
	case isOurs(e.GoType) && e.Err != nil:
		return domain.Invalid(field, "%s %s.", field, e.Err)
	}
	return domain.Invalid(field, "%s must be %s.", field, kindName(e.GoType))
}

// isOurs reports whether a type has its own JSON decoder. The errors of these decoders complete a
// sentence that begins with the field name.
func isOurs(t reflect.Type) bool {
	if t == nil {
		return false
	}
	_, ok := reflect.New(t).Interface().(json.UnmarshalerFrom)
	return ok
}

// fieldName converts a JSON pointer to the form metrics.0.value.
func fieldName(p json.Pointer) string {
	var names []string
	for name := range p.Tokens() {
		names = append(names, name)
	}
	return Clip(strings.Join(names, "."))
}

// Clip returns s shortened to about 300 bytes. It keeps callers from filling an error message with
// a long name.
func Clip(s string) string {
	const most = 300
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// fieldsOf returns the JSON names of the fields in the struct to which dst points.
func fieldsOf(dst any) []string {
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeOf(dst).Elem()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

func kindName(t reflect.Type) string {
	if t == nil {
		return "of another type"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return kindName(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return fmt.Sprintf("of type %s", t.Kind())
}
