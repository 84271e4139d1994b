// Package mlflow serves the REST protocol of MLflow, so unmodified MLflow clients work with this
// server. A handler decodes the request, calls a method of the store, and sends the result in
// MLflow's format. The store holds the records and checks all rules. A run that an MLflow client
// logs is stored as an ordinary iteration.
//
// routes.go has all routes in one table. docs/mlflow.md describes how the records of MLflow and of
// the store correspond and how they differ.
package mlflow

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"

	"tracker/server/web"
	"tracker/server/web/auth"
	"tracker/store"
	"tracker/store/domain"
)

// DefaultProject is the name of the project for MLflow clients if Options.Project is empty.
const DefaultProject = "MLflow"

// Options configures a Server.
type Options struct {
	DB      *store.DB
	Auth    *auth.Auth
	Memory  *web.Memory // limits the memory of request bodies and responses
	Project string      // project for clients whose address names no project; "" for DefaultProject
	Site    web.Site    // the links that clients print are redirected to its dashboard
}

// Server serves the routes of the MLflow protocol.
type Server struct {
	db      *store.DB
	auth    *auth.Auth
	memory  *web.Memory
	project string
	site    web.Site
	handler http.Handler
}

// New returns a Server with the given options.
func New(o Options) (*Server, error) {
	s := &Server{db: o.DB, auth: o.Auth, memory: o.Memory, project: o.Project, site: o.Site}
	if s.project == "" {
		s.project = DefaultProject
	}
	pack, err := gzhttp.NewWrapper(gzhttp.CompressionLevel(gzip.BestSpeed))
	if err != nil {
		return nil, err
	}
	var all []web.Route
	for _, rt := range s.routes() {
		h := s.serve(rt.handle)
		if !rt.stream {
			h = pack(h)
		}
		all = append(all, web.Route{Method: rt.method, Path: rt.path, Handler: h})
	}
	router := web.Router(all, domain.Errorf(domain.CodeNotFound, ""), s.noRoute)
	s.handler = router
	return s, nil
}

type route struct {
	method string
	path   string
	handle handler
	stream bool // whether the route streams an artifact's bytes; the response is never compressed
}

// routes returns all supported routes. A GET route also serves HEAD.
func (s *Server) routes() []route {
	return slices.Concat(s.trackingRoutes(), s.artifactRoutes(), s.registryRoutes())
}

func (s *Server) trackingRoutes() []route {
	return []route{
		post("experiments/create", with((*call).createExperiment)),
		get("experiments/get", with((*call).experiment)),
		get("experiments/get-by-name", with((*call).experimentByName)),
		post("experiments/search", with((*call).searchExperiments)),
		get("experiments/search", with((*call).searchExperiments)),
		get("experiments/list", with((*call).listExperiments)),
		post("experiments/update", do((*call).updateExperiment)),
		post("experiments/delete", do((*call).deleteExperiment)),
		post("experiments/restore", do((*call).restoreExperiment)),
		post("experiments/set-experiment-tag", do((*call).setExperimentTag)),
		post("experiments/delete-experiment-tag", do((*call).deleteExperimentTag)),

		post("runs/create", with((*call).createRun)),
		get("runs/get", with((*call).run)),
		post("runs/update", with((*call).updateRun)),
		post("runs/delete", do((*call).deleteRun)),
		post("runs/restore", do((*call).restoreRun)),
		post("runs/search", with((*call).searchRuns)),
		post("runs/log-metric", do((*call).logMetric)),
		post("runs/log-parameter", do((*call).logParameter)),
		post("runs/log-batch", do((*call).logBatch)),
		post("runs/set-tag", do((*call).setTag)),
		post("runs/delete-tag", do((*call).deleteTag)),
		post("runs/log-inputs", do((*call).logInputs)),
		post("runs/log-model", do((*call).logModel)),
		get("metrics/get-history", with((*call).metricHistory)),

		{method: "GET", path: "/api/3.0/mlflow/server-info", handle: with((*call).serverInfo)},
	}
}

// api is the path prefix of most routes.
const api = "/api/2.0/mlflow/"

func get(path string, h handler) route   { return route{method: "GET", path: api + path, handle: h} }
func post(path string, h handler) route  { return route{method: "POST", path: api + path, handle: h} }
func patch(path string, h handler) route { return route{method: "PATCH", path: api + path, handle: h} }
func remove(path string, h handler) route {
	return route{method: "DELETE", path: api + path, handle: h}
}

// noRoute sends the error for an unsupported path or method.
func (s *Server) noRoute(w http.ResponseWriter, r *http.Request, err error) {
	if domain.AsError(err).Code != domain.CodeNotFound {
		writeError(w, r, err)
		return
	}
	writeError(w, r, &refusal{http.StatusNotFound, codeNoEndpoint,
		"This server does not have the endpoint " + web.Clip(r.URL.Path) + "; docs/mlflow.md lists its endpoints."})
}

type projectKey struct{}

// Or returns a handler that serves the MLflow protocol and passes other requests to next. The
// protocol's paths begin with /api or /mlflow/{project}/api, where {project} is a name or id. A
// project in the path takes precedence over a workspace.
func (s *Server) Or(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.EscapedPath()
		if rest, ok := strings.CutPrefix(path, "/mlflow/"); ok {
			name, rest, _ := strings.Cut(rest, "/")
			project, err := url.PathUnescape(name)
			if err == nil && project != "" {
				r = r.WithContext(context.WithValue(r.Context(), projectKey{}, project))
				path = "/" + rest
			}
		}
		if s.isLink(r, path) {
			s.link(w, r)
			return
		}
		if !strings.HasPrefix(path, "/api/") {
			next.ServeHTTP(w, r)
			return
		}
		// Clients older than MLflow 2.0 use this prefix for the model registry.
		if rest, ok := strings.CutPrefix(path, "/api/2.0/preview/mlflow/"); ok {
			path = api + rest
		}
		s.handler.ServeHTTP(w, withPath(r, path))
	})
}

// withPath returns a copy of r with the given escaped path.
func withPath(r *http.Request, path string) *http.Request {
	if path == r.URL.EscapedPath() {
		return r
	}
	decoded, err := url.PathUnescape(path)
	if err != nil {
		return r // impossible: net/http has parsed the path
	}
	u := *r.URL
	u.Path, u.RawPath = decoded, path
	r2 := *r
	r2.URL = &u
	return &r2
}
