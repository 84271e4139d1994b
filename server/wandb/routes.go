// Package wandb serves the protocol of W&B's clients, so unmodified clients work with this server.
// A handler decodes the request, calls the store, and sends the result in W&B's format. The store
// holds the records and checks all rules. A run that a W&B client logs is stored as an ordinary
// iteration.
//
// The protocol consists of a GraphQL route, the stream of a run (stream.go) and files (file.go).
// graphql.go executes a GraphQL document. query.go and mutation.go contain its fields. Client
// releases often change their documents but rarely the fields in them, so the server resolves each
// field independently of the document.
//
// docs/wandb.md describes how the records of W&B and of the store correspond, and lists unsupported
// features.
package wandb

import (
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"

	"tracker/server/web"
	"tracker/server/web/auth"
	"tracker/store"
	"tracker/store/domain"
)

// Options configures a Server.
type Options struct {
	DB     *store.DB
	Auth   *auth.Auth
	Memory *web.Memory // limits the memory of request bodies and responses
	Site   web.Site    // the links that clients print are redirected to its dashboard
	// Taken holds the first path segments of all other routes. Paths that begin with one of them
	// are never redirected.
	Taken map[string]bool
}

// Server serves the routes of W&B's protocol.
type Server struct {
	db      *store.DB
	auth    *auth.Auth
	memory  *web.Memory
	site    web.Site
	taken   map[string]bool
	handler http.Handler
}

type route struct {
	method string
	path   string
	handle func(*call) error
	link   bool // whether the address can contain credentials
	open   bool // whether requests need no credentials
	stream bool // whether the route streams a file's bytes; the response is never compressed
}

// routes returns all supported routes. A GET route also serves HEAD.
func (s *Server) routes() []route {
	return []route{
		{method: "POST", path: "/graphql", handle: (*call).graphql},
		{method: "POST", path: "/files/{entity}/{project}/{run}/file_stream", handle: (*call).fileStream},
		{method: "PUT", path: "/files/{entity}/{project}/{run}/{name:.+}", handle: (*call).writeFile, link: true, stream: true},
		{method: "GET", path: "/files/{entity}/{project}/{run}/{name:.+}", handle: (*call).readFile, link: true, stream: true},
		{method: "PUT", path: "/artifacts/{artifact}/{name:.+}", handle: (*call).writeArtifactFile, link: true, stream: true},
		{method: "GET", path: "/artifacts/{artifact}/{name:.+}", handle: (*call).readArtifactFile, link: true, stream: true},
		// Clients older than 0.19 omit the project and the collection.
		{method: "GET", path: "/artifactsV2/{region}/{entity}/{artifact}/{md5}", handle: (*call).readArtifactFileByMD5, stream: true},
		{method: "GET", path: "/artifactsV2/{region}/{entity}/{project}/{collection}/{artifact}/{md5}/{name}", handle: (*call).readArtifactFileByMD5, stream: true},
		// Clients send their telemetry to this path.
		{method: "POST", path: "/sdk/otel/{rest:.+}", handle: (*call).telemetry, open: true},
	}
}

// New returns a Server with the given options.
func New(o Options) (*Server, error) {
	s := &Server{db: o.DB, auth: o.Auth, memory: o.Memory, site: o.Site, taken: o.Taken}
	pack, err := gzhttp.NewWrapper()
	if err != nil {
		return nil, err
	}
	var all []web.Route
	for _, rt := range s.routes() {
		h := s.serve(rt)
		if !rt.stream {
			h = pack(h)
		}
		all = append(all, web.Route{Method: rt.method, Path: rt.path, Handler: h})
	}
	s.handler = web.Router(all, domain.Errorf(domain.CodeNotFound, "This server does not have this path; docs/wandb.md lists its paths."), writeError)
	return s, nil
}

// Or returns a handler that serves W&B's protocol and redirects printed links to the dashboard.
// It passes other requests to next.
func (s *Server) Or(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.EscapedPath()
		for _, prefix := range []string{"/graphql", "/files/", "/artifacts/", "/artifactsV2/", "/sdk/"} {
			if path == prefix || strings.HasSuffix(prefix, "/") && strings.HasPrefix(path, prefix) {
				s.handler.ServeHTTP(w, r)
				return
			}
		}
		if target := s.linked(r); target != "" {
			http.Redirect(w, r, target, http.StatusFound)
			return
		}
		next.ServeHTTP(w, r)
	})
}
