package ui

import (
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/a-h/templ"
)

// htmxConfig keeps htmx to what the content security policy allows: no styles
// of its own, and nothing asked of other origins. The history is the browser's.
// A script in an attribute would need eval, which the policy forbids.
const htmxConfig = "includeIndicatorCSS:false, mode:same-origin, history:false"

// The parts of every page that follow a change of another part.
const (
	titlePart  = "title"
	crumbsPart = "crumbs"
)

// inPlace reports whether htmx asks, which changes a part of a page.
func inPlace(r *http.Request) bool { return r.Header.Get("HX-Request") == "true" }

// partOf names the part of a page that htmx will replace, by the id of the
// element; "" when the whole page is wanted.
func partOf(r *http.Request) string {
	if !inPlace(r) {
		return ""
	}
	_, id, _ := strings.Cut(r.Header.Get("HX-Target"), "#")
	return id
}

// current reports whether htmx asks from the page at a path.
func (s *site) current(r *http.Request, at string) bool {
	u, err := url.Parse(r.Header.Get("HX-Current-URL"))
	return err == nil && path.Clean("/"+strings.TrimPrefix(u.Path, s.BasePath)) == at
}

// posts are the attributes of a form that works without a script and, with
// one, replaces the element with the id part alone. The page that answers must
// have a fragment of that name.
func posts(address, part string) templ.Attributes {
	return templ.Attributes{"method": "post", "action": address, "hx-post": address, "hx-target": "#" + part, "hx-swap": "outerHTML",
		"hx-sync": "drop"} // a second click while the first is under way
}
