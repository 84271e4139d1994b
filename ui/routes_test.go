package ui_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"tracker/ui"
)

// document stands in for the description of the API.
var document = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	io.WriteString(w, "described at "+r.URL.Path)
})

func TestMethods(t *testing.T) {
	s := start(t, setup{auth: true, edit: func(o *ui.Options) { o.Document = document }})
	for path, allow := range map[string]string{
		"/":                   "GET, HEAD, POST",
		"/login":              "GET, HEAD, POST",
		"/logout":             "POST",
		"/project/x":          "GET, HEAD, POST",
		"/project/x/models":   "GET, HEAD, POST",
		"/model/x":            "GET, HEAD, POST",
		"/modelversion/x":     "POST",
		"/artifact/x":         "GET, HEAD",
		"/artifact/x/data":    "GET, HEAD",
		"/experiment/x":       "GET, HEAD",
		"/iteration/x":        "GET, HEAD, POST",
		"/compare":            "GET, HEAD",
		"/change":             "GET, HEAD, POST",
		"/delete":             "GET, HEAD, POST",
		"/data/curves":        "GET, HEAD, POST",
		"/health":             "GET, HEAD",
		"/openapi.yaml":       "GET, HEAD",
		"/openapi.json":       "GET, HEAD",
		ui.Static("page.css"): "GET, HEAD",
		"/client/python/":     "GET, HEAD",
	} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE"} {
			a := s.do(method, path, nil)
			refused := a.StatusCode == http.StatusMethodNotAllowed
			if allowed := strings.Contains(allow+",", method+","); refused == allowed {
				t.Errorf("%s %s: %s", method, path, a.Status)
			}
			if got := a.Header.Get("Allow"); refused && got != allow {
				t.Errorf("%s %s: Allow is %q, want %q", method, path, got, allow)
			}
			if method == "HEAD" && a.body != "" {
				t.Errorf("HEAD %s has a body", path)
			}
		}
	}
}

func TestUnknownPaths(t *testing.T) {
	s := start(t, setup{auth: true})
	cookie := with(s.signIn("alice"))
	for _, path := range []string{"/nowhere", "//login", "///", "/login/x", "/login%2F", "/static", "/static/",
		"/static/none.css", "/static/../routes.go", "/static/%2e%2e/routes.go", "/static/..%2froutes.go",
		"/openapi.yaml", "/openapi.json", "/%00", "/.git/config", "/login;x"} {
		a := s.get(path)
		a.wants(t, 404, "<h1>Not found</h1>", "There is no page at this address.")
		a.lacks(t, "Sign out")
		s.get(path, cookie).wants(t, 404, "Sign out")
	}
}

func TestBasePath(t *testing.T) {
	// Some proxies remove their prefix from the path, others do not.
	addresses := regexp.MustCompile(`(?:href|src|action)="([^"]*)"`)
	for _, auth := range []bool{false, true} {
		for _, base := range []string{"", "/lab/one"} {
			t.Run(fmt.Sprintf("%t%s", auth, base), func(t *testing.T) {
				s := start(t, setup{auth: auth, base: base, edit: func(o *ui.Options) { o.Document = document }})
				for i := range 3 {
					s.project("alice", fmt.Sprint("sweep ", i), "", 1, 1)
				}
				var edits []edit
				if auth {
					edits = append(edits, with(s.signIn("alice")))
				}
				for _, page := range []struct {
					path   string
					status int
				}{
					{"/", 200}, {"/?limit=1&offset=1", 200}, {"/?q=nothing", 200}, {"/nowhere", 404}, {"/logout", 405},
				} {
					path, query, _ := strings.Cut(page.path, "?")
					variants := []string{path, path + "/", base + path, base + path + "/"}
					if path == "/" {
						variants = []string{"/", base + "/"}
						if base != "" {
							variants = append(variants, base)
						}
					}
					first := ""
					for _, v := range variants {
						a := s.get(v+"?"+query, edits...)
						a.wants(t, page.status)
						if first == "" {
							first = a.body
						}
						if a.body != first {
							t.Errorf("%s differs from %s", v, variants[0])
						}
						for _, m := range addresses.FindAllStringSubmatch(a.body, -1) {
							if m[1] != "#main" && !strings.HasPrefix(m[1], base+"/") {
								t.Errorf("%s links to %s", v, m[1])
							}
						}
					}
				}
				for _, path := range []string{"/health", "/login", "/openapi.yaml", ui.Static("theme.js")} {
					want := s.get(path)
					for _, v := range []string{path + "/", base + path, base + path + "/"} {
						a := s.get(v)
						if a.StatusCode != want.StatusCode || a.body != want.body ||
							a.Header.Get("Location") != want.Header.Get("Location") {
							t.Errorf("%s answers %s, %s %s", v, a.Status, path, want.Status)
						}
					}
				}
				if !auth {
					return
				}
				for _, v := range []string{"/", base + "/"} {
					s.get(v).redirects(t, base+"/login?next=%2F")
				}
				s.post("/login/", credentials("bob", password, "/?q=x")).redirects(t, base+"/?q=x")
				s.post(base+"/logout/", nil).redirects(t, base+"/login")
			})
		}
	}
}

