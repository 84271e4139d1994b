package web

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/url"
)

// APIPath is the path of the API on the dashboard's port.
const APIPath = "/api"

// APIHeader is the header of the dashboard's responses with the path of the API on its port.
const APIHeader = "Tracker-Api"

// Site returns the addresses at which clients reach the API and the dashboard.
type Site struct {
	BasePath string // prefix of all paths; empty, or begins with a slash and does not end with a slash
	// Public is the address of the dashboard from the settings. If it is empty, addresses are
	// derived from requests.
	Public        string
	DashboardPort string // empty if the dashboard is not served
}

// API returns the address at which the client of r reaches the API. It is the port or the path to
// which the client has sent r.
func (s Site) API(r *http.Request) string {
	if onDashboard(r) {
		return s.Dashboard(r) + APIPath
	}
	return Address(r, s.BasePath)
}

// Dashboard returns the address at which the client of r reaches the dashboard. It returns "" if
// the dashboard is not served or the request has no valid host.
func (s Site) Dashboard(r *http.Request) string {
	switch {
	case s.Public != "":
		return s.Public
	case onDashboard(r):
		return Address(r, s.BasePath)
	case s.DashboardPort == "":
		return ""
	}
	u, err := url.Parse(Address(r, s.BasePath))
	if err != nil {
		return ""
	}
	u.Host = net.JoinHostPort(HostName(u.Host), s.DashboardPort)
	return u.String()
}

// Prefix returns the prefix of the API's paths for the client of r.
func (s Site) Prefix(r *http.Request) string {
	if onDashboard(r) {
		return s.BasePath + APIPath
	}
	return s.BasePath
}

// Address returns the address with the base path at which the client of r reaches the port that
// has received r.
func Address(r *http.Request, basePath string) string {
	return Scheme(r) + "://" + cmp.Or(ForwardedHost(r), r.Host) + basePath
}

// Scheme returns the scheme that the client of r uses, "http" or "https".
func Scheme(r *http.Request) string {
	if p := r.Header.Get("X-Forwarded-Proto"); p == "http" || p == "https" {
		return p
	}
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

type dashboardKey struct{}

// onDashboard reports whether OnDashboard has handled r.
func onDashboard(r *http.Request) bool { return r.Context().Value(dashboardKey{}) != nil }

// OnDashboard returns a handler for requests to the API that the dashboard's port has received. No
// response can run as a page of the dashboard's origin.
func OnDashboard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'") // handlers can set a different policy
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), dashboardKey{}, true)))
	})
}
