package mlflow

import (
	"net/http"

	"tracker/server/web"
	"tracker/store/domain"
)

// code is an error code of MLflow's protocol.
type code string

const (
	codeInvalid        code = "INVALID_PARAMETER_VALUE"
	codeExists         code = "RESOURCE_ALREADY_EXISTS"
	codeBadRequest     code = "BAD_REQUEST"
	codeNotFound       code = "RESOURCE_DOES_NOT_EXIST"
	codeNoEndpoint     code = "ENDPOINT_NOT_FOUND"
	codeUnauthorized   code = "UNAUTHENTICATED"
	codeDenied         code = "PERMISSION_DENIED"
	codeConflict       code = "RESOURCE_CONFLICT"
	codeTooManyCalls   code = "REQUEST_LIMIT_EXCEEDED"
	codeExhausted      code = "RESOURCE_EXHAUSTED"
	codeInternal       code = "INTERNAL_ERROR"
	codeNotImplemented code = "NOT_IMPLEMENTED"
	codeUnavailable    code = "TEMPORARILY_UNAVAILABLE"
)

// refusal is an error that exists only in this protocol, with its HTTP status.
type refusal struct {
	status  int
	code    code
	message string
}

func (r *refusal) Error() string { return r.message }

// exists returns the error for a name that is already in use.
func exists(message string) error {
	return &refusal{http.StatusBadRequest, codeExists, message}
}

// answers maps error codes of the service to HTTP statuses and error codes of the protocol. Clients
// retry requests that fail with 408, 429, or 500 and above for minutes, so an error that the caller
// causes has such a status only if waiting helps.
var answers = map[domain.Code]struct {
	status int
	code   code
}{
	web.CodeMalformedBody:                {http.StatusBadRequest, codeBadRequest},
	web.CodeUnsupportedMediaType:         {http.StatusBadRequest, codeBadRequest},
	web.CodeRangeNotSatisfiable:          {http.StatusRequestedRangeNotSatisfiable, codeBadRequest},
	web.CodeTokenMissing:                 {http.StatusUnauthorized, codeUnauthorized},
	web.CodeTokenInvalid:                 {http.StatusUnauthorized, codeUnauthorized},
	web.CodeTokenExpired:                 {http.StatusUnauthorized, codeUnauthorized},
	domain.CodeInvalidCredentials:        {http.StatusUnauthorized, codeUnauthorized},
	domain.CodeAdminRequired:             {http.StatusForbidden, codeDenied},
	domain.CodeSameUserRequired:          {http.StatusForbidden, codeDenied},
	domain.CodeProjectPermissionRequired: {http.StatusForbidden, codeDenied},
	domain.CodeNotFound:                  {http.StatusNotFound, codeNotFound},
	web.CodeMethodNotAllowed:             {http.StatusMethodNotAllowed, codeNoEndpoint},
	domain.CodeConflict:                  {http.StatusConflict, codeConflict},
	domain.CodePayloadTooLarge:           {http.StatusRequestEntityTooLarge, codeInvalid},
	domain.CodeInvalidPayload:            {http.StatusBadRequest, codeInvalid},
	domain.CodeIterationEnded:            {http.StatusBadRequest, codeInvalid},
	domain.CodeExperimentNotInProgress:   {http.StatusBadRequest, codeInvalid},
	web.CodeRateLimited:                  {http.StatusTooManyRequests, codeTooManyCalls},
	web.CodeRequestTimeout:               {http.StatusRequestTimeout, codeUnavailable},
	domain.CodeUnavailable:               {http.StatusServiceUnavailable, codeUnavailable},
	domain.CodeStorageFull:               {http.StatusInsufficientStorage, codeExhausted},
}

type errorBody struct {
	Code    code   `json:"error_code"`
	Message string `json:"message"`
}

// writeError sends err in the format of the protocol. It logs the cause of a server error but
// never sends the cause.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	if own, ok := err.(*refusal); ok {
		web.WriteJSON(w, r, own.status, errorBody{own.code, own.message})
		return
	}
	e := web.AsError(err)
	a, ok := answers[e.Code]
	if !ok {
		a.status, a.code = http.StatusInternalServerError, codeInternal
	}
	if a.status >= http.StatusInternalServerError {
		web.InfoOf(r).Err = err
	}
	if a.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	web.RetryAfter(w, e)
	web.WriteJSON(w, r, a.status, errorBody{a.code, e.Message})
}

// isNotFound reports whether err means that a record does not exist.
func isNotFound(err error) bool {
	return err != nil && domain.AsError(err).Code == domain.CodeNotFound
}
