package ui_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tracker/blob"
	"tracker/server/web/auth"
	"tracker/store"
	"tracker/store/artifact"
	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/users"
	"tracker/ui"
)

const password = "correct horse"

// clock is a clock that stands still until a test moves it.
type clock struct{ at atomic.Int64 }

func newClock(t time.Time) *clock {
	c := new(clock)
	c.at.Store(t.UnixNano())
	return c
}

func (c *clock) now() time.Time       { return time.Unix(0, c.at.Load()).UTC() }
func (c *clock) move(d time.Duration) { c.at.Add(int64(d)) }

// site is a running dashboard with its own database.
type site struct {
	t     testing.TB
	db    *store.DB
	url   string // URL of the server, without the base path
	base  string
	clock *clock
	close func() // the database
}

type setup struct {
	auth  bool
	base  string
	proxy string // kind of proxy: strips or keeps the base path, "" for none
	edit  func(*ui.Options)

	reads *atomic.Int64 // if not nil, counts the snapshots that requests take

	maxUpload int64  // maximum size of an artifact in bytes, 0 for no limit
	blobs     string // folder for artifacts, "" keeps them in the database
}

// requestKey is the key of a value in the context of every request, which the context of background
// work lacks.
type requestKey struct{}

func (s setup) onRead() func(context.Context) {
	if s.reads == nil {
		return nil
	}
	return func(ctx context.Context) {
		if ctx.Value(requestKey{}) != nil {
			s.reads.Add(1)
		}
	}
}

func (s setup) backends() artifact.Backends {
	if s.blobs == "" {
		return artifact.Backends{Default: artifact.Inline}
	}
	return artifact.Backends{Default: artifact.Filesystem, Open: map[artifact.Backend]func() (blob.Store, error){
		artifact.Filesystem: func() (blob.Store, error) { return blob.NewFilesystem(s.blobs) }}}
}

// start runs a dashboard with the accounts default and alice (admins) and bob.
func start(t testing.TB, s setup) *site {
	t.Helper()
	c := newClock(time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC))
	db, err := store.Open(t.Context(), store.Options{
		Path: filepath.Join(t.TempDir(), "tracker.db"), BcryptCost: 4, Now: c.now,
		Backends: s.backends(), MaxUpload: s.maxUpload, OnRead: s.onRead(), TrashAge: 30 * 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	closeDB := sync.OnceFunc(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(closeDB)
	if _, err := db.Users.Seed(t.Context(), password); err != nil {
		t.Fatal(err)
	}
	for name, admin := range map[string]bool{"alice": true, "bob": false} {
		n := users.NewUser{Username: name, Password: password, IsAdmin: admin}
		if _, err := db.Users.CreateUser(t.Context(), domain.System, n); err != nil {
			t.Fatal(err)
		}
	}
	o := ui.Options{
		DB:       db,
		Auth:     auth.New(db, auth.Options{Enabled: s.auth, Secret: "a secret of this test", Now: c.now}),
		Version:  "1.2.3",
		BasePath: s.base,
		APIURL:   "http://127.0.0.1:9000" + s.base,
		Now:      c.now,
	}
	if s.edit != nil {
		s.edit(&o)
	}
	h, err := ui.New(o)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, true)))
	}))
	t.Cleanup(srv.Close)
	if s.proxy != "" {
		srv = startProxy(t, srv.URL, s.base, s.proxy)
	}
	return &site{t: t, db: db, url: srv.URL, base: s.base, clock: c, close: closeDB}
}

func (s *site) actor(username string) domain.Actor {
	s.t.Helper()
	u, err := s.db.Users.UserByName(s.t.Context(), domain.System, username)
	if err != nil {
		s.t.Fatal(err)
	}
	return u.Actor()
}

// project creates a project with some experiments, and iterations in each.
func (s *site) project(username, name, description string, experiments, iterations int) string {
	s.t.Helper()
	ctx, actor := s.t.Context(), s.actor(username)
	p, err := s.db.Projects.CreateProject(ctx, actor, domain.NewProject{Name: name, Description: description})
	if err != nil {
		s.t.Fatal(err)
	}
	for range experiments {
		e, err := s.db.Projects.CreateExperiment(ctx, actor, p.ID, projects.NewExperiment{Name: "sweep"})
		if err != nil {
			s.t.Fatal(err)
		}
		for i := range iterations {
			if _, err := s.db.Runs.CreateIteration(ctx, actor, e.ID, runs.NewIteration{Name: new(fmt.Sprint("run ", i+1))}); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	return p.ID
}

// answer is a response that was read to its end.
type answer struct {
	*http.Response
	body string
}

// edit changes a request before it is sent.
type edit func(*http.Request)

func header(name, value string) edit {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func with(c *http.Cookie) edit { return func(r *http.Request) { r.AddCookie(c) } }

func (s *site) do(method, path string, body io.Reader, edits ...edit) answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, s.url+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range edits {
		e(r)
	}
	res, err := http.DefaultTransport.RoundTrip(r) // follows no redirect
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{res, string(b)}
}

func (s *site) get(path string, edits ...edit) answer {
	s.t.Helper()
	return s.do("GET", path, nil, edits...)
}

func (s *site) post(path string, fields url.Values, edits ...edit) answer {
	s.t.Helper()
	edits = append([]edit{header("Content-Type", "application/x-www-form-urlencoded")}, edits...)
	return s.do("POST", path, strings.NewReader(fields.Encode()), edits...)
}

func credentials(username, password, next string) url.Values {
	return url.Values{"username": {username}, "password": {password}, "next": {next}}
}

// signIn returns the cookie of a user who has signed in.
func (s *site) signIn(username string) *http.Cookie {
	s.t.Helper()
	a := s.post(s.base+"/login", credentials(username, password, "/"))
	if a.StatusCode != http.StatusSeeOther || len(a.Cookies()) != 1 {
		s.t.Fatalf("signing in as %s: %s, %d cookies", username, a.Status, len(a.Cookies()))
	}
	return a.Cookies()[0]
}

func (a answer) wants(t *testing.T, status int, parts ...string) {
	t.Helper()
	if a.StatusCode != status {
		t.Errorf("%s %s: %s, want %d", a.Request.Method, a.Request.URL, a.Status, status)
	}
	for _, part := range parts {
		if !strings.Contains(a.body, part) {
			t.Errorf("%s %s: no %q in\n%s", a.Request.Method, a.Request.URL, part, a.body)
		}
	}
}

func (a answer) lacks(t *testing.T, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(a.body, part) {
			t.Errorf("%s %s: %q is in\n%s", a.Request.Method, a.Request.URL, part, a.body)
		}
	}
}

// deletes checks that the response is a redirect to a page that offers to restore the deleted
// records.
func (a answer) deletes(t *testing.T, to string, ids ...string) {
	t.Helper()
	join := "?"
	if strings.Contains(to, "?") {
		join = "&"
	}
	a.redirects(t, to+join+url.Values{"deleted": {strings.Join(ids, " ")}}.Encode())
}

func (a answer) redirects(t *testing.T, to string) {
	t.Helper()
	if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != to {
		t.Errorf("%s %s: %s to %q, want 303 to %q",
			a.Request.Method, a.Request.URL, a.Status, a.Header.Get("Location"), to)
	}
}
