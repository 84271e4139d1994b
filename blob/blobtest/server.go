package blobtest

import (
	"bytes"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
)

// Serve runs h as an object store with TLS until the test ends.
func Serve(t testing.TB, h http.Handler) *httptest.Server {
	s, _ := ServeWatched(t, h)
	return s
}

// ServeWatched is like Serve, but also returns the function busy, which reports whether a
// connection might have a request in progress.
func ServeWatched(t testing.TB, h http.Handler) (s *httptest.Server, busy func() bool) {
	var mu sync.Mutex
	active := map[net.Conn]bool{}
	s = httptest.NewUnstartedServer(h)
	s.Config.ConnState = func(c net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		if state == http.StateNew || state == http.StateActive {
			active[c] = true
		} else {
			delete(active, c)
		}
	}
	s.Config.ErrorLog = log.New(logFilter{}, "", log.LstdFlags)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(active) > 0
	}
}

// noise holds messages that would fill the server's log. The fake store writes some response
// headers twice, and killed clients break connections.
var noise = [][]byte{
	[]byte("superfluous response.WriteHeader call from github.com/johannesboyne/gofakes3"),
	[]byte("TLS handshake error"),
}

// logFilter writes a line to standard error if the line contains no message from noise.
type logFilter struct{}

func (logFilter) Write(line []byte) (int, error) {
	for _, n := range noise {
		if bytes.Contains(line, n) {
			return len(line), nil
		}
	}
	return os.Stderr.Write(line)
}
