// Package server implements the REST API. A handler decodes the request, calls a method of the
// store and writes the response. The store checks all rules.
package server

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"

	"tracker/server/mlflow"
	"tracker/server/wandb"
	"tracker/server/web"
	"tracker/server/web/auth"
	"tracker/store"
	"tracker/store/domain"
)

// Options configures a Server.
type Options struct {
	DB          *store.DB
	Auth        *auth.Auth
	Logger      *slog.Logger
	Metrics     *Metrics
	Version     string
	Site        web.Site   // addresses of the API and the dashboard; MLflow and W&B clients print links to them
	CORSOrigins []string   // origins (scheme://host[:port]) whose pages can call the API
	Hosts       *web.Hosts // accepted host names of requests; nil accepts any name
	// DashboardHosts is like Hosts, for requests to OnDashboard.
	DashboardHosts *web.Hosts
	Proxies        []netip.Prefix   // trusted proxies, whose headers contain the client's address
	Streams        *web.Streams     // limits the number of event streams; nil means at most web.MaxStreams
	Now            func() time.Time // returns the current time; nil means time.Now
	// MLflowProject is the project for MLflow clients, see mlflow.Options.
	MLflowProject string
	// Tables reads a page of the rows of the table that an iteration logged under key, at the last
	// step if step is nil. If Tables is nil, the server has no tables.
	Tables TableReader
}

// TableReader returns a page of a table in the format of the API.
type TableReader func(ctx context.Context, actor domain.Actor, iterationID, key string, step *int64, p domain.Page) (any, error)

// Server serves the routes of the API.
type Server struct {
	db      *store.DB
	auth    *auth.Auth
	log     *slog.Logger
	metrics *Metrics
	version string
	site    web.Site
	now     func() time.Time
	memory  *web.Memory  // limits the memory of request bodies and responses
	handler http.Handler // router with all middleware
	mounted http.Handler // handler for the dashboard's port
	events  *web.Events
	tables  TableReader
}

type route struct {
	method string
	path   string
	handle handler
	query  []string // accepted query parameters; one with a trailing * can be repeated
	open   bool     // whether requests need no token
	stream bool     // whether the request body or response is streamed; the response is never compressed
}

var paged = []string{"limit", "offset"}

