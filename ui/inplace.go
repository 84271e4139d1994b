package ui

import (
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/a-h/templ"
)

// htmxConfig adapts htmx to the content security policy. With this configuration, htmx adds no
// styles, sends no requests to other origins and does not change the browser history. Scripts
// in htmx attributes do not work, because the policy forbids eval.
const htmxConfig = "includeIndicatorCSS:false, mode:same-origin, history:false"

// These parts of a page are updated together with every other part.
const (
	titlePart  = "title"
	crumbsPart = "crumbs"
)

// inPlace reports whether htmx sent the request to update a part of a page.
func inPlace(r *http.Request) bool { return r.Header.Get("HX-Request") == "true" }

// partOf returns the ID of the HTML element that htmx will replace. It returns "" if the
// request is for a whole page.
func partOf(r *http.Request) string {
	if !inPlace(r) {
		return ""
	}
	_, id, _ := strings.Cut(r.Header.Get("HX-Target"), "#")
	return id
}

// current reports whether htmx sent the request from the page whose path equals at.
func (s *site) current(r *http.Request, at string) bool {
	u, err := url.Parse(r.Header.Get("HX-Current-URL"))
	return err == nil && path.Clean("/"+strings.TrimPrefix(u.Path, s.BasePath)) == at
}

// posts returns the attributes of a form. With scripts, the response replaces only the HTML
// element with the ID part. The page of the response must have a fragment with the name part.
// Without scripts, the form works as an ordinary form.
func posts(address, part string) templ.Attributes {
	return templ.Attributes{"method": "post", "action": address, "hx-post": address, "hx-target": "#" + part, "hx-swap": "outerHTML",
		"hx-sync": "drop"} // ignore a second click while a request is running
}
