package server_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// pacedWriter records the deadlines for the body of a request.
type pacedWriter struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (w *pacedWriter) SetReadDeadline(at time.Time) error {
	w.set = append(w.set, at)
	return nil
}

// A body that anybody may send has to arrive in time.
func TestBodiesHaveADeadline(t *testing.T) {
	a := start(t)
	for _, path := range []string{"/auth", "/project", "/graphql", "/api/2.0/mlflow/runs/create"} {
		w := &pacedWriter{ResponseRecorder: httptest.NewRecorder()}
		a.server.Config.Handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader(`{}`)))
		if len(w.set) == 0 || w.set[0].IsZero() {
			t.Errorf("%s: deadlines %v", path, w.set)
		}
	}
}
