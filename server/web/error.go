package web

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"tracker/store/domain"
)

// Error codes for HTTP, tokens and the tus protocol. Package domain defines all other error
// codes.
const (
	CodeMalformedBody        domain.Code = "MALFORMED_BODY"
	CodeTokenMissing         domain.Code = "TOKEN_MISSING"
	CodeTokenInvalid         domain.Code = "TOKEN_INVALID"
	CodeTokenExpired         domain.Code = "TOKEN_EXPIRED"
	CodeCrossOrigin          domain.Code = "CROSS_ORIGIN"
	CodeHostNotAllowed       domain.Code = "HOST_NOT_ALLOWED"
	CodeMethodNotAllowed     domain.Code = "METHOD_NOT_ALLOWED"
	CodeUnsupportedMediaType domain.Code = "UNSUPPORTED_MEDIA_TYPE"
	CodeRequestTimeout       domain.Code = "REQUEST_TIMEOUT"
	CodeRateLimited          domain.Code = "RATE_LIMITED"
	CodeUnsupportedVersion   domain.Code = "UNSUPPORTED_VERSION"
	CodeRangeNotSatisfiable  domain.Code = "RANGE_NOT_SATISFIABLE"
	CodeChecksumMismatch     domain.Code = "CHECKSUM_MISMATCH"
)

// statuses maps each error code to its HTTP status.
var statuses = map[domain.Code]int{
	CodeMalformedBody:                    http.StatusBadRequest,
	CodeTokenMissing:                     http.StatusUnauthorized,
	CodeTokenInvalid:                     http.StatusUnauthorized,
	CodeTokenExpired:                     http.StatusUnauthorized,
	domain.CodeInvalidCredentials:        http.StatusUnauthorized,
	domain.CodeAdminRequired:             http.StatusForbidden,
	domain.CodeSameUserRequired:          http.StatusForbidden,
	domain.CodeProjectPermissionRequired: http.StatusForbidden,
	domain.CodeDefaultUserProtected:      http.StatusForbidden,
	CodeRequestTimeout:                   http.StatusRequestTimeout,
	CodeCrossOrigin:                      http.StatusForbidden,
	CodeHostNotAllowed:                   http.StatusForbidden,
	domain.CodeNotFound:                  http.StatusNotFound,
	CodeMethodNotAllowed:                 http.StatusMethodNotAllowed,
	domain.CodeConflict:                  http.StatusConflict,
	CodeUnsupportedVersion:               http.StatusPreconditionFailed,
	domain.CodePayloadTooLarge:           http.StatusRequestEntityTooLarge,
	CodeUnsupportedMediaType:             http.StatusUnsupportedMediaType,
	CodeRangeNotSatisfiable:              http.StatusRequestedRangeNotSatisfiable,
	domain.CodeInvalidPayload:            http.StatusUnprocessableEntity,
	domain.CodeIterationEnded:            http.StatusUnprocessableEntity,
	domain.CodeExperimentNotInProgress:   http.StatusUnprocessableEntity,
	CodeRateLimited:                      http.StatusTooManyRequests,
	CodeChecksumMismatch:                 460, // defined by the tus protocol
	domain.CodeServerError:               http.StatusInternalServerError,
	domain.CodeUnavailable:               http.StatusServiceUnavailable,
	domain.CodeStorageFull:               http.StatusInsufficientStorage,
}

// errAccountGone means that the account of a token has been deleted.
var errAccountGone = domain.Errorf(CodeTokenInvalid, "The account of this token no longer exists; sign in again.")

// AsError converts err to an error for a response. It is like domain.AsError, but the result can
// have a code of this package. It returns nil if err is nil.
func AsError(err error) *domain.Error {
	e := domain.AsError(err)
	if e != nil && e.Code == domain.CodeActorGone {
		return errAccountGone
	}
	return e
}

// StatusOf returns the HTTP status for an error code.
func StatusOf(c domain.Code) int {
	if status, ok := statuses[c]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// retryUnavailable is the minimum Retry-After value for the error UNAVAILABLE, such as when the
// server is stopping or the database is locked.
const retryUnavailable = time.Second

// RetryAfter sets the Retry-After header if a later request might succeed.
func RetryAfter(w http.ResponseWriter, e *domain.Error) {
	wait := e.RetryAfter
	if e.Code == domain.CodeUnavailable {
		wait = max(wait, retryUnavailable)
	}
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	}
}

// PartialError is the error of a batch that was only partly written.
type PartialError struct {
	Err *domain.Error
	IDs []string // ids of the written records
}

func (e *PartialError) Error() string { return e.Err.Error() }

// Unwrap returns the error that stopped the batch.
func (e *PartialError) Unwrap() error { return e.Err }

// errorBody is the JSON body of an error response.
type errorBody struct {
	*domain.Error
	IDs []string `json:"ids,omitzero"` // set only if a batch was partly written
}

// WriteError sends err as JSON. It logs the cause of a server error but never sends the cause.
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
