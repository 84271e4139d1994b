package wandb

import (
	"net/http"
	"net/url"
	"strings"
)

// linked returns the dashboard address for a link printed by a client, such as
// /ada/project/runs/8fj2k1. It returns "" for other requests. The dashboard page then finds the
// record and checks the user's permission.
func (s *Server) linked(r *http.Request) string {
	if s.site.DashboardPort == "" || r.Method != http.MethodGet && r.Method != http.MethodHead || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		return ""
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	page := ""
	switch {
	case len(parts) == 1 && parts[0] == "authorize": // wandb login prints this address as the place to copy the API key
		page = "/account"
	case len(parts) < 2 || s.taken[parts[0]] || parts[0] == "mlflow" || parts[0] == "api":
		return ""
	default:
		page = "/wandb/" + parts[1]
	}
	switch {
	case len(parts) == 1:
	case len(parts) >= 4 && parts[2] == "runs":
		page += "/" + parts[3]
	case len(parts) >= 4 && parts[2] == "sweeps":
		page = "/sweep/" + parts[3]
	case len(parts) >= 4 && parts[2] == "reports":
		name, err := url.PathUnescape(parts[len(parts)-1])
		id := recordOfView(name[strings.LastIndex(name, "-")+1:]) // Title--ID
		if err != nil || id == "" {
			return ""
		}
		page = "/report/" + url.PathEscape(id)
	case len(parts) == 2 && r.URL.Query().Get("nw") != "":
		page += "?" + url.Values{"nw": {r.URL.Query().Get("nw")}}.Encode()
	case len(parts) == 2, parts[2] == "workspace", parts[2] == "artifacts", parts[2] == "sweeps":
	default:
		return ""
	}
	dashboard := s.site.Dashboard(r)
	if dashboard == "" {
		return ""
	}
	return dashboard + page
}