// routes returns all routes of the API. A GET route also serves HEAD.
func (s *Server) routes() []route {
	open := func(method, path string, h handler) route {
		return route{method: method, path: path, handle: h, open: true}
	}
	user := func(method, path string, h handler, query ...string) route {
		return route{method: method, path: path, handle: h, query: query}
	}
	stream := func(path string, h handler) route {
		return route{method: "GET", path: path, handle: h, stream: true}
	}
	upload := func(method, path string, h handler) route {
		return route{method: method, path: path, handle: resumable(h), stream: true}
	}
	return []route{
		open("POST", "/auth", s.signIn),
		user("POST", "/auth/refresh", s.refresh),
		user("GET", "/auth/me", s.me),
		open("GET", "/health", s.health),
		open("GET", "/connection", s.connection),
		user("GET", "/openapi.yaml", s.document),
		user("GET", "/openapi.json", s.document),
		user("GET", "/metrics", s.serverMetrics),

		user("GET", "/user", list(s.users), paged...),
		user("POST", "/user", body(s.createUser)),
		user("GET", "/user/{id}", one(s.db.Users.User)),
		user("PATCH", "/user/{id}", update(s.db.Users.UpdateUser)),
		user("DELETE", "/user/{id}", act(s.db.Users.DeleteUser)),
		user("GET", "/user/{id}/permissions", below(s.db.Users.UserPermissions), paged...),
		user("GET", "/user/{id}/keys", one(s.db.Users.APIKeys)),
		user("POST", "/user/{id}/keys", body(s.createAPIKey)),
		user("DELETE", "/user/{id}/keys/{key_id}", s.deleteAPIKey),

		user("GET", "/userpermission/user/{user_id}/project/{project_id}", s.userPermission),
		user("POST", "/userpermission/user/{user_id}/project/{project_id}", s.createUserPermission),
		user("PATCH", "/userpermission/{id}", update(s.db.Users.UpdateUserPermission)),
		user("DELETE", "/userpermission/{id}", act(s.db.Users.DeleteUserPermission)),

		user("GET", "/project", list(s.projects), "limit", "offset", "name", "given"),
		user("POST", "/project", body(s.createProject)),
		user("GET", "/project/{id}", one(s.db.Projects.Project)),
		user("PATCH", "/project/{id}", update(s.db.Projects.UpdateProject)),
		user("DELETE", "/project/{id}", act(s.db.Projects.DeleteProject)),
		user("GET", "/project/{id}/members", below(s.db.Users.ProjectMembers), paged...),
		user("POST", "/project/{id}/members", body(s.shareProject)),
		user("GET", "/project/{id}/records", below(s.db.Archive.Records), paged...),
		stream("/project/{id}/archive", s.exportProject),
		{method: "POST", path: "/project/{id}/archive", handle: s.exportRecords, stream: true},
		{method: "POST", path: "/archive", handle: s.importArchive, stream: true},
		{method: "PATCH", path: "/archive", handle: s.importArchivePart, query: []string{"upload"}, stream: true},
		user("GET", "/project/{id}/model", list(s.projectModels), "limit", "offset", "name"),

		user("GET", "/experiment/project/{project_id}", list(s.experiments), "limit", "offset", "name", "status"),
		user("POST", "/experiment/project/{project_id}", create("experiment", s.db.Projects.CreateExperiment)),
		user("GET", "/experiment/{id}", one(s.db.Projects.Experiment)),
		user("PATCH", "/experiment/{id}", update(s.db.Projects.UpdateExperiment)),
		user("DELETE", "/experiment/{id}", act(s.db.Projects.DeleteExperiment)),
		user("GET", "/experiment/{id}/keys", list(s.experimentKeys), "limit", "offset", "q", "kind"),
		stream("/experiment/{id}/events", s.experimentEvents),

		user("GET", "/iteration/experiment/{experiment_id}", s.iterations,
			"limit", "offset", "filter", "sort", "columns"),
		user("POST", "/iteration/experiment/{experiment_id}", s.createIteration, "parent_iteration_id"),
		user("GET", "/iteration/{id}", one(s.db.Runs.Iteration)),
		user("PATCH", "/iteration/{id}", update(s.db.Runs.UpdateIteration)),
		user("DELETE", "/iteration/{id}", act(s.db.Runs.DeleteIteration)),
		user("GET", "/iteration/{id}/children", below(s.db.Runs.IterationChildren), paged...),
		stream("/iteration/{id}/events", s.iterationEvents),
		user("GET", "/iteration/{id}/summary", s.summary),
		user("GET", "/iteration/{id}/diagnosis", s.diagnosis),
		user("GET", "/iteration/{id}/table", s.table, "key", "step", "limit", "offset"),
		user("GET", "/iteration/{id}/difference/{other}", s.difference),
		user("GET", "/iteration/{id}/snapshot", one(s.db.Runs.Snapshot)),
		user("POST", "/iteration/{id}/snapshot", body(s.createSnapshot)),
		user("POST", "/iteration/{id}/heartbeat", act(s.db.Runs.Heartbeat)),
		user("POST", "/iteration/{id}/stop", act(s.db.Runs.RequestStop)),
		user("GET", "/iteration/{id}/console", s.console, "from", "q"),
		user("POST", "/iteration/{id}/console", body(s.writeConsole)),

		user("GET", "/parameter/iteration/{iteration_id}", below(s.db.Runs.Parameters), paged...),
		user("POST", "/parameter/iteration/{iteration_id}", body(s.createParameter)),
		user("GET", "/parameter/{id}", one(s.db.Runs.Parameter)),
		user("PATCH", "/parameter/{id}", update(s.db.Runs.UpdateParameter)),
		user("DELETE", "/parameter/{id}", act(s.db.Runs.DeleteParameter)),

		user("GET", "/metric/iteration/{iteration_id}", list(s.listMetrics), "limit", "offset", "key"),
		user("POST", "/metric/iteration/{iteration_id}", body(s.createMetric)),
		user("POST", "/metric/iteration/{iteration_id}/batch", body(s.createMetricBatch)),
		user("POST", "/metric/iteration/{iteration_id}/bulk", s.createMetricBulk),
		user("POST", "/metric/iteration/{iteration_id}/rewind", body(s.rewindMetric)),
		user("GET", "/metric/iteration/{iteration_id}/series", s.iterationCurves, "key*", "points", "from", "to", "x", "scale"),
		user("POST", "/series", body(s.curves)),
		user("GET", "/metric/{id}", one(s.db.Runs.Metric)),
		user("PATCH", "/metric/{id}", update(s.db.Runs.UpdateMetric)),
		user("DELETE", "/metric/{id}", act(s.db.Runs.DeleteMetric)),

		user("GET", "/model/project/{project_id}", list(s.models), "limit", "offset", "name", "exact_name"),
		user("POST", "/model/project/{project_id}", create("model", s.db.Models.CreateModel)),
		user("GET", "/model/{id}", one(s.db.Models.Model)),
		user("PATCH", "/model/{id}", update(s.db.Models.UpdateModel)),
		user("DELETE", "/model/{id}", act(s.db.Models.DeleteModel)),
		user("GET", "/model/{id}/production", one(s.db.Models.ProductionVersion)),

		user("GET", "/modelversion/model/{model_id}", list(s.modelVersions), "limit", "offset", "stage"),
		user("POST", "/modelversion/model/{model_id}", create("modelversion", s.db.Models.CreateModelVersion)),
		user("GET", "/modelversion/{id}", one(s.db.Models.ModelVersion)),
		user("PATCH", "/modelversion/{id}", update(s.db.Models.UpdateModelVersion)),
		user("DELETE", "/modelversion/{id}", act(s.db.Models.DeleteModelVersion)),

		user("GET", "/resource/experiment/{experiment_id}", list(s.resources), "limit", "offset", "name", "iteration_id"),
		user("POST", "/resource/experiment/{experiment_id}", s.createArtifact),
		user("GET", "/resource/{id}", one(s.db.Files.Artifact)),
		user("PATCH", "/resource/{id}", s.updateArtifact),
		user("DELETE", "/resource/{id}", act(s.db.Files.DeleteArtifact)),
		stream("/resource/{id}/data", s.resourceData),
		upload("OPTIONS", "/resource/experiment/{experiment_id}/upload", s.uploadOptions),
		upload("POST", "/resource/experiment/{experiment_id}/upload", s.createUpload),
		upload("GET", "/upload/{id}", s.upload),
		upload("PATCH", "/upload/{id}", s.writeUpload),
		upload("DELETE", "/upload/{id}", s.deleteUpload),

		user("GET", "/artifactversion/project/{project_id}", list(s.artifactVersions),
			"limit", "offset", "experiment_id", "type", "name", "alias", "tag", "metadata*"),
		user("GET", "/artifactversion/project/{project_id}/{name}", s.namedArtifactVersion, "experiment_id"),
		user("GET", "/artifactversion/iteration/{iteration_id}", list(s.iterationVersions), "limit", "offset", "role", "type"),
		user("POST", "/artifactversion/iteration/{iteration_id}", body(s.createArtifactVersion)),
		user("POST", "/artifactversion/iteration/{iteration_id}/use", body(s.useArtifactVersion)),
		user("GET", "/artifactversion/{id}", s.artifactVersion),
		user("PATCH", "/artifactversion/{id}", body(s.updateArtifactVersion)),
		user("DELETE", "/artifactversion/{id}", s.deleteArtifactVersion, "aliases"),
		user("GET", "/artifactversion/{id}/files", below(s.db.Collections.Files), paged...),
		user("GET", "/lineage/{kind}/{id}", s.lineage, "depth", "limit"),

		user("GET", "/report/project/{project_id}", below(s.db.Projects.Reports), paged...),
		user("POST", "/report/project/{project_id}", create("report", s.db.Projects.CreateReport)),
		user("GET", "/report/{id}", one(s.db.Projects.Report)),
		user("PATCH", "/report/{id}", update(s.db.Projects.UpdateReport)),
		user("DELETE", "/report/{id}", act(s.db.Projects.DeleteReport)),

		user("GET", "/tag/{kind}/{id}", list(s.tags), paged...),
		user("POST", "/tag/{kind}/{id}", body(s.createTag)),
		user("DELETE", "/tag/{kind}/{id}/{value}", s.deleteTag),

		user("GET", "/trash", list(s.trash), "limit", "offset", "project_id", "kind"),
		user("DELETE", "/trash", s.emptyTrash, "until"),
		user("POST", "/trash/{id}/restore", s.restore),
		user("DELETE", "/trash/{id}", act(s.db.Trash.Purge)),
		user("GET", "/audit", s.audit, "limit", "cursor", "actor", "action", "kind", "record", "since", "until"),
		user("GET", "/property/{kind}/{id}", list(s.properties), paged...),
		user("PATCH", "/property/{kind}/{id}", body(s.setProperties)),
		user("DELETE", "/property/{kind}/{id}/{key}", s.deleteProperty),
	}
}

