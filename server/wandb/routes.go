// Package wandb serves the protocol of W&B's clients, so that they work with this
// server unchanged. A handler decodes the request, calls the store, and answers in
// W&B's format. The store holds the records and checks all rules; a run that such a
// client logs is an ordinary iteration.
//
// The protocol consists of one route for GraphQL (graphql.go reads a document, query.go
// and mutation.go have its fields), the stream of a run (stream.go), and files
// (file.go). Documents change with each release of a client but their fields hardly do,
// so fields are answered one by one, whatever the document. docs/wandb.md describes how
// the records of W&B and the store correspond, and the unsupported parts.
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

// Options configure a Server.
type Options struct {
	DB       *store.DB
	Auth     *auth.Auth
	Memory   *web.Memory // bounds bodies and answers
	BasePath string      // prefix of all paths, "" or one that begins with a slash

	// DashboardPort is the port of the dashboard, to which links that clients print are
	// redirected; "" if the dashboard is not served. Taken holds the first segments of
	// paths that are not such links.
	DashboardPort string
	Taken         map[string]bool
}

// Server serves the routes of the protocol.
type Server struct {
	db       *store.DB
	auth     *auth.Auth
	memory   *web.Memory
	basePath string
	handler  http.Handler

	dashboardPort string
	taken         map[string]bool
}

type route struct {
	method string
	path   string
	handle func(*call) error
	link   bool // the address may contain credentials
	open   bool // needs no credentials
	stream bool // sends or reads the bytes of a file; the answer is never compressed
}

// routes returns the supported routes of the protocol. GET also serves HEAD.
func (s *Server) routes() []route {
	return []route{
		{method: "POST", path: "/graphql", handle: (*call).graphql},
		{method: "POST", path: "/files/{entity}/{project}/{run}/file_stream", handle: (*call).fileStream},
		{method: "PUT", path: "/files/{entity}/{project}/{run}/{name:.+}", handle: (*call).writeFile, link: true, stream: true},
		{method: "GET", path: "/files/{entity}/{project}/{run}/{name:.+}", handle: (*call).readFile, link: true, stream: true},
		{method: "PUT", path: "/artifacts/{artifact}/{name:.+}", handle: (*call).writeArtifactFile, link: true, stream: true},
		{method: "GET", path: "/artifacts/{artifact}/{name:.+}", handle: (*call).readArtifactFile, link: true, stream: true},
		// Clients before 0.19 send requests without the project and the collection.
		{method: "GET", path: "/artifactsV2/{region}/{entity}/{artifact}/{md5}", handle: (*call).readArtifactFileByMD5, stream: true},
		{method: "GET", path: "/artifactsV2/{region}/{entity}/{project}/{collection}/{artifact}/{md5}/{name}", handle: (*call).readArtifactFileByMD5, stream: true},
		// Clients send telemetry here.
		{method: "POST", path: "/sdk/otel/{rest:.+}", handle: (*call).telemetry, open: true},
	}
}

// New returns a Server.
func New(o Options) (*Server, error) {
	s := &Server{db: o.DB, auth: o.Auth, memory: o.Memory, basePath: o.BasePath,
		dashboardPort: o.DashboardPort, taken: o.Taken}
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

// Or returns a handler that serves requests of the protocol, and passes all others to
// next.
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
