package server

import (
	"errors"
	"net/http"

	"tracker/server/middleware"
	"tracker/store"
)

// errorBody is the body of every error.
type errorBody struct {
	*store.Error
	IDs []string `json:"ids,omitzero"` // what a batch wrote before it stopped; nil for other errors
}

// batchError is an error of which a part was carried out.
type batchError struct {
	err *store.Error
	ids []string // of what was written
}

func (e *batchError) Error() string { return e.err.Error() }
func (e *batchError) Unwrap() error { return e.err }

// fail answers a request with err. The cause of a failure that is the
// server's own goes to the log and is never sent.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	body := errorBody{Error: store.AsError(err)}
	var batch *batchError
	if errors.As(err, &batch) {
		body.IDs = batch.ids
	}
	status := middleware.StatusOf(body.Code)
	if status >= http.StatusInternalServerError {
		middleware.InfoOf(r).Err = err
	}
	h := w.Header()
	h.Del("Location")
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	middleware.RetryAfter(w, body.Error)
	writeJSON(w, r, status, body)
}
