package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"tracker/server/web"
)

func TestTrustProxies(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("2001:db8::/64")}
	for _, tt := range []struct {
		name      string
		peer      string
		forwarded []string // header: value
		want      string
	}{
		{"no proxy", "192.0.2.9:1", nil, "192.0.2.9"},
		{"somebody who says to be one", "192.0.2.9:1", []string{"X-Forwarded-For: 198.51.100.1"}, "192.0.2.9"},
		{"proxy without a header", "10.0.0.1:1", nil, "10.0.0.1"},
		{"one hop", "10.0.0.1:1", []string{"X-Forwarded-For: 198.51.100.1"}, "198.51.100.1"},
		{"over IPv6", "[2001:db8::1]:1", []string{"X-Forwarded-For: 2001:db8:1::9"}, "2001:db8:1::9"},
		{"peer as mapped IPv4", "[::ffff:10.0.0.1]:1", []string{"X-Forwarded-For: 198.51.100.1"}, "198.51.100.1"},
		{"with a port", "10.0.0.1:1", []string{"X-Forwarded-For: 198.51.100.1:4711"}, "198.51.100.1"},
		{"made up by the client", "10.0.0.1:1", []string{"X-Forwarded-For: 203.0.113.5, 198.51.100.1"}, "198.51.100.1"},
		{"two proxies", "10.0.0.1:1", []string{"X-Forwarded-For: 203.0.113.5, 198.51.100.1, 10.9.9.9"}, "198.51.100.1"},
		{"two headers", "10.0.0.1:1", []string{"X-Forwarded-For: 203.0.113.5", "X-Forwarded-For: 198.51.100.1"}, "198.51.100.1"},
		{"proxies alone", "10.0.0.1:1", []string{"X-Forwarded-For: 10.0.0.3, 10.0.0.2"}, "10.0.0.1"},
		{"not an address", "10.0.0.1:1", []string{"X-Forwarded-For: 203.0.113.5, unknown"}, "10.0.0.1"},
		{"empty", "10.0.0.1:1", []string{"X-Forwarded-For: "}, "10.0.0.1"},
		{"Forwarded", "10.0.0.1:1", []string{"Forwarded: for=203.0.113.5, for=198.51.100.1;proto=https"}, "198.51.100.1"},
		{"Forwarded, quoted", "10.0.0.1:1", []string{`Forwarded: proto=https; For="[2001:db8:1::9]:4711"`}, "2001:db8:1::9"},
		{"Forwarded, hidden", "10.0.0.1:1", []string{"Forwarded: for=_hidden"}, "10.0.0.1"},
		{"both agree", "10.0.0.1:1", []string{"Forwarded: for=198.51.100.1", "X-Forwarded-For: 198.51.100.1"}, "198.51.100.1"},
		{"one made up", "10.0.0.1:1", []string{"Forwarded: for=203.0.113.5", "X-Forwarded-For: 198.51.100.1"}, "10.0.0.1"},
		{"endless", "10.0.0.1:1", []string{"X-Forwarded-For: 198.51.100.1" + strings.Repeat(", 10.0.0.2", 1000)}, "10.0.0.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			r.RemoteAddr = tt.peer
			for _, line := range tt.forwarded {
				name, value, _ := strings.Cut(line, ": ")
				r.Header.Add(name, value)
			}
			got := ""
			h := web.TrustProxies(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = web.ClientAddress(r) }), proxies)
			h.ServeHTTP(httptest.NewRecorder(), r)
			if want := tt.want; got != want && got != "::ffff:"+want {
				t.Errorf("the address is %s, want %s", got, want)
			}
			if r.RemoteAddr != tt.peer {
				t.Error("the request of the caller was changed")
			}
		})
	}
}

func TestProxiesAreNotTrustedUnasked(t *testing.T) {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.RemoteAddr = "127.0.0.1:1"
	r.Header.Set("X-Forwarded-For", "198.51.100.1")
	web.TrustProxies(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if got := web.ClientAddress(r); got != "127.0.0.1" {
			t.Errorf("the address is %s", got)
		}
	}), nil).ServeHTTP(httptest.NewRecorder(), r)
}
