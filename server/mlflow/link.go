package mlflow

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"net/http"
	"strings"
)

// linkScript redirects a browser to the dashboard. After each run, a client prints links such
// as http://host:9000/#/experiments/E/runs/R. A browser does not send the part after # to the
// server, so a script in the page has to redirect.
const linkScript = `
const found = /^#\/experiments\/([\w-]+)(?:\/runs\/([\da-f]{8})-?([\da-f]{4})-?([\da-f]{4})-?([\da-f]{4})-?([\da-f]{12}))?/.exec(location.hash);
const page = !found ? "" : found[2] ? "iteration/" + found.slice(2).join("-") : "experiment/" + found[1];
location.replace(document.querySelector("a").href + page);
`

// linkPage is the page that redirects to the dashboard. %s is replaced by the dashboard's
// address.
const linkPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>tracker</title>
<p>This is the address of the API. <a href="%s">Open the dashboard</a>.</p>
<script>` + linkScript + `</script>
</html>
`

// linkPolicy is a Content-Security-Policy that allows only linkScript.
var linkPolicy = func() string {
	sum := sha256.Sum256([]byte(linkScript))
	return "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; script-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'"
}()

// isLink reports whether r is a browser's request for the root of the server or of a project. The
// links that clients print begin with one of these paths.
func (s *Server) isLink(r *http.Request, path string) bool {
	return s.site.DashboardPort != "" && path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		strings.Contains(r.Header.Get("Accept"), "text/html")
}

// link sends the page that redirects to the dashboard.
func (s *Server) link(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", linkPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	address := s.site.Dashboard(r) + "/"
	_, _ = fmt.Fprintf(w, linkPage, html.EscapeString(address)) // an error means a broken connection
}