func TestOpenRoutes(t *testing.T) {
	s := start(t, setup{auth: true, edit: func(o *ui.Options) { o.Document = document }})
	s.get("/health").wants(t, 200, "ok")
	s.get("/openapi.yaml").wants(t, 200, "described at /openapi.yaml")
	s.get("/openapi.json").wants(t, 200, "described at /openapi.json")
}

func TestCrossOrigin(t *testing.T) {
	const evil, friend = "https://evil.example", "https://friend.example"
	s := start(t, setup{auth: true, edit: func(o *ui.Options) { o.TrustedOrigins = []string{friend} }})
	for _, tc := range []struct {
		name  string
		edits []edit
		deny  bool
	}{
		{"no browser", nil, false},
		{"same origin", []edit{header("Sec-Fetch-Site", "same-origin")}, false},
		{"typed in", []edit{header("Sec-Fetch-Site", "none")}, false},
		{"old browser, same host", []edit{func(r *http.Request) { r.Header.Set("Origin", "http://"+r.URL.Host) }}, false},
		{"trusted", []edit{header("Sec-Fetch-Site", "cross-site"), header("Origin", friend)}, false},
		{"cross site", []edit{header("Sec-Fetch-Site", "cross-site"), header("Origin", evil)}, true},
		{"other port", []edit{header("Sec-Fetch-Site", "same-site")}, true},
		{"old browser, other host", []edit{header("Origin", evil)}, true},
		{"no origin", []edit{header("Origin", "null")}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for path, fields := range map[string]string{"/login": "/", "/logout": ""} {
				a := s.post(path, credentials("alice", password, fields), tc.edits...)
				if !tc.deny {
					a.wants(t, 303)
					continue
				}
				a.wants(t, 403, "<h1>Not allowed</h1>", "The request came from a page of another site.")
				if len(a.Cookies()) != 0 {
					t.Errorf("a cookie is set: %v", a.Cookies())
				}
			}
			s.get("/health", tc.edits...).wants(t, 200)
		})
	}
}

func TestBadOrigin(t *testing.T) {
	if _, err := ui.New(ui.Options{TrustedOrigins: []string{"friend.example/path"}}); err == nil {
		t.Error("an origin that is none is taken")
	}
}

func TestSecurityHeaders(t *testing.T) {
	const policy = "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; frame-src 'self'; " +
		"font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'"
	s := start(t, setup{auth: true, edit: func(o *ui.Options) {
		o.Document = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("broken") })
	}})
	cookie := with(s.signIn("alice"))
	for _, a := range []answer{
		s.get("/"), s.get("/", cookie), s.get("/login"), s.get("/health"), s.get("/nowhere"), s.get("/openapi.json"),
		s.get(ui.Static("theme.js")), s.get("/static/none"), s.post("/logout", nil), s.do("DELETE", "/", nil),
		s.post("/login", nil, header("Sec-Fetch-Site", "cross-site")), s.post("/login", credentials("x", "y", "")),
	} {
		for name, want := range map[string]string{
			"Content-Security-Policy": policy,
			"X-Content-Type-Options":  "nosniff",
			"Referrer-Policy":         "same-origin",
		} {
			if got := a.Header.Get(name); got != want {
				t.Errorf("%s %s: %s is %q", a.Request.Method, a.Request.URL, name, got)
			}
		}
		caching := a.Header.Get("Cache-Control")
		if static := strings.HasSuffix(a.Request.URL.Path, ".js"); !static && caching != "no-store" {
			t.Errorf("%s %s: Cache-Control is %q", a.Request.Method, a.Request.URL, caching)
		}
		if a.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s %s has no request id", a.Request.Method, a.Request.URL)
		}
		// Elements that the policy forbids must not be in the page.
		a.lacks(t, "<style", " style=", " onclick=", " onload=", "<base", "<script>")
	}
}

