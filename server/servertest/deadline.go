package servertest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// deadlines is a ResponseRecorder that records the read deadlines set by a handler.
type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.set = append(d.set, at)
	return nil
}

// WantDeadline fails the test if h handles a POST request without setting a read deadline.
func WantDeadline(t *testing.T, h http.Handler, path, body string) {
	t.Helper()
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader(body)))
	if len(w.set) == 0 || w.set[0].IsZero() {
		t.Errorf("%s: deadlines %v", path, w.set)
	}
}
