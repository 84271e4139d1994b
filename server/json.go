package server

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/zstd"

	"tracker/server/middleware"
	"tracker/store"
)

// maxBody is the size limit of a JSON body, in bytes: a parameter's value of
// 1 MiB fits however it is escaped.
const maxBody = 8 << 20

// writeJSON answers with v. Text that is not UTF-8, which a message may quote,
// is mended.
func writeJSON(w http.ResponseWriter, r *http.Request, status int, v any) {
	body, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	if err != nil {
		middleware.InfoOf(r).Err = err
		status, body = http.StatusInternalServerError,
			[]byte(`{"code":"SERVER_ERROR","message":"The answer can't be written as JSON."}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	// What fails here is the connection; there is nobody left to tell.
	_, _ = w.Write(body)
}

// bodyLimits are what a route takes as its body.
type bodyLimits struct {
	size   int64 // bytes, unpacked
	packed bool  // it may have a Content-Encoding of gzip or zstd
}

// readBody reads the body of a request that must be JSON; nil when there is
// none.
func readBody(w http.ResponseWriter, r *http.Request, limits bodyLimits) ([]byte, error) {
	var src io.Reader = http.MaxBytesReader(w, r.Body, limits.size)
	encoding := r.Header.Get("Content-Encoding")
	if encoding == "identity" {
		encoding = ""
	}
	if encoding != "" && limits.packed {
		unpacked, closeIt, err := unpack(encoding, src)
		if err != nil {
			return nil, err
		}
		defer closeIt()
		src = io.LimitReader(unpacked, limits.size+1)
	}
	body, err := io.ReadAll(src)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge), int64(len(body)) > limits.size, errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return nil, store.Errorf(store.CodePayloadTooLarge, "The body is larger than %d bytes; send less at once.", limits.size)
	case err != nil:
		return nil, store.Errorf(store.CodeMalformedBody, "The body is damaged or ended before it was complete; send it again.")
	case len(body) == 0:
		return nil, nil
	case encoding != "" && !limits.packed:
		return nil, store.Errorf(store.CodeUnsupportedMediaType, "This route does not take Content-Encoding %q; send plain JSON.", clip(encoding))
	}
	if ct := r.Header.Get("Content-Type"); ct != "" {
		media, params, err := mime.ParseMediaType(ct)
		charset := params["charset"]
		if err != nil || media != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
			return nil, store.Errorf(store.CodeUnsupportedMediaType, "The body must be JSON in UTF-8; send the header Content-Type: application/json.")
		}
	}
	return body, nil
}

// decode reads a JSON object into the struct that dst points to. Fields that
// it does not have, and fields given twice, are refused.
func decode(body []byte, dst any) error {
	err := json.Unmarshal(body, dst, json.RejectUnknownMembers(true))
	if err == nil {
		if bytes.TrimLeft(body, " \t\r\n")[0] != '{' {
			return errNotObject // null
		}
		return nil
	}
	if err := wellFormed(body); err != nil {
		return err // whatever else was wrong before the place where it breaks off
	}
	var syntax *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.As(err, &syntax) && errors.Is(err, jsontext.ErrDuplicateName):
		field := fieldName(syntax.JSONPointer)
		return store.Invalid(field, "%s is given twice; give it once.", field)
	case errors.As(err, &semantic):
		return semanticError(semantic, dst)
	}
	return err
}

// wellFormed fails unless body is one JSON value in UTF-8.
func wellFormed(body []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true))
	err := dec.SkipValue()
	if err == nil {
		if _, err = dec.ReadToken(); err == io.EOF {
			return nil
		}
	}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return store.Errorf(store.CodeMalformedBody, "The body is not valid JSON at byte %d; check how it was written.", syntax.ByteOffset)
	}
	return store.Errorf(store.CodeMalformedBody, "The body is not valid JSON: it ends too early.")
}

var errNotObject = store.Errorf(store.CodeInvalidPayload, "The body must be a JSON object.")

// semanticError says what is wrong with JSON that is well-formed.
func semanticError(e *json.SemanticError, dst any) error {
	field := fieldName(e.JSONPointer)
	switch {
	case errors.Is(e.Err, json.ErrUnknownName):
		return store.Invalid(field, "%q is not a field of this request; the fields are %s.", field, strings.Join(fieldsOf(dst), ", "))
	case e.JSONPointer == "":
		return errNotObject
	case isOurs(e.GoType) && e.Err != nil:
		return store.Invalid(field, "%s %s.", field, e.Err)
	}
	return store.Invalid(field, "%s must be %s.", field, kindName(e.GoType))
}

// isOurs tells the types that read themselves and say in words what they want.
func isOurs(t reflect.Type) bool {
	if t == nil {
		return false
	}
	_, ok := reflect.New(t).Interface().(json.UnmarshalerFrom)
	return ok
}

// fieldName turns a JSON pointer into the way people write it: metrics.0.value.
func fieldName(p jsontext.Pointer) string {
	var names []string
	for name := range p.Tokens() {
		names = append(names, name)
	}
	return clip(strings.Join(names, "."))
}

// clip keeps a name that a caller made up from filling an answer.
func clip(s string) string {
	const most = 300
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// fieldsOf lists the JSON names of a struct's fields.
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

// idempotencyKey returns the key that a request carries, bound to its path,
// query and body; one without Key when there is none.
func idempotencyKey(r *http.Request, body []byte) (store.IdempotencyKey, error) {
	values := r.Header.Values("Idempotency-Key")
	if len(values) == 0 {
		return store.IdempotencyKey{}, nil
	}
	key := values[0]
	ok := len(values) == 1 && len(key) >= 1 && len(key) <= 128
	for _, c := range []byte(key) {
		ok = ok && c >= ' ' && c <= '~'
	}
	if !ok {
		return store.IdempotencyKey{}, store.Invalid("Idempotency-Key",
			"Idempotency-Key must be one header of 1 to 128 visible ASCII characters; a UUID is a good one.")
	}
	h := sha256.New()
	h.Write([]byte(r.URL.RawQuery))
	h.Write([]byte{0})
	h.Write(body)
	return store.IdempotencyKey{Path: r.URL.EscapedPath(), Key: key, BodyHash: h.Sum(nil)}, nil
}
