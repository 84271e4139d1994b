package ui_test

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"tracker/store/domain"
	"tracker/ui"
)

func TestSignInAndOut(t *testing.T) {
	s := start(t, setup{auth: true})
	s.get("/").redirects(t, "/login?next=%2F")
	s.get("/?q=a+b&offset=50").redirects(t, "/login?next=%2F%3Fq%3Da%2Bb%26offset%3D50")

	form := s.get("/login?next=%2F%3Fq%3Diris")
	form.wants(t, 200, `name="username"`, `name="password"`, `name="next" value="/?q=iris"`)
	form.lacks(t, `data-testid="message"`, `data-testid="sign-out"`)

	a := s.post("/login", credentials("alice", password, "/?q=iris"))
	a.redirects(t, "/?q=iris")
	cookie := a.Cookies()[0]
	page := s.get("/", with(cookie))
	page.wants(t, 200, `data-testid="sign-out"`, "<bdi>alice</bdi>")
	page.lacks(t, cookie.Value, "Sign-in is off")
	s.get("/login?next=/?q=x", with(cookie)).redirects(t, "/?q=x")

	out := s.post("/logout", nil, with(cookie))
	out.redirects(t, "/login")
	if c := out.Cookies(); len(c) != 1 || c[0].Name != cookie.Name || c[0].Value != "" || c[0].MaxAge >= 0 ||
		c[0].Path != cookie.Path {
		t.Errorf("signing out sets %v", c)
	}
	s.post("/logout", nil).redirects(t, "/login")
}

func TestCookie(t *testing.T) {
	for _, tc := range []struct {
		name, base, proto string
		path              string
		secure            bool
	}{
		{name: "plain", path: "/"},
		{name: "base path", base: "/lab/one", path: "/lab/one"},
		{name: "behind TLS", proto: "https", path: "/", secure: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := start(t, setup{auth: true, base: tc.base})
			a := s.post(tc.base+"/login", credentials("bob", password, "/"), header("X-Forwarded-Proto", tc.proto))
			if len(a.Cookies()) != 1 {
				t.Fatalf("%s with %d cookies", a.Status, len(a.Cookies()))
			}
			c := a.Cookies()[0]
			if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != tc.path ||
				c.Secure != tc.secure || c.Domain != "" {
				t.Errorf("the cookie is %v", c)
			}
			if want := s.clock.now().Add(24 * time.Hour); !c.Expires.Equal(want) {
				t.Errorf("the cookie expires at %v, the token at %v", c.Expires, want)
			}
		})
	}
}

