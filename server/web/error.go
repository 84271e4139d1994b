package web

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"tracker/store"
)

// The codes of what belongs to HTTP, tokens and the tus protocol. Those of the
// domain are the store's.
const (
	CodeMalformedBody        store.Code = "MALFORMED_BODY"
	CodeTokenMissing         store.Code = "TOKEN_MISSING"
	CodeTokenInvalid         store.Code = "TOKEN_INVALID"
	CodeTokenExpired         store.Code = "TOKEN_EXPIRED"
	CodeCrossOrigin          store.Code = "CROSS_ORIGIN"
	CodeHostNotAllowed       store.Code = "HOST_NOT_ALLOWED"
	CodeMethodNotAllowed     store.Code = "METHOD_NOT_ALLOWED"
	CodeUnsupportedMediaType store.Code = "UNSUPPORTED_MEDIA_TYPE"
	CodeRequestTimeout       store.Code = "REQUEST_TIMEOUT"
	CodeRateLimited          store.Code = "RATE_LIMITED"
	CodeUnsupportedVersion   store.Code = "UNSUPPORTED_VERSION"
	CodeRangeNotSatisfiable  store.Code = "RANGE_NOT_SATISFIABLE"
	CodeChecksumMismatch     store.Code = "CHECKSUM_MISMATCH"
)

// statuses maps error codes to statuses. No other table does.
var statuses = map[store.Code]int{
	CodeMalformedBody:                   http.StatusBadRequest,
	CodeTokenMissing:                    http.StatusUnauthorized,
	CodeTokenInvalid:                    http.StatusUnauthorized,
	CodeTokenExpired:                    http.StatusUnauthorized,
	store.CodeInvalidCredentials:        http.StatusUnauthorized,
	store.CodeAdminRequired:             http.StatusForbidden,
	store.CodeSameUserRequired:          http.StatusForbidden,
	store.CodeProjectPermissionRequired: http.StatusForbidden,
	store.CodeDefaultUserProtected:      http.StatusForbidden,
	CodeRequestTimeout:                  http.StatusRequestTimeout,
	CodeCrossOrigin:                     http.StatusForbidden,
	CodeHostNotAllowed:                  http.StatusForbidden,
	store.CodeNotFound:                  http.StatusNotFound,
	CodeMethodNotAllowed:                http.StatusMethodNotAllowed,
	store.CodeConflict:                  http.StatusConflict,
	CodeUnsupportedVersion:              http.StatusPreconditionFailed,
	store.CodePayloadTooLarge:           http.StatusRequestEntityTooLarge,
	CodeUnsupportedMediaType:            http.StatusUnsupportedMediaType,
	CodeRangeNotSatisfiable:             http.StatusRequestedRangeNotSatisfiable,
	store.CodeInvalidPayload:            http.StatusUnprocessableEntity,
	store.CodeIterationEnded:            http.StatusUnprocessableEntity,
	store.CodeExperimentNotInProgress:   http.StatusUnprocessableEntity,
	CodeRateLimited:                     http.StatusTooManyRequests,
	CodeChecksumMismatch:                460, // of the tus protocol
	store.CodeServerError:               http.StatusInternalServerError,
	store.CodeUnavailable:               http.StatusServiceUnavailable,
	store.CodeStorageFull:               http.StatusInsufficientStorage,
}

// errAccountGone answers a request with the token of an account that was
// deleted.
var errAccountGone = store.Errorf(CodeTokenInvalid, "The account behind this token does not exist any more; sign in again.")

// AsError returns err as the error that a request is answered with; nil for
// nil. It is store.AsError with the codes of this package.
func AsError(err error) *store.Error {
	e := store.AsError(err)
	if e != nil && e.Code == store.CodeActorGone {
		return errAccountGone
	}
	return e
}

// StatusOf returns the HTTP status of a code.
func StatusOf(c store.Code) int {
	if status, ok := statuses[c]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// retryUnavailable is the value of Retry-After for a server that stops or a
// database that is locked.
const retryUnavailable = time.Second

// RetryAfter sets the header Retry-After where waiting helps.
func RetryAfter(w http.ResponseWriter, e *store.Error) {
	wait := e.RetryAfter
	if e.Code == store.CodeUnavailable {
		wait = max(wait, retryUnavailable)
	}
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	}
}

// PartialError is the error of a batch that stopped after a part of it was
// written.
type PartialError struct {
	Err *store.Error
	IDs []string // of the records that were written
}

func (e *PartialError) Error() string { return e.Err.Error() }

// Unwrap returns why it stopped.
func (e *PartialError) Unwrap() error { return e.Err }

// errorBody is the body of every error.
type errorBody struct {
	*store.Error
	IDs []string `json:"ids,omitzero"` // nil unless a batch has stopped
}

// WriteError answers with err as JSON. The cause of a failure of the server goes
// to the log and is never sent.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	body := errorBody{Error: AsError(err)}
	var partial *PartialError
	if errors.As(err, &partial) {
		body.IDs = partial.IDs
	}
	status := StatusOf(body.Code)
	if status >= http.StatusInternalServerError {
		InfoOf(r).Err = err
	}
	h := w.Header()
	h.Del("Location")
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	RetryAfter(w, body.Error)
	WriteJSON(w, r, status, body)
}
