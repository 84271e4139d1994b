package wandb_test

import (
	"net/http/httptest"
	"testing"

	"tracker/server/wandb"
)

// Links that clients print lead to pages of the dashboard.
func TestLinks(t *testing.T) {
	t.Parallel()
	const dashboard = "http://example.com:9001"
	for path, want := range map[string]string{
		"/ada/digits":             "/wandb/digits",
		"/ada/digits/workspace":   "/wandb/digits",
		"/ada/digits/runs/8fj2k1": "/wandb/digits/8fj2k1",
		"/ada/digits/runs/a%2Fb":  "/wandb/digits/a%2Fb",
		"/ada/digits/sweeps/x":    "/sweep/x",
		"/ada/digits/sweeps":      "/wandb/digits",
		"/authorize":              "/account",
		"/authorize?ref=models":   "/account",
		"/project/digits":         "",
		"/mlflow/digits":          "",
		"/ada":                    "",

		"/ada/digits?nw=a0b1c2":                         "/wandb/digits?nw=a0b1c2",
		"/ada/digits/reports/My-report--Vmlldzo5OWQ%3D": "/report/99d",
		"/ada/digits/reports/a--b/c--Vmlldzo5OWQ":       "/report/99d",
		"/ada/digits/reports/My-report--99d":            "",
		"/ada/digits/reports":                           "",
		"/":                                             "",
		"/ada/digits/nothing/like/it":                   "",
	} {
		r := httptest.NewRequest("GET", path, nil)
		r.Host = "example.com:9000"
		if got := wandb.Linked("9001", r); got != "" {
			t.Errorf("%s for a program leads to %s", path, got)
		}
		r.Header.Set("Accept", "text/html,*/*")
		if want != "" {
			want = dashboard + want
		}
		if got := wandb.Linked("9001", r); got != want {
			t.Errorf("%s leads to %q, want %q", path, got, want)
		}
		if got := wandb.Linked("", r); got != "" {
			t.Errorf("%s leads to %q without a dashboard", path, got)
		}
	}
}
