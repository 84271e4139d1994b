package web

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tracker/store/domain"
)

// pipes is a listener whose connections are in memory. The deadlines of these connections use the
// clock of the synctest bubble.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	close func()
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error   { l.close(); return nil }
func (l *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// paced runs a server that requires request bodies to arrive within grace, and returns a connection
// to the server.
func paced(t *testing.T, grace time.Duration, h http.HandlerFunc) net.Conn {
	t.Helper()
	l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.done) })
	s := &http.Server{Handler: Log(pace(h, grace), slog.New(slog.DiscardHandler), nil, func(http.ResponseWriter, *http.Request) {}),
		ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), <-served); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	client, server := net.Pipe()
	l.conns <- server
	return client
}

// dial returns a connection to an address.
func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// exchange sends text and returns the whole response.
func exchange(t *testing.T, conn net.Conn, text string) string {
	t.Helper()
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatalf("after %q: %v", answer, err)
	}
	return string(answer)
}

const halfBody = "POST / HTTP/1.1\r\nHost: box\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"half\":"

// A request whose body does not arrive is ended, whether or not the handler waits for the body.
func TestBodyThatDoesNotCome(t *testing.T) {
	run := func(name string, test func(*testing.T)) {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
	run("read", func(t *testing.T) {
		at := paced(t, 50*time.Millisecond, func(w http.ResponseWriter, r *http.Request) {
			_, err := ReadBody(w, r, Limits{Size: 1 << 20})
			WriteError(w, r, err)
		})
		if got := exchange(t, at, halfBody); !strings.HasPrefix(got, "HTTP/1.1 408 ") || !strings.Contains(got, "REQUEST_TIMEOUT") {
			t.Errorf("the answer is %q", got)
		}
	})
	run("nothing of it", func(t *testing.T) {
		at := paced(t, 50*time.Millisecond, func(w http.ResponseWriter, r *http.Request) {
			_, err := ReadBody(w, r, Limits{Size: 1 << 20})
			WriteError(w, r, err)
		})
		head, _, _ := strings.Cut(halfBody, "{")
		if got := exchange(t, at, head); !strings.HasPrefix(got, "HTTP/1.1 408 ") {
			t.Errorf("the answer is %q", got)
		}
	})
	run("answered at once", func(t *testing.T) {
		const grace = time.Second
		at := paced(t, grace, func(w http.ResponseWriter, r *http.Request) {
			_, err := ReadBody(w, r, Limits{Size: 1 << 20})
			WriteError(w, r, err)
		})
		begun := time.Now()
		exchange(t, at, halfBody)
		if took := time.Since(begun); took >= 2*grace {
			t.Errorf("it is answered after %v, want %v", took, grace)
		}
	})
	run("ignored", func(t *testing.T) {
		at := paced(t, 50*time.Millisecond, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
		if got := exchange(t, at, halfBody); !strings.HasPrefix(got, "HTTP/1.1 401 ") {
			t.Errorf("the answer is %q", got)
		}
	})
	run("upload that is refused in its middle", func(t *testing.T) {
		at := paced(t, 50*time.Millisecond, func(w http.ResponseWriter, r *http.Request) {
			AllowUpload(r)
			if _, err := io.ReadFull(r.Body, make([]byte, 3)); err != nil {
				t.Error(err)
			}
			w.WriteHeader(http.StatusConflict)
		})
		if got := exchange(t, at, halfBody); !strings.HasPrefix(got, "HTTP/1.1 409 ") {
			t.Errorf("the answer is %q", got)
		}
	})
}

// The deadline of a body affects neither the work of the handler after the body nor the next
// request on the connection.
func TestDeadlineEndsWithTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const grace = 50 * time.Millisecond
		at := paced(t, grace, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			select {
			case <-r.Context().Done():
				t.Error("the request was given up")
			case <-time.After(3 * grace):
			}
			w.Write(body)
		})
		request := "POST / HTTP/1.1\r\nHost: box\r\nContent-Length: 2\r\n\r\nhi"
		got := exchange(t, at, request+strings.Replace(request, "Host", "Connection: close\r\nHost", 1))
		if strings.Count(got, "\r\n\r\nhi") != 2 {
			t.Errorf("the answers are %q", got)
		}
	})
}

// conn counts the changes of its read deadline.
type conn struct {
	http.ResponseWriter
	deadline time.Time
}

func (c *conn) SetReadDeadline(at time.Time) error { c.deadline = at; return nil }

