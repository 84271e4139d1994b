package server_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

const (
	friend   = "https://lab.example.org"
	stranger = "https://evil.example.org"
)

// fromPage returns the two headers with which a browser can state the origin of a page.
func fromPage(origin string) []opt {
	return []opt{header("Origin", origin), header("Sec-Fetch-Site", "cross-site")}
}

func TestCrossOriginWriteIsRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	for name, s := range map[string]setup{
		"with authentication":    {origins: []string{friend}},
		"without authentication": {origins: []string{friend}, open: true},
		"no origin is allowed":   {},
	} {
		t.Run(name, func(t *testing.T) {
			a := startWith(t, s)
			w := a.world()
			for _, s := range samples {
				t.Run(s.name(), func(t *testing.T) {
					a := a.on(t)
					read := s.method == http.MethodGet || s.method == http.MethodOptions
					a.unchanged(func() {
						for _, opts := range [][]opt{fromPage(stranger), {header("Origin", stranger)}, {header("Sec-Fetch-Site", "cross-site")},
							{header("Sec-Fetch-Site", "same-site")}, {header("Origin", "null")}} {
							if got := s.send(a, w, opts...); read {
								got.wants(s.status)
							} else {
								got.fails(403, "CROSS_ORIGIN", "")
							}
						}
					})
				})
			}
			for _, s := range samples { // after the refusals, so that a.unchanged seldom reads the whole database
				t.Run(s.name()+" from a friend", func(t *testing.T) {
					a := a.on(t)
					read := s.method == http.MethodGet || s.method == http.MethodOptions
					if len(a.setup.origins) > 0 {
						s.send(a, a.worldFor(s, w), fromPage(friend)...).wants(s.status)
					} else if !read {
						s.send(a, w, fromPage(friend)...).fails(403, "CROSS_ORIGIN", "")
					}
				})
			}
		})
	}
}

func TestSameOriginWriteIsTaken(t *testing.T) {
	a := start(t)
	for _, opts := range [][]opt{nil, {header("Sec-Fetch-Site", "same-origin")}, {header("Sec-Fetch-Site", "none")},
		{header("Origin", a.server.URL)}} {
		a.do("POST", "/project", `{"name":"iris"}`, opts...).wants(201)
	}
}

func TestCORSPreflight(t *testing.T) {
	a := startWith(t, setup{origins: []string{friend, "http://localhost:3000"}, base: "/x"})
	for _, origin := range []string{friend, "http://localhost:3000"} {
		for _, path := range []string{"/project", "/metric/iteration/" + nobody + "/batch", "/tag/project/x/y"} {
			got := a.do("OPTIONS", path, "", anonymous, header("Origin", origin),
				header("Access-Control-Request-Method", "DELETE"),
				header("Access-Control-Request-Headers", "authorization,content-type,idempotency-key")).wants(204)
			for name, want := range map[string]string{
				"Access-Control-Allow-Origin":  origin,
				"Access-Control-Allow-Methods": "GET, HEAD, POST, PATCH, DELETE",
				"Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key, X-Request-Id, Content-Digest, " +
					"If-None-Match, If-Range, Range, Tus-Resumable, Upload-Checksum, Upload-Length, Upload-Metadata, Upload-Offset",
				"Vary": "Origin",
			} {
				if got.header.Get(name) != want {
					t.Errorf("%s is %q, want %q", name, got.header.Get(name), want)
				}
			}
			if _, ok := got.header["Access-Control-Allow-Credentials"]; ok {
				t.Error("credentials of the browser are allowed; there are none to send")
			}
		}
	}
	for _, origin := range []string{stranger, "", "null", friend + ".evil.org", "http://lab.example.org", friend + ":8443", "*"} {
		got := a.do("OPTIONS", "/project", "", anonymous, header("Origin", origin), header("Access-Control-Request-Method", "POST"))
		got.fails(405, "METHOD_NOT_ALLOWED", "")
		if allowed := got.header.Get("Access-Control-Allow-Origin"); allowed != "" {
			t.Errorf("%q may call: %q", origin, allowed)
		}
	}
	// Any other OPTIONS request is rejected as a wrong method.
	a.do("OPTIONS", "/project", "", header("Origin", friend)).fails(405, "METHOD_NOT_ALLOWED", "")
}

// A page from an allowed origin can read every response, including errors.
func TestCORSAnswersCanBeRead(t *testing.T) {
	a := startWith(t, setup{origins: []string{friend}})
	for _, got := range []answer{
		a.get("/project", fromPage(friend)...).wants(200),
		a.do("POST", "/project", `{"name":"iris"}`, fromPage(friend)...).wants(201),
		a.get("/project/"+nobody, fromPage(friend)...).wants(404),
		a.get("/project", append(fromPage(friend), anonymous)...).wants(401),
		a.get("/nothing", fromPage(friend)...).wants(404),
	} {
		if got.header.Get("Access-Control-Allow-Origin") != friend || !slices.Contains(got.header.Values("Vary"), "Origin") ||
			!strings.HasPrefix(got.header.Get("Access-Control-Expose-Headers"), "Location, Retry-After, X-Request-Id, Accept-Ranges, ") {
			t.Errorf("%s: %v", got.what, got.header)
		}
	}
	for _, origin := range []string{stranger, ""} {
		got := a.get("/project", header("Origin", origin)).wants(200)
		if got.header.Get("Access-Control-Allow-Origin") != "" || !slices.Contains(got.header.Values("Vary"), "Origin") {
			t.Errorf("%q: %v", origin, got.header)
		}
	}
	// If no origins are allowed, no response depends on the origin.
	if got := start(t).get("/project", header("Origin", friend)); slices.Contains(got.header.Values("Vary"), "Origin") || got.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%v", got.header)
	}
}