// Behind a trusted proxy, each client has its own address.
func TestWrongPasswordsBehindAProxy(t *testing.T) {
	s := start(t, setup{auth: true, edit: func(o *ui.Options) { o.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")} }})
	for range 10 {
		s.post("/login", credentials("alice", "my guess", "/"), header("X-Forwarded-For", "192.0.2.1")).wants(t, 401)
	}
	s.post("/login", credentials("alice", password, "/"), header("X-Forwarded-For", "192.0.2.1")).wants(t, 429)
	s.post("/login", credentials("alice", password, "/"), header("X-Forwarded-For", "192.0.2.2")).redirects(t, "/")
}

func TestWrongCredentials(t *testing.T) {
	s := start(t, setup{auth: true})
	for _, tc := range []struct{ name, username, password, kept string }{
		{"wrong password", "alice", "my secret guess", `value="alice"`},
		{"unknown user", "mallory", "my secret guess", `value="mallory"`},
		{"other case", "Alice", password, `value="Alice"`},
		{"nothing", "", "", `name="username" value=""`},
		{"markup", `"><script>alert(1)</script>`, "my secret guess", "&#34;&gt;&lt;script&gt;"},
		{"not UTF-8", "a\xffb", "my secret guess", "value=\"a\uFFFDb\""},
		{"injection", "' OR 1=1 --", "my secret guess", "value=\"&#39; OR 1=1 --\""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := s.post("/login", credentials(tc.username, tc.password, "/?q=iris"))
			a.wants(t, 401, "The user name or the password is wrong.", tc.kept, `name="next" value="/?q=iris"`,
				`role="alert"`, `aria-describedby="message"`)
			a.lacks(t, "my secret guess", password, "<script>alert")
			if len(a.Cookies()) != 0 {
				t.Errorf("a cookie is set: %v", a.Cookies())
			}
		})
	}
}

func TestThrottledSignIn(t *testing.T) {
	s := start(t, setup{auth: true})
	for range 10 {
		s.post("/login", credentials("alice", "wrong", "/")).wants(t, 401)
	}
	a := s.post("/login", credentials("alice", password, "/"))
	a.wants(t, 429, "Too many failed sign-ins", `value="alice"`)
	if got := a.Header.Get("Retry-After"); got != "60" {
		t.Errorf("Retry-After is %q", got)
	}
	s.post("/login", credentials("bob", password, "/")).redirects(t, "/")
	s.clock.move(time.Minute)
	s.post("/login", credentials("alice", password, "/")).redirects(t, "/")
}

func TestNextIsLocal(t *testing.T) {
	var sites []*site
	for _, base := range []string{"", "/lab/one"} {
		sites = append(sites, start(t, setup{auth: true, base: base}))
	}
	for _, tc := range []struct{ next, want string }{
		{"", "/"},
		{"/", "/"},
		{"/?q=iris&offset=50", "/?q=iris&offset=50"},
		{"/experiment/0192d3f4?x=http://a/b", "/experiment/0192d3f4?x=http://a/b"},
		{"/a%20b", "/a%20b"},
		{"/é", "/%C3%A9"},
		{`/"><script>alert(1)</script>`, "/%22%3E%3Cscript%3Ealert%281%29%3C/script%3E"},
		{"//evil.example", "/"},
		{"///evil.example", "/"},
		{"/%2fevil.example", "/"},
		{"/%2f%2fevil.example", "/"},
		{`/\evil.example`, "/"},
		{`\\evil.example`, "/"},
		{"/%5cevil.example", "/"},
		{"/a//b", "/"},
		{"/.//evil.example", "/"},
		{"/../other-service", "/"},
		{"/%2e%2e/other-service", "/"},
		{"http://evil.example/", "/"},
		{"https:evil.example", "/"},
		{"javascript:alert(1)", "/"},
		{"data:text/html,x", "/"},
		{"evil.example", "/"},
		{" //evil.example", "/"},
		{"/\t/evil.example", "/"},
		{"/\r\nSet-Cookie: a=b", "/"},
		{"/%0d%0aSet-Cookie: a=b", "/"},
		{"/a\x00b", "/"},
		{"/a?b=\x7f", "/"},
		{"/%zz", "/"},
		{"/" + strings.Repeat("a", 3000), "/"},
	} {
		for _, s := range sites {
			a := s.post(s.base+"/login", credentials("alice", password, tc.next))
			a.redirects(t, s.base+tc.want)
			form := s.get(s.base + "/login?next=" + url.QueryEscape(tc.next))
			form.wants(t, 200)
			form.lacks(t, "<script>alert", "evil.example\"")
		}
	}
}

func TestEndedSignIn(t *testing.T) {
	s := start(t, setup{auth: true})
	alice, bob := s.signIn("alice"), s.signIn("bob")
	const ended = "Your session has expired. Sign in again."

	if err := s.db.Users.DeleteUser(t.Context(), domain.System, s.actor("bob").UserID); err != nil {
		t.Fatal(err)
	}
	s.get("/", with(bob)).redirects(t, "/login?next=%2F")
	s.get("/login", with(bob)).wants(t, 200, ended)

	s.clock.move(24*time.Hour - time.Second)
	s.get("/", with(alice)).wants(t, 200)
	s.clock.move(time.Second)
	s.get("/", with(alice)).redirects(t, "/login?next=%2F")
	s.get("/login", with(alice)).wants(t, 200, ended)

	for _, value := range []string{"x", "a.b.c", alice.Value[:len(alice.Value)-3],
		"eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0."} {
		forged := &http.Cookie{Name: alice.Name, Value: value}
		s.get("/", with(forged)).redirects(t, "/login?next=%2F")
	}
	// Pages accept only the cookie, not a bearer token of the API.
	s.get("/", header("Authorization", "Bearer "+s.signIn("alice").Value)).redirects(t, "/login?next=%2F")
}

func TestSignInOff(t *testing.T) {
	s := start(t, setup{})
	page := s.get("/")
	page.wants(t, 200, "Sign-in is off: anyone who can reach this address is an admin.")
	page.lacks(t, "Sign out", `data-testid="user"`)
	s.get("/login").redirects(t, "/")
	s.get("/login?next=/elsewhere").redirects(t, "/")
	a := s.post("/login", credentials("alice", password, "/"))
	a.redirects(t, "/")
	if len(a.Cookies()) != 0 {
		t.Errorf("a cookie is set: %v", a.Cookies())
	}
	s.post("/logout", nil).redirects(t, "/login")
}

func TestFormBodies(t *testing.T) {
	s := start(t, setup{auth: true})
	const form = "application/x-www-form-urlencoded"
	large := "username=" + strings.Repeat("a", 8<<20)
	for _, tc := range []struct {
		name, path, contentType string
		body                    string
		chunked                 bool
		status                  int
	}{
		{"largest", "/login", form, "username=" + strings.Repeat("a", 8<<20-9), false, 401},
		{"too large", "/login", form, large, false, 413},
		{"too large, length untold", "/login", form, large, true, 413},
		{"too large to sign out", "/logout", form, large, false, 413},
		{"broken escape", "/login", form, "username=%zz", false, 400},
		{"JSON", "/login", "application/json", `{"username":"alice"}`, false, 415},
		{"multipart", "/login", "multipart/form-data; boundary=x", "--x--", false, 415},
		{"no type", "/login", "", "username=alice", false, 415},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := s.do("POST", tc.path, strings.NewReader(tc.body), header("Content-Type", tc.contentType),
				func(r *http.Request) {
					if tc.chunked {
						r.ContentLength = -1
					}
				})
			a.wants(t, tc.status, "<h1>")
			if len(a.Cookies()) != 0 {
				t.Errorf("a cookie is set: %v", a.Cookies())
			}
		})
	}
}
