package ui

import (
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/a-h/templ"
)

// htmxConfig restricts htmx to the content security policy: it adds no styles and requests nothing
// from other origins. The history is left to the browser. Scripts in attributes would need eval,
// which the policy forbids.
const htmxConfig = "includeIndicatorCSS:false, mode:same-origin, history:false"

// The parts of every page that are updated with a change of another part.
const (
	titlePart  = "title"
	crumbsPart = "crumbs"
)

// inPlace reports whether the request comes from htmx, which changes a part of
// a page.
func inPlace(r *http.Request) bool { return r.Header.Get("HX-Request") == "true" }

// partOf returns the id of the element that htmx will replace, "" if the whole
// page is wanted.
func partOf(r *http.Request) string {
	if !inPlace(r) {
		return ""
	}
	_, id, _ := strings.Cut(r.Header.Get("HX-Target"), "#")
	return id
}

// current reports whether htmx sends the request from the page at a path.
func (s *site) current(r *http.Request, at string) bool {
	u, err := url.Parse(r.Header.Get("HX-Current-URL"))
	return err == nil && path.Clean("/"+strings.TrimPrefix(u.Path, s.BasePath)) == at
}

// posts returns the attributes of a form that works without scripts and that replaces only the
// element with the id part if scripts run. The page of the answer must have a fragment with that
// name.
func posts(address, part string) templ.Attributes {
	return templ.Attributes{"method": "post", "action": address, "hx-post": address, "hx-target": "#" + part, "hx-swap": "outerHTML",
		"hx-sync": "drop"} // a second click while the first is under way
}
