package web_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"tracker/server/web"
)

// A client gets addresses of the port or the path to which it sends requests. Links for people
// always lead to the public address.
func TestSite(t *testing.T) {
	const public = "https://lab.example.com/tracker"
	local := web.Site{BasePath: "/tracker", DashboardPort: "9001"}
	behind := web.Site{BasePath: "/tracker", DashboardPort: "9001", Public: public}
	proxied := http.Header{"X-Forwarded-Proto": {"https"}}
	for _, tt := range []struct {
		name                   string
		site                   web.Site
		mounted                bool
		host                   string
		header                 http.Header
		api, dashboard, prefix string
	}{
		{"own port", local, false, "127.0.0.1:9000", nil, "http://127.0.0.1:9000/tracker", "http://127.0.0.1:9001/tracker", "/tracker"},
		{"own port, IPv6", local, false, "[::1]:9000", nil, "http://[::1]:9000/tracker", "http://[::1]:9001/tracker", "/tracker"},
		{"dashboard's port", local, true, "127.0.0.1:9001", nil, "http://127.0.0.1:9001/tracker/api", "http://127.0.0.1:9001/tracker", "/tracker/api"},
		{"dashboard's port behind a proxy", local, true, "lab", proxied, "https://lab/tracker/api", "https://lab/tracker", "/tracker/api"},
		{"public, own port", behind, false, "127.0.0.1:9000", nil, "http://127.0.0.1:9000/tracker", public, "/tracker"},
		{"public, proxy that replaces the host", behind, true, "127.0.0.1:9001", nil, public + "/api", public, "/tracker/api"},
		{"no dashboard", web.Site{}, false, "127.0.0.1:9000", nil, "http://127.0.0.1:9000", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			r.Host = tt.host
			for name, values := range tt.header {
				r.Header[name] = values
			}
			check := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if got := tt.site.API(r); got != tt.api {
					t.Errorf("the API is %s, want %s", got, tt.api)
				}
				if got := tt.site.Dashboard(r); got != tt.dashboard {
					t.Errorf("the dashboard is %s, want %s", got, tt.dashboard)
				}
				if got := tt.site.Prefix(r); got != tt.prefix {
					t.Errorf("the prefix is %s, want %s", got, tt.prefix)
				}
			})
			if tt.mounted {
				web.OnDashboard(check).ServeHTTP(httptest.NewRecorder(), r)
			} else {
				check.ServeHTTP(nil, r)
			}
		})
	}
}

func TestSplit(t *testing.T) {
	named := func(name string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Handler", name) })
	}
	for _, tt := range []struct{ base, path, want string }{
		{"", "/api", "api"},
		{"", "/api/", "api"},
		{"", "/api/project", "api"},
		{"", "/api/api/2.0/mlflow/runs/create", "api"},
		{"", "/", "dashboard"},
		{"", "/apiary", "dashboard"},
		{"", "/api%2Fproject", "dashboard"},
		{"", "//api/project", "dashboard"},
		{"", "/project/api", "dashboard"},
		{"", "/static/../api/project", "dashboard"},
		{"/lab", "/lab/api/project", "api"},
		{"/lab", "/api/project", "api"}, // the proxy has stripped the prefix
		{"/lab", "/lab", "dashboard"},
		{"/lab", "/lab/apis", "dashboard"},
		{"/lab", "/laboratory/api", "dashboard"},
		{"/api", "/api/api/project", "api"},
		{"/api", "/api/project", "dashboard"},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://box"+tt.path, nil)
		web.Split(named("dashboard"), named("api"), tt.base).ServeHTTP(w, r)
		if got := w.Header().Get("Handler"); got != tt.want {
			t.Errorf("base %q: %s is handled by the %s", tt.base, tt.path, got)
		}
	}
}
