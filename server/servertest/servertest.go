// Package servertest starts a server with an empty database for a test. It also contains checks
// that tests for several ports and protocols share.
package servertest

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"tracker/server"
	"tracker/server/web/auth"
	"tracker/store"
)

const (
	// Password is the password of the user "default".
	Password = "correct horse battery"
	// Begin is the initial time of a server's clock in Unix milliseconds.
	Begin = 1_800_000_000_000
)

// Options configures Start.
type Options struct {
	SignIn  bool
	Proxies []netip.Prefix // proxies trusted by the server
}

// Server is a running server.
type Server struct {
	DB   *store.DB
	Auth *auth.Auth
	HTTP *httptest.Server
	Now  *atomic.Int64 // time of the server's clock in Unix milliseconds
}

// Start starts a server that runs until the test ends.
func Start(t testing.TB, o Options) Server {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s := Server{Now: new(atomic.Int64)}
	s.Now.Store(Begin)
	clock := func() time.Time { return time.UnixMilli(s.Now.Load()) }
	var err error
	s.DB, err = store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "t.db"), Exclusive: true, BcryptCost: 4, Now: clock,
		TrashAge: 30 * 24 * time.Hour})
	must(err)
	t.Cleanup(func() { must(s.DB.Close()) })
	_, err = s.DB.Users.Seed(t.Context(), Password)
	must(err)
	s.Auth = auth.New(s.DB, auth.Options{Enabled: o.SignIn, Secret: "the secret of these tests", Now: clock})
	h, err := server.New(server.Options{DB: s.DB, Logger: slog.New(slog.DiscardHandler), Metrics: server.NewMetrics(), Now: clock,
		Auth: s.Auth, Proxies: o.Proxies})
	must(err)
	s.HTTP = httptest.NewServer(h)
	t.Cleanup(s.HTTP.Close)
	return s
}

// Send sends a request and returns the response and its body.
func Send(t testing.TB, r *http.Request) (*http.Response, string) {
	t.Helper()
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}
