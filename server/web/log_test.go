package web_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tracker/server/web"
)

// exchange is one request through Log with its results.
type exchange struct {
	answer   *http.Response
	body     string
	lines    []map[string]any // parsed lines of the log
	text     string           // the unparsed log
	observed []string
}

func through(t *testing.T, r *http.Request, level slog.Level, h http.HandlerFunc) exchange {
	t.Helper()
	var e exchange
	var log bytes.Buffer
	observe := func(method, route string, status int, took time.Duration) {
		if took < 0 {
			t.Errorf("it took %v", took)
		}
		e.observed = append(e.observed, method+" "+route+" "+http.StatusText(status))
	}
	onPanic := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		io.WriteString(w, `{"code":"SERVER_ERROR"}`)
	}
	w := httptest.NewRecorder()
	web.Log(h, slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: level})), observe, onPanic).ServeHTTP(w, r)
	e.answer, e.text = w.Result(), log.String()
	body, err := io.ReadAll(e.answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	e.body = string(body)
	for line := range strings.Lines(e.text) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		e.lines = append(e.lines, m)
	}
	return e
}

func TestLogLine(t *testing.T) {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost,
		"/auth/id%0A7?token=hidden-in-query", strings.NewReader(`{"password":"hidden-in-body"}`))
	r.Header.Set("Authorization", "Bearer hidden-in-header")
	r.Header.Set("Cookie", "tracker_token=hidden-in-cookie")
	r.Header.Set("X-Request-Id", "job-7/epoch-3")
	e := through(t, r, slog.LevelInfo, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		info := web.InfoOf(r)
		info.Route, info.User = "/auth/{id}", "ada"
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, "hidden-in-answer")
	})
	if len(e.lines) != 1 {
		t.Fatalf("the log is %q, want one line", e.text)
	}
	line := e.lines[0]
	for name, want := range map[string]any{"level": "INFO", "msg": "request", "method": "POST", "route": "/auth/{id}", "path": "/auth/id%0A7",
		"status": 201.0, "user": "ada", "request_id": "job-7/epoch-3"} {
		if line[name] != want {
			t.Errorf("%s is %v, want %v", name, line[name], want)
		}
		delete(line, name)
	}
	if took, ok := line["took"].(float64); !ok || took < 0 {
		t.Errorf("took is %v", line["took"])
	}
	delete(line, "took")
	delete(line, "time")
	if len(line) != 0 || strings.Contains(e.text, "hidden") {
		t.Errorf("the log says more than it should: %s", e.text)
	}
	if len(e.observed) != 1 || e.observed[0] != "POST /auth/{id} Created" {
		t.Errorf("observed %q", e.observed)
	}
}

func TestLogLevels(t *testing.T) {
	cause := errors.New("the disk is on fire")
	tests := []struct {
		status int
		err    error
		level  string // "" if no line is logged
		at     slog.Level
	}{
		{0, nil, "INFO", slog.LevelInfo}, // a handler that writes nothing sends 200
		{204, nil, "INFO", slog.LevelInfo},
		{422, nil, "INFO", slog.LevelInfo},
		{500, cause, "ERROR", slog.LevelInfo},
		{507, cause, "ERROR", slog.LevelError},
		{200, nil, "", slog.LevelWarn},
		{404, nil, "", slog.LevelError},
	}
	for _, tt := range tests {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		e := through(t, r, tt.at, func(w http.ResponseWriter, r *http.Request) {
			web.InfoOf(r).Err = tt.err
			if tt.status != 0 {
				w.WriteHeader(tt.status)
			}
		})
		want := tt.status
		if want == 0 {
			want = http.StatusOK
		}
		if tt.level == "" {
			if e.text != "" {
				t.Errorf("%d at level %v logs %s", tt.status, tt.at, e.text)
			}
		} else if len(e.lines) != 1 || e.lines[0]["level"] != tt.level || e.lines[0]["status"] != float64(want) ||
			tt.err != nil && e.lines[0]["error"] != tt.err.Error() {
			t.Errorf("%d logs %s", tt.status, e.text)
		}
		if len(e.observed) != 1 {
			t.Errorf("%d was observed %d times", tt.status, len(e.observed))
		}
	}
}

