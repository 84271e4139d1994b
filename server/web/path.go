package web

import (
	"net/http"
	"net/url"
	"strings"
)

// Paths returns a handler that removes the base path and a trailing slash from the request's
// path. Routes match whether or not a proxy has removed the base path. base is empty, or begins
// with a slash and does not end with a slash.
func Paths(next http.Handler, base string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.EscapedPath()
		if base != "" && (path == base || strings.HasPrefix(path, base+"/")) {
			path = path[len(base):]
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
