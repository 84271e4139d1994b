package auth_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"tracker/server/web"
	"tracker/server/web/auth"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/users"
)

const (
	secret   = "the secret of these tests, long enough"
	password = "correct horse battery"
)

// clock is a clock that stands still until a test moves it.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock {
	return &clock{now: time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// fixture is an Auth whose database has two accounts: the default admin and ada.
type fixture struct {
	*auth.Auth
	db    *store.DB
	clock *clock
	ada   domain.User
}

func newFixture(t *testing.T, enabled bool) fixture {
	t.Helper()
	f := fixture{clock: newClock()}
	var err error
	f.db, err = store.Open(t.Context(), store.Options{
		Path: filepath.Join(t.TempDir(), "tracker.db"), Now: f.clock.Now, BcryptCost: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.db.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := f.db.Users.Seed(t.Context(), password); err != nil {
		t.Fatal(err)
	}
	f.ada = f.user(t, "ada")
	f.Auth = auth.New(f.db, auth.Options{Enabled: enabled, Secret: secret, Now: f.clock.Now})
	return f
}

// user creates an account with the password that all tests use.
func (f fixture) user(t *testing.T, name string) domain.User {
	t.Helper()
	created, err := f.db.Users.CreateUser(t.Context(), domain.System, users.NewUser{Username: name, Password: password})
	if err != nil {
		t.Fatal(err)
	}
	u, err := f.db.Users.User(t.Context(), domain.System, created.ID)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// token signs ada in and returns the token.
func (f fixture) token(t *testing.T) string {
	t.Helper()
	g, err := f.SignIn(t.Context(), "ada", password, "192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	return g.AccessToken
}

// asked returns the account for a request with this Authorization header.
func (f fixture) asked(t *testing.T, authorization string) (domain.User, error) {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/auth/me", nil)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	return f.User(r)
}

// wantCode checks that err has the code; "" means no error.
func wantCode(t *testing.T, err error, code domain.Code) {
	t.Helper()
	var got domain.Code
	if e := web.AsError(err); e != nil {
		got = e.Code
	}
	if got != code {
		t.Errorf("got %q (%v), want %q", got, err, code)
	}
}
