//go:build unix

package cmd

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// askAs sends a request to a port with the given Host header.
func askAs(t *testing.T, address, host string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/health", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// Without sign-in, both ports reject requests from a page whose host name an attacker has made
// point to this machine.
func TestUnknownHostsAreRefusedWithoutSignIn(t *testing.T) {
	p := startServer(t, t.TempDir(), []string{"SERVICE_CORS_ORIGINS=https://lab.example:8443",
		"SERVICE_TRUSTED_HOSTS=hub.example.com:443, .notebooks.example"})
	defer p.stop()
	for _, port := range []string{p.API, p.UI} {
		for _, host := range []string{"evil.example", "evil.example:9000", "localhost.evil.example", "10.0.0.7", "x.hub.example.com"} {
			status, body := askAs(t, port, host)
			if status != http.StatusForbidden || !strings.Contains(body, "SERVICE_TRUSTED_HOSTS") {
				t.Errorf("%s as %s answers %d %s", port, host, status, body)
			}
		}
		for _, host := range []string{"localhost", "localhost:1", "127.0.0.1", "[::1]:9000", "lab.example", "hub.example.com", "ada.notebooks.example"} {
			if status, body := askAs(t, port, host); status != http.StatusOK {
				t.Errorf("%s as %s answers %d %s", port, host, status, body)
			}
		}
	}
}

// With sign-in, every name is accepted, because requests need a token and pages from other names
// have none.
func TestAllHostsAreKnownWithSignIn(t *testing.T) {
	p := startServer(t, t.TempDir(), []string{"SERVICE_ENABLE_AUTH=true", "SERVICE_JWT_SECRET=" + strings.Repeat("secret ", 5)})
	defer p.stop()
	for _, port := range []string{p.API, p.UI} {
		if status, body := askAs(t, port, "tracker.example.com"); status != http.StatusOK {
			t.Errorf("%s answers %d %s", port, status, body)
		}
	}
}
