package web

import (
	"bufio"
	"fmt"
	"io"
	"net"
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
	res, err := http.Get(server.URL + "?viewer=ada") // the second one
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

// A stream does not count as a connection, and its answer has the headers that
// were set before.
func TestStreamsAreNoConnections(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, e := &subject{}, NewEvents(nil)
	server := &httptest.Server{Listener: LimitConnections(l, 1), Config: &http.Server{
		ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Request-Id", "some-id")
			if err := e.Serve(w, r, EventStream{Subject: "subject", Allow: s.allowAll, Changes: s.changes}); err != nil {
				t.Error(err)
			}
		})}}
	server.Start()
	t.Cleanup(server.Close)
	t.Cleanup(e.Close)
	for n := range 5 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: box\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || res.StatusCode != http.StatusOK || res.Header.Get("X-Request-Id") != "some-id" ||
			res.Header.Get("Content-Type") != "text/event-stream" || !res.Close {
			t.Fatalf("stream %d: %+v (%v)", n, res, err)
		}
	}
}

// A client that does not read holds no events in memory, and delays nobody.
func TestStreamThatIsNotReadIsCut(t *testing.T) {
	f := &feed{tail: &event{}, members: map[*member]struct{}{}}
	add := func() net.Conn {
		server, client := net.Pipe()
		t.Cleanup(func() { server.Close(); client.Close() })
		f.members[&member{conn: server, next: f.tail}] = struct{}{}
		return client
	}
	stuck, reader := add(), bufio.NewReader(add())
	// One more than it may be behind, and one that may be being written.
	for n := range maxBehind + 2 {
		text := fmt.Sprintf("event %d\n", n)
		f.send(text)
		if got, err := reader.ReadString('\n'); got != text {
			t.Fatalf("the other stream got %q (%v)", got, err)
		}
	}
	if _, err := stuck.Read(make([]byte, 1)); err == nil {
		t.Error("the stream that is not read goes on")
	}
}
