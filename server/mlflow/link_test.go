package mlflow_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tracker/server/mlflow"
	"tracker/server/web"
)

// A link that a client prints leads a browser to the dashboard. Other programs get the response of
// the native API.
func TestLinks(t *testing.T) {
	t.Parallel()
	native := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	for _, port := range []string{"9001", ""} {
		s, err := mlflow.New(mlflow.Options{Site: web.Site{BasePath: "/base", DashboardPort: port}})
		if err != nil {
			t.Fatal(err)
		}
		for path, isLink := range map[string]bool{"/": true, "/mlflow/digits/": true, "/mlflow/a%2Fb/": true, "/mlflow/": false, "/project": false} {
			for accept, browser := range map[string]bool{"text/html,*/*;q=0.8": true, "*/*": false, "application/json": false} {
				r := httptest.NewRequest("GET", path, nil)
				r.Host = "example.com:9000"
				r.Header.Set("Accept", accept)
				w := httptest.NewRecorder()
				s.Or(native).ServeHTTP(w, r)
				want := http.StatusNotFound
				if isLink && browser && port != "" {
					want = http.StatusOK
				}
				if w.Code != want {
					t.Errorf("%s of %s with port %q: %d, want %d", path, accept, port, w.Code, want)
				}
				if want == http.StatusOK && !strings.Contains(w.Body.String(), `<a href="http://example.com:9001/base/">`) {
					t.Errorf("%s: %s", path, w.Body)
				}
			}
		}
	}
}
