package server

import (
	"net/http"
	"strings"

	"tracker/server/web"
	"tracker/store/scalar"
)

// connectionBody describes how a request has reached the server. It contains only what the caller
// has sent, the caller's own address, and addresses from the settings.
type connectionBody struct {
	APIURL        string      `json:"api_url"`
	DashboardURL  *string     `json:"dashboard_url"` // null if the dashboard is not served
	PublicURL     *string     `json:"public_url"`    // null if SERVICE_PUBLIC_URL is not set
	Scheme        string      `json:"scheme"`
	Host          string      `json:"host"`
	Path          string      `json:"path"`
	BasePath      string      `json:"base_path"`
	ClientAddress string      `json:"client_address"`
	Forwarded     []string    `json:"forwarded"` // names of the headers by which proxies describe their clients
	ServerTime    scalar.Time `json:"server_time"`
}

// forwardingHeaders are the headers by which proxies describe their clients. X-Forwarded-Host
// reaches a handler only if the proxy is trusted, see web.TrustProxies.
var forwardingHeaders = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"}

// connection describes the request as the server has received it. Clients read the address of the
// dashboard from it, and `tracker doctor` compares it with the address that a user has typed.
func (s *Server) connection(c *call) error {
	orNull := func(text string) *string {
		if text == "" {
			return nil
		}
		return &text
	}
	b := connectionBody{APIURL: s.site.API(c.r), DashboardURL: orNull(s.site.Dashboard(c.r)), PublicURL: orNull(s.site.Public),
		Scheme: web.Scheme(c.r), Host: c.r.Host, Path: strings.TrimSuffix(c.r.RequestURI, "/"), BasePath: s.site.BasePath,
		ClientAddress: web.ClientAddress(c.r), Forwarded: []string{}, ServerTime: scalar.Time(s.now().UnixMilli())}
	if host := web.ForwardedHost(c.r); host != "" {
		b.Host = host
	}
	for _, name := range forwardingHeaders {
		if _, ok := c.r.Header[http.CanonicalHeaderKey(name)]; ok {
			b.Forwarded = append(b.Forwarded, name)
		}
	}
	c.w.Header().Set("Cache-Control", "no-store")
	return c.ok(b)
}
