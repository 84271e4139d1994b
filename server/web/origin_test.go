package web_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"tracker/server/web"
)

func TestCrossOrigin(t *testing.T) {
	passed := false
	pass := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { passed = true })
	deny := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusForbidden) })
	h, err := web.CrossOrigin(pass, []string{"https://lab.example", "http://lab.example:8080"}, deny)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name       string
		fetch      string // the header Sec-Fetch-Site
		origin     string
		wantDenied bool // for writes; reads always pass
	}{
		{"not a browser", "", "", false},
		{"same origin", "same-origin", "http://box:9000", false},
		{"typed by the person", "none", "", false},
		{"another site", "cross-site", "https://evil.example", true},
		{"another site without Origin", "cross-site", "", true},
		{"another port of the site", "same-site", "http://box:9001", true},
		{"old browser, same origin", "", "http://box:9000", false},
		{"old browser, another site", "", "https://evil.example", true},
		{"old browser, another port", "", "http://box:9001", true},
		{"old browser, sandboxed page", "", "null", true},
		{"sandboxed page", "cross-site", "null", true},
		{"trusted", "cross-site", "https://lab.example", false},
		{"trusted with port", "cross-site", "http://lab.example:8080", false},
		{"trusted, old browser", "", "https://lab.example", false},
		{"trusted host, other scheme", "cross-site", "http://lab.example", true},
		{"trusted host, other port", "cross-site", "https://lab.example:444", true},
		{"longer than a trusted one", "cross-site", "https://lab.example.evil.example", true},
		{"unknown word", "sideways", "https://evil.example", true},
		{"origin that can't be read", "", "::::", true},
	}
	for _, tt := range tests {
		for method, write := range map[string]bool{"GET": false, "HEAD": false, "OPTIONS": false,
			"POST": true, "PUT": true, "PATCH": true, "DELETE": true, "BREW": true} {
			r := httptest.NewRequestWithContext(t.Context(), method, "http://box:9000/project", nil)
			if tt.fetch != "" {
				r.Header.Set("Sec-Fetch-Site", tt.fetch)
			}
			if tt.origin != "" {
				r.Header.Set("Origin", tt.origin)
			}
			passed = false
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			denied := w.Code == http.StatusForbidden
			if want := write && tt.wantDenied; denied != want || passed == denied {
				t.Errorf("%s, %s: denied is %t, want %t; passed on is %t", tt.name, method, denied, want, passed)
			}
		}
	}
}

func TestCrossOriginRefusesWhatIsNoOrigin(t *testing.T) {
	for _, origin := range []string{"", "*", "lab.example", "https://lab.example/", "https://lab.example/page", "https://", "null", "https://a b"} {
		if _, err := web.CrossOrigin(http.NotFoundHandler(), []string{origin}, http.NotFoundHandler()); err == nil {
			t.Errorf("%q is taken for an origin", origin)
		}
	}
}