// New returns a Server. It returns an error if o contains an invalid origin.
func New(o Options) (*Server, error) {
	s := &Server{db: o.DB, auth: o.Auth, log: o.Logger, metrics: o.Metrics,
		memory: web.NewMemory(web.MaxMemory), version: o.Version, site: o.Site, now: o.Now, events: web.NewEvents(o.Streams), tables: o.Tables}
	if s.now == nil {
		s.now = time.Now
	}
	s.metrics.watch(o.DB)
	router, err := s.router()
	if err != nil {
		return nil, err
	}
	clients, err := mlflow.New(mlflow.Options{DB: o.DB, Auth: o.Auth, Memory: s.memory, Project: o.MLflowProject, Site: o.Site})
	if err != nil {
		return nil, err
	}
	wandbClients, err := wandb.New(wandb.Options{DB: o.DB, Auth: o.Auth, Memory: s.memory, Site: o.Site, Taken: s.firstParts()})
	if err != nil {
		return nil, err
	}
	routes := wandbClients.Or(clients.Or(router))
	if s.handler, err = s.protect(web.Paths(routes, o.Site.BasePath), o, o.Hosts); err != nil {
		return nil, err
	}
	onDashboard := web.OnDashboard(web.Paths(routes, o.Site.BasePath, web.APIPath))
	s.mounted, err = s.protect(onDashboard, o, o.DashboardHosts)
	return s, err
}

