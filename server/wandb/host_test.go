package wandb_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// Addresses contain the host in X-Forwarded-Host only if a trusted proxy sent the header.
func TestForwardedHost(t *testing.T) {
	t.Parallel()
	loopback := netip.MustParsePrefix("127.0.0.1/32")
	for _, tt := range []struct {
		name    string
		proxies []netip.Prefix
		sent    string
		want    string // expected host, "" for the server's own
	}{
		{"no trusted proxies", nil, "evil.example", ""},
		{"another proxy", []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, "evil.example", ""},
		{"trusted proxy", []netip.Prefix{loopback}, "tracker.example", "tracker.example"},
		{"trusted proxy that appends", []netip.Prefix{loopback}, "evil.example, tracker.example:81", "tracker.example:81"},
		{"trusted proxy without the header", []netip.Prefix{loopback}, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := start(t, false, tt.proxies...)
			b.run("p", "r")
			a := b.query(`mutation { createRunFiles(input: {projectName: "p", runName: "r", files: ["f.txt"]}) { files { uploadUrl } } }`, nil, func(r *http.Request) {
				if tt.sent != "" {
					r.Header.Set("X-Forwarded-Host", tt.sent)
				}
			}).wants(200)
			want := b.server.URL
			if tt.want != "" {
				want = "http://" + tt.want
			}
			if !strings.Contains(a.body, `"uploadUrl":"`+want+`/files/`) {
				t.Errorf("the address of an upload does not begin with %s: %s", want, a.body)
			}
		})
	}
}
