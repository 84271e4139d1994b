package web

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// until waits until ok returns true.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("never: " + what)
		}
	}
}

func TestStreamsAreBounded(t *testing.T) {
	var open atomic.Int64
	s := &subject{}
	_, server := eventBedOf(t, s, NewStreams(2, func(n int) { open.Add(int64(n)) }))
	listen(t, server, "ada", "")
	res, err := http.Get(server.URL + "?viewer=ada") // the second stream
	if err != nil {
		t.Fatal(err)
	}
	if n := open.Load(); n != 2 {
		t.Errorf("%d of 2 streams are counted", n)
	}
	third, err := http.Get(server.URL + "?viewer=ada")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(third.Body)
	third.Body.Close()
	if err != nil || third.StatusCode == http.StatusOK || !strings.Contains(string(text), "Too many open event streams") {
		t.Errorf("one too many is answered %s %s (%v)", third.Status, text, err)
	}
	res.Body.Close()
	until(t, "room for another one after the client has gone", func() bool { return open.Load() == 1 })
	listen(t, server, "ada", "")
	s.do(func() { s.deleted = true })
	until(t, "no stream is counted after the end of all", func() bool { return open.Load() == 0 })
}

// Headers that were set before the stream starts are sent. The duration of a stream is not
// measured.
func TestStreamHeaders(t *testing.T) {
	s, e := &subject{}, NewEvents(nil)
	server := httptest.NewServer(Log(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := e.Serve(w, r, EventStream{Subject: "subject", Allow: s.allowAll, Changes: s.changes}); err != nil {
			t.Error(err)
		}
		if InfoOf(r).begun.IsZero() {
			t.Error("the whole duration is measured")
		}
	}), slog.New(slog.DiscardHandler), nil, nil))
	t.Cleanup(server.Close)
	t.Cleanup(e.Close)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Request-Id", "some-id")
	res, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || res.Header.Get("X-Request-Id") != "some-id" || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%+v", res)
	}
	e.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Error(err)
	}
}

// A stream whose client reads too slowly is closed and does not delay other streams.
func TestStreamThatIsNotReadIsCut(t *testing.T) {
	f := newFeed()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m := &member{next: f.tail, ended: make(chan struct{})}
		if err := send(w, ": connected\n"); err != nil {
			t.Error(err)
		}
		if r.URL.Path == "/late" { // write nothing until the stream is too far behind
			for !f.isBehind(m) {
				time.Sleep(time.Millisecond)
			}
		}
		f.serve(r.Context(), m, func(text string) error { return send(w, text) })
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(f.ended) })
	open := func(path string) *bufio.Reader {
		t.Helper()
		res, err := server.Client().Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		lines := bufio.NewReader(res.Body)
		if line, err := lines.ReadString('\n'); err != nil || line != ": connected\n" {
			t.Fatalf("%q (%v)", line, err)
		}
		return lines
	}
	late, reader := open("/late"), open("/")
	for n := range maxBehind + 1 {
		text := fmt.Sprintf("event %d\n", n)
		f.send(text)
		if got, err := reader.ReadString('\n'); got != text {
			t.Fatalf("the other stream got %q (%v)", got, err)
		}
	}
	if text, err := io.ReadAll(late); err != nil || len(text) > 0 {
		t.Errorf("the stream that is not read goes on with %q (%v)", text, err)
	}
}
