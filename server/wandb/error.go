package wandb

import (
	"net/http"

	"tracker/server/web"
)

// message is an error in the form that clients read.
type message struct {
	Message string   `json:"message"`
	Path    []string `json:"path,omitzero"`
}

type failure struct {
	Errors []message `json:"errors"`
}

// writeError answers with err in the protocol's form. The cause of a failure of the
// server goes to the log and is never sent. Clients repeat a request after 429 and all
// of 500 and above, and older ones after all but 400, 401, 403, 404 and 409, so a mistake
// of a caller has one of those five.
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
