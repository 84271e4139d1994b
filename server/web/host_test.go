package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tracker/server/web"
	"tracker/store/domain"
)

func TestKnownHosts(t *testing.T) {
	for _, tt := range []struct {
		bound string
		names []string
		known string
		other string
	}{
		{"127.0.0.1", nil,
			"localhost localhost:9000 LOCALHOST a.localhost box.localhost:1 127.0.0.1 127.0.0.1:9000 127.9.8.7 [::1] [::1]:9000 [::ffff:127.0.0.1] localhost. localhost.:80",
			"evil.example evil.example:9000 localhost.evil.example notlocalhost 127.0.0.1.evil.example evil.example. 10.0.0.7 10.0.0.7:9000 [2001:db8::1]:9000 0.0.0.0 127.1 : :9000 [evil.example] localhost@evil.example evil.example/localhost"},
		{"0.0.0.0", nil,
			"localhost 127.0.0.1 10.0.0.7 10.0.0.7:9000 [2001:db8::1]:9000 [fe80::1]",
			"evil.example box 10.0.0.7.evil.example 10.0.0 0x7f000001.evil.example"},
		{"::", nil, "[::1] 10.0.0.7", "evil.example"},
		{"box.lab.example", nil, "box.lab.example BOX.lab.example:9000 10.0.0.7", "lab.example other.lab.example xbox.lab.example"},
		{"127.0.0.1", []string{"hub.example.com", ".lab.example", "10.0.0.7"},
			"hub.example.com HUB.example.com. hub.example.com:8443 lab.example a.lab.example a.b.lab.example 10.0.0.7 localhost",
			"example.com a.hub.example.com xlab.example lab.example.evil 10.0.0.8"},
	} {
		hosts := web.NewHosts(tt.bound, tt.names...)
		for _, host := range strings.Fields(tt.known) {
			if !hosts.Known(host) {
				t.Errorf("bound to %s with %v, %q is not known", tt.bound, tt.names, host)
			}
		}
		for _, host := range strings.Fields(tt.other) {
			if hosts.Known(host) {
				t.Errorf("bound to %s with %v, %q is known", tt.bound, tt.names, host)
			}
		}
	}
	if !web.NewHosts("127.0.0.1").Known("") {
		t.Error("a request without a host is refused")
	}
}

func TestCheckHost(t *testing.T) {
	passed := 0
	var failed error
	h := web.CheckHost(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed++ }), web.NewHosts("127.0.0.1"),
		func(_ http.ResponseWriter, _ *http.Request, err error) { failed = err })
	for _, method := range []string{"GET", "POST", "OPTIONS"} {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), method, "http://evil.example:9000/project", nil))
		e := domain.AsError(failed)
		if passed != 0 || e == nil || e.Code != web.CodeHostNotAllowed || web.StatusOf(e.Code) != http.StatusForbidden {
			t.Errorf("%s: %d passed, %v", method, passed, failed)
		}
		for _, part := range []string{`"evil.example"`, "SERVICE_TRUSTED_HOSTS", "SERVICE_ENABLE_AUTH"} {
			if e != nil && !strings.Contains(e.Message, part) {
				t.Errorf("%q does not name %s", e.Message, part)
			}
		}
		failed = nil
	}
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost:9000/project", nil))
	if passed != 1 || failed != nil {
		t.Errorf("%d passed, %v", passed, failed)
	}
}
