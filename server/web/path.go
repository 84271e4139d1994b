package web

import (
	"net/http"
	"net/url"
	"strings"
)

// Paths returns a handler that removes the prefixes, in their order, and a trailing slash from the
// request's path. Routes match whether or not a proxy has removed a prefix. Each prefix is empty,
// or begins with a slash and does not end with a slash.
func Paths(next http.Handler, prefixes ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.EscapedPath()
		for _, prefix := range prefixes {
			if isBelow(path, prefix) {
				path = path[len(prefix):]
			}
		}
		if len(path) > 1 && strings.HasSuffix(path, "/") {
			path = path[:len(path)-1]
		}
		if path == "" {
			path = "/"
		}
		if path != r.URL.EscapedPath() {
			decoded, err := url.PathUnescape(path)
			if err != nil {
				http.NotFound(w, r) // impossible: net/http has parsed the path
				return
			}
			u := *r.URL
			u.Path, u.RawPath = decoded, path
			r2 := *r
			r2.URL = &u
			r = &r2
		}
		next.ServeHTTP(w, r)
	})
}

// isBelow reports whether path is prefix or a path below it.
func isBelow(path, prefix string) bool {
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (rest == "" || rest[0] == '/')
}

// Split returns a handler for the dashboard's port. It passes requests for APIPath and the paths
// below it to api, and other requests to dashboard. Both remove the base path themselves.
func Split(dashboard, api http.Handler, base string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.EscapedPath()
		if isBelow(path, base) {
			path = path[len(base):]
		}
		if isBelow(path, APIPath) {
			api.ServeHTTP(w, r)
			return
		}
		dashboard.ServeHTTP(w, r)
	})
}
