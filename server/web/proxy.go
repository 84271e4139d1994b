package web

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"tracker/store/domain"
)

// ClientAddress returns the IP address of a request's client, without the port.
func ClientAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// maxHops is the maximum number of addresses that are read from a forwarding header.
const maxHops = 32

// TrustProxies returns a handler that sets RemoteAddr to the address of the client if a trusted
// proxy sent the request. The client is the last address in X-Forwarded-For or Forwarded (RFC
// 7239) that is not a proxy. Earlier addresses can be forged.
//
// If the two headers disagree, the proxy did not write both of them, and TrustProxies leaves
// RemoteAddr unchanged. The context of the request gets the address for the audit trail. TrustProxies
// removes X-Forwarded-Host from requests that do not come from a trusted
// proxy, see ForwardedHost.
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
		next.ServeHTTP(w, r.WithContext(domain.WithAddress(r.Context(), ClientAddress(r))))
	})
}

const forwardedHost = "X-Forwarded-Host"

// ForwardedHost returns the host that the client requested from a trusted proxy. It is the last
// host in X-Forwarded-Host, or "" if the header is missing. The request must have passed
// TrustProxies.
func ForwardedHost(r *http.Request) string {
	hosts := strings.Join(r.Header.Values(forwardedHost), ",")
	return strings.TrimSpace(hosts[strings.LastIndexByte(hosts, ',')+1:])
}

// withoutHeader returns r, or a copy of r without the named header if r has it. It does not modify
// r.
func withoutHeader(r *http.Request, name string) *http.Request {
	if _, ok := r.Header[name]; !ok {
		return r
	}
	r2 := *r
	r2.Header = r.Header.Clone()
	r2.Header.Del(name)
	return &r2
}

// forwardedFor returns the client's address in the headers of a trusted proxy. It returns the
// zero Addr if the headers have no such address or disagree.
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

// lastClient returns the last address in hops that is not a proxy. It returns the zero Addr if all
// addresses are proxies or if it finds an invalid address first.
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

// forOf returns the value of the parameter "for" in an element of the Forwarded header.
func forOf(element string) string {
	for pair := range strings.SplitSeq(element, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if strings.EqualFold(name, "for") {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

// parseHop parses an IP address with or without a port and brackets.
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
