package middleware

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/mux"

	"tracker/store"
)

// Route is a method on the template of a path. GET stands for HEAD as well.
type Route struct {
	Method  string
	Path    string
	Handler http.Handler
}

// Router finds the handler of a request and notes its route for the log. It
// matches the path first and the method second, so that a known path with a
// wrong method is told what it takes: fail then gets METHOD_NOT_ALLOWED, with
// Allow set, or noPath when no path fits. Variables of the path are as they
// were sent, escaped.
func Router(routes []Route, noPath *store.Error, fail func(http.ResponseWriter, *http.Request, error)) http.Handler {
	router := mux.NewRouter().SkipClean(true).UseEncodedPath()
	router.NotFoundHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fail(w, r, noPath)
	})
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
		router.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			InfoOf(r).Route = path
			if h, ok := methods[r.Method]; ok {
				h.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Allow", allow)
			fail(w, r, store.Errorf(store.CodeMethodNotAllowed, "This path takes %s only.", allow))
		})
	}
	return router
}