// protect returns a handler that checks the origin and the host of requests to h, and logs them.
func (s *Server) protect(h http.Handler, o Options, hosts *web.Hosts) (http.Handler, error) {
	h, err := web.CrossOrigin(h, o.CORSOrigins, http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			web.WriteError(w, r, web.CrossOriginError(r, crossOrigin))
		}))
	if err != nil {
		return nil, err
	}
	h = web.AllowOrigins(h, o.CORSOrigins)
	if hosts != nil {
		h = web.CheckHost(h, *hosts, web.WriteError)
	}
	h = web.Log(web.Pace(h), o.Logger, s.metrics.Observe, func(w http.ResponseWriter, r *http.Request) {
		web.WriteError(w, r, web.InfoOf(r).Err)
	})
	return web.TrustProxies(h, o.Proxies), nil
}

// firstParts returns the first segment of each route's path.
func (s *Server) firstParts() map[string]bool {
	parts := map[string]bool{}
	for _, rt := range s.routes() {
		first, _, _ := strings.Cut(rt.path[1:], "/")
		parts[first] = true
	}
	return parts
}

// ServeHTTP handles a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// OnDashboard returns the handler of the API's routes below web.APIPath on the dashboard's port.
// Requests are authenticated like those to the API's own port, never with the dashboard's cookie.
func (s *Server) OnDashboard() http.Handler { return s.mounted }

// EndStreams ends all event streams. http.Server.Shutdown does not end streams.
func (s *Server) EndStreams() { s.events.Close() }

var errNoRoute = domain.Errorf(domain.CodeNotFound, "There is no such path; /openapi.yaml lists all paths.")

const crossOrigin = "Pages of other origins can't write here; add the origin to SERVICE_CORS_ORIGINS to allow it."

func (s *Server) router() (http.Handler, error) {
	// The default compression level takes three times as long, but its responses are only 20 %
	// smaller.
	pack, err := gzhttp.NewWrapper(gzhttp.CompressionLevel(gzip.BestSpeed))
	if err != nil {
		return nil, err
	}
	var routes []web.Route
	for _, rt := range s.routes() {
		var h http.Handler = s.serve(rt)
		if !rt.stream {
			h = pack(h)
		}
		routes = append(routes, web.Route{Method: rt.method, Path: rt.path, Handler: h})
	}
	return web.Router(routes, errNoRoute, web.WriteError), nil
}