// With Notebooks, a page of another port of this machine may show the dashboard.
func TestFramesOfNotebooks(t *testing.T) {
	s := start(t, setup{edit: func(o *ui.Options) { o.Notebooks = true }})
	got := s.get("/").Header.Get("Content-Security-Policy")
	if !strings.HasSuffix(got, "; frame-ancestors 'self' http://localhost:* http://127.0.0.1:*") {
		t.Errorf("the policy is %q", got)
	}
}

func TestFailures(t *testing.T) {
	var log lockedBuffer
	s := start(t, setup{edit: func(o *ui.Options) {
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		o.Document = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a secret cause") })
	}})
	a := s.get("/openapi.yaml", header("X-Request-Id", "id-of-mine"))
	a.wants(t, 500, "<h1>Something went wrong</h1>", `data-testid="request-id">id-of-mine<`)
	a.lacks(t, "a secret cause", "goroutine")
	if line := log.String(); !strings.Contains(line, "a secret cause") || !strings.Contains(line, "id-of-mine") {
		t.Errorf("the log says %s", line)
	}

	s.close()
	for _, path := range []string{"/health", "/"} {
		a := s.get(path)
		a.wants(t, 503, "<h1>Not available</h1>", "The server is shutting down", `data-testid="request-id"`)
	}
	s.get(ui.Static("page.css")).wants(t, 200)
}

func TestFailuresOfSigningIn(t *testing.T) {
	s := start(t, setup{auth: true})
	cookie := with(s.signIn("alice"))
	s.close()
	for _, a := range []answer{
		s.get("/", cookie), s.get("/login", cookie), s.post("/login", credentials("alice", password, "/")),
	} {
		a.wants(t, 503, "The server is shutting down")
		a.lacks(t, password)
	}
	// Without a token, no account is looked up.
	s.get("/login").wants(t, 200)
	s.post("/logout", nil, cookie).redirects(t, "/login")
}

func TestLog(t *testing.T) {
	var log lockedBuffer
	var mu sync.Mutex
	var seen []string
	s := start(t, setup{auth: true, edit: func(o *ui.Options) {
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		o.Observe = func(method, route string, status int, _ time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprint(method, " ", route, " ", status))
		}
	}})
	cookie := s.signIn("alice")
	s.get("/?q=private", with(cookie))
	s.get("/login", with(cookie))
	s.get("/nowhere", with(cookie))
	s.get(ui.Static("favicon.svg"))
	s.post("/login", credentials("alice", "wrong guess", "/"))
	s.post("/logout", nil, header("Sec-Fetch-Site", "cross-site"))
	s.do("PUT", "/login", nil)
	s.post("/logout", nil, with(cookie))

	want := []struct{ seen, user string }{
		{"POST /login 303", "alice"},
		{"GET / 200", "alice"},
		{"GET /login 303", "alice"},
		{"GET  404", "alice"},
		{"GET /static/{file} 200", `""`},
		{"POST /login 401", `""`},
		{"POST /logout 403", `""`},
		{"PUT /login 405", `""`},
		{"POST /logout 303", "alice"},
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != len(want) || len(lines) != len(want) {
		t.Fatalf("%d requests observed, %d logged, want %d", len(seen), len(lines), len(want))
	}
	for i, w := range want {
		if seen[i] != w.seen {
			t.Errorf("request %d was observed as %q, want %q", i, seen[i], w.seen)
		}
		if !strings.Contains(lines[i], " user="+w.user+" ") {
			t.Errorf("%s is logged without the user %s: %s", w.seen, w.user, lines[i])
		}
	}
	for _, secret := range []string{password, "wrong guess", cookie.Value, "private"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
}

// lockedBuffer is a log that several requests write to.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
