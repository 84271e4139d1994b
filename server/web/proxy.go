package web

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// ClientAddress returns the address of the client of a request, without the port.
func ClientAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// maxHops is the maximum number of addresses of a forwarded request that are read.
const maxHops = 32

// TrustProxies replaces the address of a proxy by the address of its client. If a
// request comes from one of proxies, its client is the last address in
// X-Forwarded-For or Forwarded (RFC 7239) that is not itself a proxy; the addresses
// before it may be forged. If the two headers disagree, the proxy did not write one
// of them, and the address of the proxy is kept. X-Forwarded-Host is removed from
// requests that do not come from a proxy; see ForwardedHost.
func TrustProxies(next http.Handler, proxies []netip.Prefix) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peer, err := netip.ParseAddr(ClientAddress(r))
		if err != nil || !within(peer, proxies) {
			r = withoutHeader(r, forwardedHost)
		} else if client := forwardedFor(r, proxies); client.IsValid() {
			r2 := *r
			r2.RemoteAddr = net.JoinHostPort(client.String(), "0")
			r = &r2
		}
		next.ServeHTTP(w, r)
	})
}

const forwardedHost = "X-Forwarded-Host"

// ForwardedHost returns the host that the client of a trusted proxy requested, the
// last in X-Forwarded-Host; "" if there is none. The request must have passed
// TrustProxies.
func ForwardedHost(r *http.Request) string {
	hosts := strings.Join(r.Header.Values(forwardedHost), ",")
	return strings.TrimSpace(hosts[strings.LastIndexByte(hosts, ',')+1:])
}

// withoutHeader returns r, or a copy that lacks a header.
func withoutHeader(r *http.Request, name string) *http.Request {
	if _, ok := r.Header[name]; !ok {
		return r
	}
	r2 := *r
	r2.Header = r.Header.Clone()
	r2.Header.Del(name)
	return &r2
}

// forwardedFor returns the address of the client of a trusted proxy that sent r;
// the zero Addr if there is none.
func forwardedFor(r *http.Request, proxies []netip.Prefix) netip.Addr {
	plain := lastClient(strings.Join(r.Header.Values("X-Forwarded-For"), ","), func(hop string) string { return hop }, proxies)
	standard := lastClient(strings.Join(r.Header.Values("Forwarded"), ","), forOf, proxies)
	switch {
	case !standard.IsValid():
		return plain
	case !plain.IsValid(), plain == standard:
		return standard
	}
	return netip.Addr{}
}

// lastClient returns the last address of a list of hops that is not a proxy. A hop
// that can't be read ends the search.
func lastClient(hops string, addressOf func(string) string, proxies []netip.Prefix) netip.Addr {
	for range maxHops {
		at := strings.LastIndexByte(hops, ',')
		addr, err := parseHop(addressOf(strings.TrimSpace(hops[at+1:])))
		if err != nil {
			return netip.Addr{}
		}
		if !within(addr, proxies) {
			return addr
		}
		if at < 0 {
			break
		}
		hops = hops[:at]
	}
	return netip.Addr{}
}

// forOf returns the parameter "for" of an element of Forwarded.
func forOf(element string) string {
	for pair := range strings.SplitSeq(element, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if strings.EqualFold(name, "for") {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

// parseHop reads an address, with or without a port and brackets.
func parseHop(hop string) (netip.Addr, error) {
	if at, err := netip.ParseAddrPort(hop); err == nil {
		return at.Addr().Unmap(), nil
	}
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(hop, "["), "]"))
	return addr.Unmap(), err
}

func within(addr netip.Addr, networks []netip.Prefix) bool {
	addr = addr.Unmap().WithZone("")
	for _, n := range networks {
		if n.Contains(addr) {
			return true
		}
	}
	return false
}
