package web

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tracker/store/json"
)

// late is a list whose encoding fails after some strings.
type late struct{ texts, size int }

var errLate = errors.New("no more")

func (l late) MarshalJSONTo(enc *json.Encoder) error {
	if err := enc.WriteToken(json.BeginArray); err != nil {
		return err
	}
	for range l.texts {
		if err := enc.WriteToken(json.String(strings.Repeat("x", l.size))); err != nil {
			return err
		}
	}
	return errLate
}

// pieces counts the writes of a response and records the largest.
type pieces struct {
	*httptest.ResponseRecorder
	n, largest int
}

func (p *pieces) Write(b []byte) (int, error) {
	p.n++
	p.largest = max(p.largest, len(b))
	return p.ResponseRecorder.Write(b)
}

func TestAnswersAreSentAsTheyAreWritten(t *testing.T) {
	w := &pieces{ResponseRecorder: httptest.NewRecorder()}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	texts := make([]string, 1000)
	for i := range texts {
		texts[i] = strings.Repeat("x", 10_000)
	}
	WriteJSON(w, r, http.StatusOK, texts)
	if w.Code != http.StatusOK || w.Body.Len() != 1000*10_003+1 {
		t.Fatalf("%d, %d bytes", w.Code, w.Body.Len())
	}
	if w.n < 100 || w.largest > 4*heldAnswer {
		t.Errorf("it was sent in %d pieces of up to %d bytes", w.n, w.largest)
	}
}

func TestAnswerThatCantBeWritten(t *testing.T) {
	send := func(v any) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h := Log(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { WriteJSON(w, r, http.StatusOK, v) }),
			slog.New(slog.DiscardHandler), nil, nil)
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		return w
	}
	if w := send(late{3, 10}); w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "SERVER_ERROR") {
		t.Errorf("before it has begun: %d %s", w.Code, w.Body)
	}
	defer func() {
		if p := recover(); p != http.ErrAbortHandler {
			t.Errorf("after it has begun the connection is not cut: %v", p)
		}
	}()
	send(late{100, 10_000})
}
