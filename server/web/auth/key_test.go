package auth_test

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/users"
)

// who returns the username that a request authenticates as, or the error code.
func (f fixture) who(set func(*http.Request)) string {
	r := httptest.NewRequest("GET", "/", nil)
	set(r)
	u, err := f.Account(r)
	if err != nil {
		return string(web.AsError(err).Code)
	}
	return u.Username
}

// A token is never mistaken for an API key, even if the part after its last dash has the length of
// a key.
func TestTokenIsNoAPIKey(t *testing.T) {
	letters := strings.Repeat("a", 40)
	for text, want := range map[string]bool{
		letters: true, "local-" + letters: true, "local-a-" + letters: true,
		"eyJhbGci.eyJzdWIi.c2ln-" + letters: false, letters[1:]: false, letters + "a": false, letters[1:] + "é": false,
	} {
		if got := users.IsAPIKey(text); got != want {
			t.Errorf("IsAPIKey(%q) is %v", text, got)
		}
	}
}

func TestAPIKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t, true)
	made, err := f.db.Users.CreateAPIKey(t.Context(), domain.System, f.ada.ID, users.NewAPIKey{Name: "cluster"})
	key := made.Key
	if err != nil || len(key) != 40 || !users.IsAPIKey(key) {
		t.Fatalf("the key is %q, %v", key, err)
	}
	bearer := func(key string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+key) }
	}
	basic := func(name, key string) func(*http.Request) {
		return func(r *http.Request) { r.SetBasicAuth(name, key) }
	}
	wrong := strings.Repeat("x", 40)
	expect := func(who string) {
		t.Helper()
		for _, set := range []func(*http.Request){bearer(key), basic("api", key), basic("anybody", key), bearer("local-" + key)} {
			if got := f.who(set); got != who && (who == "ada" || got != "TOKEN_INVALID" && got != "INVALID_CREDENTIALS") {
				t.Errorf("the key is of %s, want %s", got, who)
			}
		}
	}
	expect("ada")
	if got := f.who(bearer(wrong)) + f.who(basic("api", wrong)); got != "TOKEN_INVALIDTOKEN_INVALID" {
		t.Errorf("a wrong key is %s", got)
	}
	f.clock.advance(1000 * 24 * time.Hour)
	expect("ada")

	var keys []users.APIKey
	list := func() {
		err := f.db.View(t.Context(), domain.System, func(v *store.View) (err error) {
			keys, err = v.Users.APIKeys(f.ada.ID)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if list(); len(keys) != 1 || keys[0].Name != "cluster" {
		t.Fatalf("the keys are %v", keys)
	}
	if err := f.db.Users.DeleteAPIKey(t.Context(), domain.Actor{UserID: f.ada.ID}, f.ada.ID, keys[0].ID); err != nil {
		t.Fatal(err)
	}
	expect("nobody")
}

// The REST API accepts an API key with the schemes Bearer and Basic. It accepts a password with
// neither.
func TestAPIKeyOfREST(t *testing.T) {
	t.Parallel()
	f := newFixture(t, true)
	made, err := f.db.Users.CreateAPIKey(t.Context(), domain.System, f.ada.ID, users.NewAPIKey{Name: "cluster"})
	key := made.Key
	if err != nil {
		t.Fatal(err)
	}
	for authorization, want := range map[string]string{
		"Bearer " + key:                                     "ada",
		"Basic " + base64Of("api:"+key):                     "ada",
		"Basic " + base64Of("anybody:"+key):                 "ada",
		"Basic " + base64Of("api:"+strings.Repeat("x", 40)): "TOKEN_INVALID",
		"Basic " + base64Of("ada:a password"):               "TOKEN_MISSING",
	} {
		u, err := f.asked(t, authorization)
		got := u.Username
		if err != nil {
			got = string(web.AsError(err).Code)
		}
		if got != want {
			t.Errorf("%s is of %s, want %s", authorization, got, want)
		}
	}
}

func base64Of(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// A password may look like an API key.
func TestPasswordOfForty(t *testing.T) {
	t.Parallel()
	f := newFixture(t, true)
	long := strings.Repeat("p", 40)
	if err := f.db.Users.UpdateUser(t.Context(), domain.System, f.ada.ID, users.UserPatch{Password: &long}); err != nil {
		t.Fatal(err)
	}
	if got := f.who(func(r *http.Request) { r.SetBasicAuth("ada", long) }); got != "ada" {
		t.Errorf("the password is of %s", got)
	}
}

// A link is valid for its subject and its lifetime. A link is not accepted as a token, nor a
// token as a link.
func TestLink(t *testing.T) {
	t.Parallel()
	f := newFixture(t, true)
	link, err := f.Link(f.ada, "p/r/file", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(link, subject string) string {
		u, err := f.Linked(t.Context(), link, subject)
		if err != nil {
			return string(web.AsError(err).Code)
		}
		return u.Username
	}
	grant, err := f.Grant(f.ada, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ link, subject, want string }{
		{link, "p/r/file", "ada"},
		{link, "p/r/other", "TOKEN_INVALID"},
		{link[:len(link)-4] + "AAAA", "p/r/file", "TOKEN_INVALID"},
		{grant.AccessToken, "p/r/file", "TOKEN_INVALID"},
	} {
		if got := ask(c.link, c.subject); got != c.want {
			t.Errorf("%s is answered %s, want %s", c.subject, got, c.want)
		}
	}
	if got := f.who(func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+link) }); got != "TOKEN_INVALID" {
		t.Errorf("a link as a token is %s", got)
	}
	f.clock.advance(2 * time.Hour)
	if got := ask(link, "p/r/file"); got != "TOKEN_EXPIRED" {
		t.Errorf("later the link is %s", got)
	}
}
