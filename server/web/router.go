// Package web contains HTTP server code that the API and the dashboard share: the router, request
// ids, the request log and base path handling. It checks origins, decodes JSON bodies, sends JSON
// responses, maps error codes to HTTP statuses, and serves event streams and the bytes of
// artifacts.
//
// The package does not depend on routes or on rules of the domain. Package domain defines most
// error codes; this package defines the error codes for HTTP.
package web

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/mux"

	"tracker/store/domain"
)

// Route is a handler for a method and a path template. A GET route also serves HEAD.
type Route struct {
	Method  string
	Path    string
	Handler http.Handler
}

// Router returns a handler that calls the handler of the matching route and records the route for
// the log. It matches the path before the method. If the path matches but the method does not, it
// sets the Allow header and calls fail with METHOD_NOT_ALLOWED. If no path matches, it calls fail
// with noPath.
//
// Path variables stay escaped. The first segment of a route's path must not be a variable,
// because Router selects the candidate routes by this segment.
func Router(routes []Route, noPath *domain.Error, fail func(http.ResponseWriter, *http.Request, error)) http.Handler {
	notFound := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fail(w, r, noPath) })
	routers := map[string]*mux.Router{} // keyed by the first segment of the path
	handlers := map[string]map[string]http.Handler{}
	var paths []string
	for _, rt := range routes {
		if handlers[rt.Path] == nil {
			handlers[rt.Path] = map[string]http.Handler{}
			paths = append(paths, rt.Path)
		}
		handlers[rt.Path][rt.Method] = rt.Handler
		if rt.Method == http.MethodGet {
			handlers[rt.Path][http.MethodHead] = rt.Handler
		}
	}
	for _, path := range paths {
		methods := handlers[path]
		allow := strings.Join(slices.Sorted(maps.Keys(methods)), ", ")
		segment := firstSegment(path)
		if routers[segment] == nil {
			routers[segment] = mux.NewRouter().SkipClean(true).UseEncodedPath()
			routers[segment].NotFoundHandler = notFound
		}
		routers[segment].HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			InfoOf(r).Route = path
			if h, ok := methods[r.Method]; ok {
				h.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Allow", allow)
			fail(w, r, domain.Errorf(CodeMethodNotAllowed, "This path accepts only %s.", allow))
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if router, ok := routers[firstSegment(r.URL.EscapedPath())]; ok {
			router.ServeHTTP(w, r)
			return
		}
		notFound(w, r)
	})
}

// firstSegment returns path up to its second slash, without that slash.
func firstSegment(path string) string {
	if i := strings.IndexByte(path[min(1, len(path)):], '/'); i >= 0 {
		return path[:i+1]
	}
	return path
}