func TestStatusThatIsLoggedIsTheOneThatWasSent(t *testing.T) {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	e := through(t, r, slog.LevelInfo, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "all is well")
		w.WriteHeader(http.StatusTeapot) // too late
	})
	if e.answer.StatusCode != 200 || e.lines[0]["status"] != 200.0 {
		t.Errorf("sent %d, logged %s", e.answer.StatusCode, e.text)
	}
	e = through(t, r, slog.LevelInfo, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusEarlyHints) // not the final status
		w.WriteHeader(http.StatusTeapot)
	})
	if e.lines[0]["status"] != 418.0 {
		t.Errorf("logged %s", e.text)
	}
	e = through(t, r, slog.LevelInfo, func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Errorf("the writer below can't be reached: %v", err)
		}
	})
	if e.lines[0]["status"] != 200.0 {
		t.Errorf("logged %s", e.text)
	}
}

func TestRequestID(t *testing.T) {
	kept := []string{"a", "01a1fd2c-e766-7010-bd7b-29092e416788", "job/7:epoch=3;x", strings.Repeat("x", 64)}
	replaced := []string{"", " ", "a b", "a\tb", "a\nb", "a\x00b", "a\x7fb", `a"b`, `a\b`, "ä", "a\xffb", strings.Repeat("x", 65)}
	ask := func(id string, h http.HandlerFunc) exchange {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set("X-Request-Id", id)
		return through(t, r, slog.LevelInfo, h)
	}
	made := map[string]bool{}
	for i, id := range append(kept, replaced...) {
		var inside string
		e := ask(id, func(w http.ResponseWriter, r *http.Request) { inside = web.InfoOf(r).RequestID })
		got := e.answer.Header.Get("X-Request-Id")
		if (got == id) != (i < len(kept)) || got == "" {
			t.Errorf("%q became %q", id, got)
		}
		if got != inside || got != e.lines[0]["request_id"] {
			t.Errorf("the answer has %q, the handler %q, the log %v", got, inside, e.lines[0]["request_id"])
		}
		if made[got] {
			t.Errorf("%q was given out twice", got)
		}
		made[got] = true
	}
}

func TestRequestIDsOfOneServerDiffer(t *testing.T) {
	h := web.Log(http.NotFoundHandler(), slog.New(slog.DiscardHandler), nil, nil)
	seen := map[string]bool{}
	for range 100 {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		seen[w.Header().Get("X-Request-Id")] = true
	}
	if len(seen) != 100 {
		t.Errorf("100 requests have %d ids", len(seen))
	}
}

func TestPanicIsAnsweredAndLogged(t *testing.T) {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	e := through(t, r, slog.LevelInfo, func(http.ResponseWriter, *http.Request) { panicOnPurpose() })
	if e.answer.StatusCode != 500 || e.body != `{"code":"SERVER_ERROR"}` {
		t.Errorf("the answer is %d %s", e.answer.StatusCode, e.body)
	}
	text, _ := e.lines[0]["error"].(string)
	for _, want := range []string{"a secret of the server", "panicOnPurpose", "log_test.go"} {
		if !strings.Contains(text, want) {
			t.Errorf("the log does not say %q: %s", want, text)
		}
	}
	if e.lines[0]["level"] != "ERROR" || e.lines[0]["status"] != 500.0 || len(e.observed) != 1 {
		t.Errorf("logged %s, observed %q", e.text, e.observed)
	}
}

func panicOnPurpose() { panic("a secret of the server") }

// An incomplete response must not look complete.
func TestPanicAfterTheAnswerBeganCutsItOff(t *testing.T) {
	for _, cause := range []any{"a secret of the server", http.ErrAbortHandler} {
		testCutOff(t, cause)
	}
}

func testCutOff(t *testing.T, cause any) {
	var log bytes.Buffer
	done := make(chan struct{})
	onPanic := func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "a second answer") }
	h := web.Log(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "the first half")
		http.NewResponseController(w).Flush()
		panic(cause)
	}), slog.New(slog.NewTextHandler(&log, nil)), nil, onPanic)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(done)
		h.ServeHTTP(w, r)
	}))
	defer server.Close()
	answer, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil || string(body) != "the first half" {
		t.Errorf("the answer is %q, %v; want its first half and an error", body, err)
	}
	<-done
	if got := log.String(); strings.Count(got, "msg=request") != 1 || strings.Contains(got, "a secret") != (cause != http.ErrAbortHandler) {
		t.Errorf("the log is %q", got)
	}
}

func TestInfoOutsideOfLogIsEmpty(t *testing.T) {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	if got := web.InfoOf(r); got == nil || *got != (web.Info{}) {
		t.Errorf("got %+v", got)
	}
}
