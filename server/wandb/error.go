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
// Clients retry after status 429 and after 500 and above. Older clients also retry after most other
// errors, but not after 400, 401, 403, 404 and 409. writeError therefore replaces most other client
// error statuses with 400.
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
