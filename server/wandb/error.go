package wandb

import (
	"net/http"

	"tracker/server/web"
)

// message is an error in the format of the protocol.
type message struct {
	Message string   `json:"message"`
	Path    []string `json:"path,omitzero"`
}

type failure struct {
	Errors []message `json:"errors"`
}

// writeError answers with err in the protocol's form. The cause of a server error is
// written to the log and never sent. Clients repeat a request after 429 and all statuses
// from 500, and older ones after all except 400, 401, 403, 404 and 409, so a caller's
// error gets one of these five.
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
