package blobtest

import (
	"bytes"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
)

// Serve is an object store behind TLS, as they are, until the end of the test.
func Serve(t testing.TB, h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(logFilter{}, "", log.LstdFlags)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// noise is what the log of such a server is full of: the fake begins some of
// its answers twice, and clients that are killed leave in the middle.
var noise = [][]byte{
	[]byte("superfluous response.WriteHeader call from github.com/johannesboyne/gofakes3"),
	[]byte("TLS handshake error"),
}

// logFilter passes the rest on.
type logFilter struct{}

func (logFilter) Write(line []byte) (int, error) {
	for _, n := range noise {
		if bytes.Contains(line, n) {
			return len(line), nil
		}
	}
	return os.Stderr.Write(line)
}
