package web

import (
	"cmp"
	"net"
	"net/http"
	"net/url"
)

// Address returns the address at which the client of r reaches the API.
func Address(r *http.Request, basePath string) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	if p := r.Header.Get("X-Forwarded-Proto"); p == "http" || p == "https" {
		scheme = p
	}
	return scheme + "://" + cmp.Or(ForwardedHost(r), r.Host) + basePath
}

// DashboardAddress returns the address at which the client of r reaches the dashboard, which has
// its own port. It returns "" if the request has no valid host.
func DashboardAddress(r *http.Request, basePath, port string) string {
	u, err := url.Parse(Address(r, basePath))
	if err != nil {
		return ""
	}
	u.Host = net.JoinHostPort(HostName(u.Host), port)
	return u.String()
}