func TestDeadlineMovesWithTheBody(t *testing.T) {
	w := &conn{ResponseWriter: httptest.NewRecorder()}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(strings.Repeat("x", 3*bodyRate)))
	pace(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		begin := w.deadline
		if begin.IsZero() {
			t.Fatal("there is no deadline before the first byte")
		}
		if _, err := io.ReadFull(r.Body, make([]byte, 2*bodyRate)); err != nil {
			t.Fatal(err)
		}
		if got := w.deadline.Sub(begin); got != 2*time.Second {
			t.Errorf("the deadline has moved by %v, want 2s", got)
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Fatal(err)
		}
		if !w.deadline.IsZero() {
			t.Error("the deadline stays after the body has ended")
		}
	}), bodyGrace).ServeHTTP(w, r)
}

func TestLimitConnections(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "in") }), ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- s.Serve(LimitConnections(l, 2)) }()
	defer func() {
		if err := errors.Join(s.Close(), <-served); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	at := l.Addr().String()
	const request = "GET / HTTP/1.1\r\nHost: box\r\nConnection: close\r\n\r\n"
	var waiting []net.Conn
	for range 2 {
		waiting = append(waiting, dial(t, at))
	}
	got := exchange(t, dial(t, at), request)
	if !strings.HasPrefix(got, "HTTP/1.1 503 ") || !strings.Contains(got, "Retry-After: 1\r\n") || !strings.Contains(got, string(domain.CodeUnavailable)) {
		t.Errorf("one too many is answered %q", got)
	}
	for _, c := range waiting {
		c.Close()
	}
	for begin := time.Now(); ; {
		if got := exchange(t, dial(t, at), request); strings.HasSuffix(got, "in") {
			break
		}
		if time.Since(begin) > time.Minute {
			t.Fatal("there is no room after the others have ended")
		}
	}
}

// A client that reads only after it has sent its whole body still gets the response to a request
// that is rejected earlier.
func TestAnswerBeforeTheEndOfTheBody(t *testing.T) {
	full := domain.Errorf(domain.CodeStorageFull, "There is no room.")
	for name, refuse := range map[string]http.HandlerFunc{
		"unread": func(w http.ResponseWriter, r *http.Request) { WriteError(w, r, full) },
		"upload": func(w http.ResponseWriter, r *http.Request) {
			AllowUpload(r)
			WriteError(w, r, full)
		},
		"begun": func(w http.ResponseWriter, r *http.Request) {
			AllowUpload(r)
			_, _ = io.ReadFull(r.Body, make([]byte, 1000)) // the rejection does not depend on these bytes
			WriteError(w, r, full)
		},
		"too large": func(w http.ResponseWriter, r *http.Request) {
			_, err := ReadBody(w, r, Limits{Size: 1000})
			if err == nil {
				t.Error("it is taken")
			}
			WriteError(w, r, full)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(Log(Pace(refuse), slog.New(slog.DiscardHandler), nil, func(http.ResponseWriter, *http.Request) {}))
			defer s.Close()
			conn := dial(t, s.Listener.Addr().String())
			size := RestSize
			if name == "upload" || name == "begun" {
				size = 100 << 20
			}
			body := strings.Repeat("x", size)
			got := exchange(t, conn, fmt.Sprintf("POST / HTTP/1.1\r\nHost: box\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
			if !strings.HasPrefix(got, "HTTP/1.1 507 ") || !strings.Contains(got, "STORAGE_FULL") {
				t.Errorf("the answer is %q", got)
			}
		})
	}
}

// The server reads only a limited part of the rest of a rejected body.
func TestEndlessBodyAfterRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := paced(t, bodyGrace, func(w http.ResponseWriter, r *http.Request) {
			WriteError(w, r, domain.Errorf(domain.CodeStorageFull, "There is no room."))
		})
		defer conn.Close()
		go io.Copy(io.Discard, conn)
		head := "POST / HTTP/1.1\r\nHost: box\r\nContent-Length: 1152921504606846976\r\n\r\n"
		if _, err := io.WriteString(conn, head); err != nil {
			t.Fatal(err)
		}
		piece := make([]byte, 1<<20)
		for n := int64(0); ; n += int64(len(piece)) {
			if n > 2*RestSize {
				t.Fatal("it is read on")
			}
			if _, err := conn.Write(piece); err != nil {
				return
			}
		}
	})
}
