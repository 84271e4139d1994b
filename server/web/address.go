package web

import (
	"cmp"
	"net"
	"net/http"
	"net/url"
)

// Address returns the address of the API for the client.
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

// DashboardAddress returns the address of the dashboard, which has a port of its own,
// for the client; "" if the request has no host.
func DashboardAddress(r *http.Request, basePath, port string) string {
	u, err := url.Parse(Address(r, basePath))
	if err != nil {
		return ""
	}
	u.Host = net.JoinHostPort(HostName(u.Host), port)
	return u.String()
}
