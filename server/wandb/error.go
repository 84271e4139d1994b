package wandb

import (
	"net/http"

	"tracker/server/web"
)

// message is an error in the protocol's format.
type message struct {
	Message string   `json:"message"`
	Path    []string `json:"path,omitzero"`
}

type failure struct {
	Errors []message `json:"errors"`
}

// writeError sends err in the protocol's format. It logs the cause of a server error but never
// sends the cause.
//
// Clients repeat a request after status 429, and after 500 and above. Older clients repeat a
// request after most other errors, except after 400, 401, 403, 404 and 409. writeError
// therefore replaces most other client error statuses by 400.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	e := web.AsError(err)
	status := web.StatusOf(e.Code)
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusConflict, http.StatusTooManyRequests:
	default:
		if status < http.StatusInternalServerError {
			status = http.StatusBadRequest
		}
	}
	if status >= http.StatusInternalServerError {
		web.InfoOf(r).Err = err
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Basic")
	}
	web.RetryAfter(w, e)
	web.WriteJSON(w, r, status, failure{[]message{{Message: e.Message}}})
}
