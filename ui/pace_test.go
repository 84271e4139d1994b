package ui_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tracker/server/web/auth"
	"tracker/ui"
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

// A form that anybody may send has to arrive in time.
func TestFormsHaveADeadline(t *testing.T) {
	s := start(t, setup{auth: true})
	h, err := ui.New(ui.Options{DB: s.db, Auth: auth.New(s.db, auth.Options{Enabled: true, Secret: "a secret of this test"})})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/login", "/project/new"} {
		w := &pacedWriter{ResponseRecorder: httptest.NewRecorder()}
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader("username=alice")))
		if len(w.set) == 0 || w.set[0].IsZero() {
			t.Errorf("%s: deadlines %v", path, w.set)
		}
	}
}
