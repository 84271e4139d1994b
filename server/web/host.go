package web

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"tracker/store/domain"
)

// Hosts contains the Host header values that a port without sign-in accepts. An attacker can make a
// host name point to this machine (DNS rebinding). Pages from that host send its name as the Host
// header, which Hosts rejects.
type Hosts struct {
	addresses bool            // accept all IP addresses, not only loopback addresses
	names     map[string]bool // in lower case
	domains   []string        // in lower case, with a leading dot
}

// NewHosts returns the hosts of a port that listens on bound, an IP address or host name. Hosts
// always accepts loopback names. It accepts IP addresses if bound is not a loopback address,
// because an attacker can't point an IP address to another machine.
//
// Each of the names is an IP address, a host name, or a domain with a leading dot. Such a
// domain matches the domain itself and all its subdomains.
func NewHosts(bound string, names ...string) Hosts {
	h := Hosts{addresses: !Loopback(bound), names: map[string]bool{}}
	for _, name := range append([]string{bound}, names...) {
		name = strings.ToLower(strings.TrimSuffix(name, "."))
		if strings.HasPrefix(name, ".") {
			h.domains = append(h.domains, name)
			name = name[1:]
		}
		h.names[name] = true
	}
	return h
}

// Known reports whether h accepts host, the Host header of a request. It accepts an empty host,
// because HTTP/1.0 does not require the header and browsers always send it.
func (h Hosts) Known(host string) bool {
	if host == "" {
		return true
	}
	name := HostName(host)
	if Loopback(name) || h.names[name] {
		return true
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return h.addresses
	}
	for _, domain := range h.domains {
		if strings.HasSuffix(name, domain) {
			return true
		}
	}
	return false
}

// HostName returns the name in host in lower case. It removes the port, the brackets of an IPv6
// address, and a trailing dot.
func HostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// Loopback reports whether a host name or IP address always means this machine.
func Loopback(name string) bool {
	if addr, err := netip.ParseAddr(name); err == nil {
		return addr.Unmap().IsLoopback()
	}
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// CheckHost returns a handler that passes requests with a known host to next. For other hosts,
// it calls fail with the error HOST_NOT_ALLOWED.
func CheckHost(next http.Handler, known Hosts, fail func(http.ResponseWriter, *http.Request, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if known.Known(r.Host) {
			next.ServeHTTP(w, r)
			return
		}
		fail(w, r, domain.Errorf(CodeHostNotAllowed, "Sign-in is off, so this server accepts only known host names, and not %q: "+
			"add it to SERVICE_TRUSTED_HOSTS, set SERVICE_PUBLIC_URL to the public address, or turn sign-in on with SERVICE_ENABLE_AUTH.",
			Clip(HostName(r.Host))))
	})
}
