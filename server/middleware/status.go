package middleware

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"tracker/store"
)

// statuses is the one place where a code gets its HTTP status.
var statuses = map[store.Code]int{
	store.CodeMalformedBody:             http.StatusBadRequest,
	store.CodeTokenMissing:              http.StatusUnauthorized,
	store.CodeTokenInvalid:              http.StatusUnauthorized,
	store.CodeTokenExpired:              http.StatusUnauthorized,
	store.CodeInvalidCredentials:        http.StatusUnauthorized,
	store.CodeAdminRequired:             http.StatusForbidden,
	store.CodeSameUserRequired:          http.StatusForbidden,
	store.CodeProjectPermissionRequired: http.StatusForbidden,
	store.CodeDefaultUserProtected:      http.StatusForbidden,
	store.CodeCrossOrigin:               http.StatusForbidden,
	store.CodeNotFound:                  http.StatusNotFound,
	store.CodeMethodNotAllowed:          http.StatusMethodNotAllowed,
	store.CodeConflict:                  http.StatusConflict,
	store.CodePayloadTooLarge:           http.StatusRequestEntityTooLarge,
	store.CodeUnsupportedMediaType:      http.StatusUnsupportedMediaType,
	store.CodeInvalidPayload:            http.StatusUnprocessableEntity,
	store.CodeIterationEnded:            http.StatusUnprocessableEntity,
	store.CodeExperimentNotInProgress:   http.StatusUnprocessableEntity,
	store.CodeRateLimited:               http.StatusTooManyRequests,
	store.CodeServerError:               http.StatusInternalServerError,
	store.CodeUnavailable:               http.StatusServiceUnavailable,
	store.CodeStorageFull:               http.StatusInsufficientStorage,
	store.CodeUnsupportedVersion:        http.StatusPreconditionFailed,
	store.CodeRangeNotSatisfiable:       http.StatusRequestedRangeNotSatisfiable,
	store.CodeChecksumMismatch:          460, // of the tus protocol
}

// StatusOf is the HTTP status of a code.
func StatusOf(c store.Code) int {
	if status, ok := statuses[c]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// retryUnavailable is how long a caller is told to wait for a server that ends
// or a database that is locked.
const retryUnavailable = time.Second

// RetryAfter tells a caller how many seconds to wait before it tries again,
// where waiting helps.
func RetryAfter(w http.ResponseWriter, e *store.Error) {
	wait := e.RetryAfter
	if e.Code == store.CodeUnavailable {
		wait = max(wait, retryUnavailable)
	}
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	}
}
