package auth_test

import (
	"crypto/tls"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"tracker/server/web"
	"tracker/server/web/auth"
	"tracker/store/domain"
)

func TestCookieAttributes(t *testing.T) {
	f := newFixture(t, true)
	g, err := f.Grant(f.ada, auth.Lifetime)
	if err != nil {
		t.Fatal(err)
	}
	plain := httptest.NewRequest(http.MethodPost, "http://box/login", nil)
	encrypted := httptest.NewRequest(http.MethodPost, "https://box/login", nil)
	encrypted.TLS = &tls.ConnectionState{}
	proxied := httptest.NewRequest(http.MethodPost, "http://box/login", nil)
	proxied.Header.Set("X-Forwarded-Proto", "https")
	tests := []struct {
		name, base, path string
		r                *http.Request
		secure           bool
	}{
		{"plain", "", "/", plain, false},
		{"base path", "/lab/tracker", "/lab/tracker", plain, false},
		{"TLS", "", "/", encrypted, true},
		{"behind a proxy with TLS", "", "/", proxied, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set := onlyCookie(t, func(w http.ResponseWriter) { auth.SetCookie(w, tt.r, tt.base, g) })
			if !set.HttpOnly || set.SameSite != http.SameSiteStrictMode || set.Secure != tt.secure ||
				set.Path != tt.path || set.Domain != "" || set.Value != g.AccessToken || set.MaxAge != 0 {
				t.Errorf("the cookie is %s", set.Raw)
			}
			if want := f.clock.Now().Add(24 * time.Hour); !set.Expires.Equal(want) {
				t.Errorf("it expires %v, want %v, with the token", set.Expires, want)
			}
			clear := onlyCookie(t, func(w http.ResponseWriter) { auth.ClearCookie(w, tt.r, tt.base) })
			if clear.Name != set.Name || clear.Path != set.Path || clear.Value != "" || clear.MaxAge >= 0 ||
				!clear.HttpOnly || clear.SameSite != http.SameSiteStrictMode || clear.Secure != tt.secure {
				t.Errorf("the cookie that clears it is %s", clear.Raw)
			}
		})
	}
}

func onlyCookie(t *testing.T, write func(http.ResponseWriter)) *http.Cookie {
	t.Helper()
	w := httptest.NewRecorder()
	write(w)
	cookies := w.Result().Cookies()
	if len(cookies) != 1 {
		t.Fatalf("it sets %v, want one cookie", cookies)
	}
	return cookies[0]
}

// A browser sends the cookie for the base path, with or without a trailing slash, and for every
// path below it, but for no other path.
func TestCookieReachesTheWholeDashboard(t *testing.T) {
	f := newFixture(t, true)
	g, err := f.Grant(f.ada, auth.Lifetime)
	if err != nil {
		t.Fatal(err)
	}
	// The jar uses the system clock, so the cookie must not expire by that clock.
	g.ExpiresAt = time.Now().Add(time.Hour).Unix()
	for _, tt := range []struct {
		base string
		sent map[string]bool
	}{
		{"", map[string]bool{"/": true, "/project/1": true}},
		{"/lab", map[string]bool{"/lab": true, "/lab/": true, "/lab/project/1": true, "/": false, "/laboratory": false}},
	} {
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		login := &url.URL{Scheme: "http", Host: "box", Path: tt.base + "/login"}
		set := onlyCookie(t, func(w http.ResponseWriter) {
			auth.SetCookie(w, httptest.NewRequest(http.MethodPost, login.String(), nil), tt.base, g)
		})
		jar.SetCookies(login, []*http.Cookie{set})
		for path, want := range tt.sent {
			got := jar.Cookies(&url.URL{Scheme: "http", Host: "box", Path: path})
			if (len(got) == 1) != want {
				t.Errorf("base path %q: %s is sent %v", tt.base, path, got)
			}
		}
		jar.SetCookies(login, []*http.Cookie{onlyCookie(t, func(w http.ResponseWriter) {
			auth.ClearCookie(w, httptest.NewRequest(http.MethodPost, login.String(), nil), tt.base)
		})})
		if left := jar.Cookies(login); len(left) != 0 {
			t.Errorf("base path %q: %v is left after signing out", tt.base, left)
		}
	}
}

func TestCookieUser(t *testing.T) {
	f := newFixture(t, true)
	token := f.token(t)
	cookieName := onlyCookie(t, func(w http.ResponseWriter) {
		auth.ClearCookie(w, httptest.NewRequest(http.MethodGet, "/", nil), "")
	}).Name
	ask := func(value string) (domain.User, error) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		if value != "" {
			r.AddCookie(&http.Cookie{Name: cookieName, Value: value})
		}
		return f.CookieUser(r)
	}
	if u, err := ask(token); err != nil || u != f.ada {
		t.Errorf("got %+v, %v", u, err)
	}
	_, err := ask("")
	wantCode(t, err, web.CodeTokenMissing)
	_, err = ask(token[:len(token)-1])
	wantCode(t, err, web.CodeTokenInvalid)

	// The API does not accept the dashboard's cookie, because browsers send cookies automatically.
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.AddCookie(&http.Cookie{Name: cookieName, Value: token})
	_, err = f.User(r)
	wantCode(t, err, web.CodeTokenMissing)
	r = httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	_, err = f.CookieUser(r)
	wantCode(t, err, web.CodeTokenMissing)

	f.clock.advance(auth.Lifetime)
	_, err = ask(token)
	wantCode(t, err, web.CodeTokenExpired)
}
