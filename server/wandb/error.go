package wandb

import (
	"net/http"

	"tracker/server/web"
)

// message is an error as clients read it.
type message struct {
	Message string   `json:"message"`
	Path    []string `json:"path,omitzero"`
}

type failure struct {
	Errors []message `json:"errors"`
}

// writeError answers with err in the protocol's form. The cause of a failure of the
// server goes to the log and is never sent. Clients repeat a request after 429 and all
// of 500 and above, so no mistake of a caller has one of these.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	e := web.AsError(err)
	status := web.StatusOf(e.Code)
	if status >= http.StatusInternalServerError {
		web.InfoOf(r).Err = err
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Basic")
	}
	web.RetryAfter(w, e)
	web.WriteJSON(w, r, status, failure{[]message{{Message: e.Message}}})
}
