package web

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"tracker/store/domain"
)

// Hosts holds the values of the header Host that a port without sign-in accepts.
// A page whose name an attacker has pointed to this machine (DNS rebinding) sends
// that name, and is refused.
type Hosts struct {
	addresses bool            // accept every IP address, not only loopback
	names     map[string]bool // in lower case
	domains   []string        // in lower case, with the leading dot
}

// NewHosts returns the hosts of a port that listens on bound, an IP address or a
// name. Loopback names are always accepted. IP addresses are accepted if bound is
// not a loopback address: they can't be pointed elsewhere. Each of names is an IP
// address, a host name, or a domain with a leading dot, which stands for itself
// and all its subdomains.
func NewHosts(bound string, names ...string) Hosts {
	h := Hosts{addresses: !loopback(bound), names: map[string]bool{}}
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

// Known reports whether h accepts host, the value of the header in a request. An
// empty host is accepted: HTTP/1.0 does not require the header, and browsers
// always send it.
func (h Hosts) Known(host string) bool {
	if host == "" {
		return true
	}
	name := HostName(host)
	if loopback(name) || h.names[name] {
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

// HostName returns host in lower case, without the port, the brackets of an IPv6
// address and the dot at the end of a full name.
func HostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// loopback reports whether a name or an address always means this machine.
func loopback(name string) bool {
	if addr, err := netip.ParseAddr(name); err == nil {
		return addr.Unmap().IsLoopback()
	}
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// CheckHost passes requests to known hosts on to next. It answers others by
// calling fail with HOST_NOT_ALLOWED.
func CheckHost(next http.Handler, known Hosts, fail func(http.ResponseWriter, *http.Request, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if known.Known(r.Host) {
			next.ServeHTTP(w, r)
			return
		}
		fail(w, r, domain.Errorf(CodeHostNotAllowed, "Sign-in is off, so this server answers only to the host names that it knows, and not to %q: "+
			"add it to SERVICE_TRUSTED_HOSTS, or turn sign-in on with SERVICE_ENABLE_AUTH.", Clip(HostName(r.Host))))
	})
}
