package web

import (
	"net/http"
	"net/url"
	"strings"
)

// Paths removes the base path and a trailing slash from the path of a request. Routes match
// whether or not a proxy has removed the base path before. base is "" or begins with a slash
// and does not end with one.
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
				http.NotFound(w, r) // impossible: the path was parsed before
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
