package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"tracker/server/web"
)

// seen sends a request for target through Paths and returns the URL that the next handler receives.
func seen(t *testing.T, base, target string) url.URL {
	t.Helper()
	var got *url.URL
	h := web.Paths(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.URL }), base)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://box"+target, nil)
	before := *r.URL
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if got == nil {
		t.Fatalf("%s was answered with %d and never reached the handler", target, w.Code)
	}
	if *r.URL != before {
		t.Errorf("%s: the request of the caller was changed to %v", target, r.URL)
	}
	return *got
}

func TestPaths(t *testing.T) {
	tests := []struct {
		base, target string
		want         string // the escaped path that is matched with the routes
	}{
		{"", "/", "/"},
		{"", "/project", "/project"},
		{"", "/project/", "/project"},
		{"", "/project/1/", "/project/1"},
		{"", "/project/?limit=1", "/project"},
		// A second slash or an encoded slash makes a different path.
		{"", "//", "/"},
		{"", "/project//", "/project/"},
		{"", "//project", "//project"},
		{"", "/project//1", "/project//1"},
		{"", "/project%2F", "/project%2F"},
		{"", "/project%2f1", "/project%2f1"},
		{"", "/project%2F/", "/project%2F"},
		{"", "/tag/project/1/a%2Fb", "/tag/project/1/a%2Fb"},
		{"", "/tag/project/1/a%2Fb/", "/tag/project/1/a%2Fb"},
		{"", "/tag/project/1/%252F", "/tag/project/1/%252F"},
		{"", "/tag/project/1/%20/", "/tag/project/1/%20"},
		{"", "/tag/project/1/%C3%A4/", "/tag/project/1/%C3%A4"},
		// No segment is resolved or truncated.
		{"", "/project/../user", "/project/../user"},
		{"", "/project/%2e%2e/user/", "/project/%2e%2e/user"},
		{"", "/./project", "/./project"},
		{"", "/project;a=b/", "/project;a=b"},
		{"", "/..", "/.."},

		{"/lab", "/lab", "/"},
		{"/lab", "/lab/", "/"},
		{"/lab", "/lab/project", "/project"},
		{"/lab", "/lab/project/", "/project"},
		{"/lab", "/lab/tag/project/1/a%2Fb/", "/tag/project/1/a%2Fb"},
		// A proxy may already have stripped the prefix.
		{"/lab", "/project", "/project"},
		{"/lab", "/project/", "/project"},
		{"/lab", "/", "/"},
		// The prefix is removed only once, only at the beginning and only as a whole segment.
		{"/lab", "/lab/lab/project", "/lab/project"},
		{"/lab", "/laboratory", "/laboratory"},
		{"/lab", "/lab%2Fproject", "/lab%2Fproject"},
		{"/lab", "/project/lab", "/project/lab"},
		{"/lab", "/LAB/project", "/LAB/project"},
		{"/lab", "//lab/project", "//lab/project"},
		{"/lab", "/lab//project", "//project"},
		{"/lab", "/lab/../user", "/../user"},
		{"/a/b", "/a/b/project/", "/project"},
		{"/a/b", "/a/project", "/a/project"},
	}
	for _, tt := range tests {
		t.Run(tt.base+" "+tt.target, func(t *testing.T) {
			u := seen(t, tt.base, tt.target)
			if got := u.EscapedPath(); got != tt.want {
				t.Errorf("the path is %q, want %q", got, tt.want)
			}
			if decoded, err := url.PathUnescape(tt.want); err != nil || u.Path != decoded {
				t.Errorf("the decoded path is %q, want %q", u.Path, decoded)
			}
			if _, query, _ := strings.Cut(tt.target, "?"); u.RawQuery != query {
				t.Errorf("the query is %q, want %q", u.RawQuery, query)
			}
		})
	}
}

func TestClientAddress(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:1234":     "192.0.2.1",
		"[2001:db8::1]:1234": "2001:db8::1",
		"@":                  "@", // a Unix socket
		"":                   "",
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = remote
		// Headers from the caller are ignored.
		r.Header.Set("X-Forwarded-For", "203.0.113.9")
		r.Header.Set("X-Real-Ip", "203.0.113.9")
		if got := web.ClientAddress(r); got != want {
			t.Errorf("%q is %q, want %q", remote, got, want)
		}
	}
}

func FuzzPaths(f *testing.F) {
	for _, path := range []string{"/", "/lab", "/lab/", "/lab/project/1/", "//", "/..", "/a%2Fb/", "/%", "/%zz", "/a;b", "/\x00", "/é/", "/%C3%A9/"} {
		f.Add("/lab", path)
		f.Add("", path)
	}
	f.Add("/l%20b", "/l%20b/x/")
	f.Fuzz(func(t *testing.T, base, path string) {
		u, err := url.ParseRequestURI(path)
		if err != nil || !strings.HasPrefix(path, "/") || base != "" && (base[0] != '/' || strings.HasSuffix(base, "/")) {
			return
		}
		escaped := u.EscapedPath()
		r := &http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}}
		var got *url.URL
		w := httptest.NewRecorder()
		web.Paths(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.URL }), base).ServeHTTP(w, r)
		if got == nil {
			t.Fatalf("%q was answered with %d", path, w.Code)
		}
		// The path is unchanged except for the base path and one slash.
		out := got.EscapedPath()
		if !strings.HasPrefix(out, "/") && out != "*" {
			t.Errorf("%q became %q", path, out)
		}
		ways := map[string]bool{}
		for _, p := range []string{escaped, strings.TrimPrefix(escaped, base)} {
			ways[p], ways[strings.TrimSuffix(p, "/")] = true, true
		}
		if !ways[out] && !(out == "/" && ways[""]) {
			t.Errorf("with base %q, %q became %q", base, path, out)
		}
		if decoded, err := url.PathUnescape(out); err != nil || decoded != got.Path {
			t.Errorf("%q is decoded to %q, %v", out, got.Path, err)
		}
	})
}
