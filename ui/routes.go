// Package ui is the dashboard. The server renders the pages of the dashboard. Accounts and
// permissions are the same as in the API. A handler decodes the request, calls a method of the
// store, and renders a view.
package ui

import (
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"tracker/server/web"
	"tracker/server/web/auth"
	"tracker/store"
	"tracker/store/backup"
	"tracker/ui/datatable"
)

//go:generate go tool templ generate
//go:generate go run ./bundle

// Options holds the configuration of the dashboard.
type Options struct {
	DB             *store.DB
	Auth           *auth.Auth
	Logger         *slog.Logger // if nil, log messages are discarded
	Version        string
	BasePath       string               // "" or a path that begins with a slash and does not end with one
	APIURL         string               // URL of the API's port on this machine, shown in commands
	PublicURL      string               // URL of the dashboard behind a proxy, used in commands instead of the request's; "" if not configured
	Document       http.Handler         // handler of /openapi.yaml and /openapi.json; if nil, both return 404
	Observe        web.Observer         // can be nil
	Hosts          *web.Hosts           // allowed host names in requests; nil allows any
	Proxies        []netip.Prefix       // proxies trusted to report the client's address
	TrustedOrigins []string             // scheme://host[:port] of other sites whose pages are allowed to post to the dashboard
	Notebooks      bool                 // whether pages on other ports of this machine can show the dashboard in a frame
	Backups        func() backup.Status // state of the backups; nil without a backup schedule
	Streams        *web.Streams         // limit on event streams; nil means web.MaxStreams
	Now            func() time.Time     // current time; nil means time.Now
}

// site implements the handlers of the dashboard.
type site struct {
	Options
	assets assets

	memory    *web.Memory // memory budget of requests from signed-in users
	strangers *web.Memory // memory budget of requests that are not signed in
	events    *web.Events
	tables    *datatable.Cache
}

// Dashboard is the HTTP handler of the dashboard.
type Dashboard struct {
	http.Handler
	end func()
}

// EndStreams ends all event streams. The method http.Server.Shutdown does not end them.
func (d *Dashboard) EndStreams() { d.end() }

type route struct {
	method string
	path   string
	handle handler
}

// routes returns all routes of the dashboard. GET routes also accept HEAD. A request with any other
// method is rejected if it comes from a page of another origin.
func (s *site) routes() []route {
	return []route{
		{"GET", "/", s.page(s.projects)},
		{"POST", "/", s.posted(s.createProject)},
		{"POST", "/seen", s.posted(s.markSeen)},
		{"GET", "/project/{id}", s.page(s.project)},
		{"POST", "/project/{id}", s.posted(s.createExperiment)},
		{"GET", "/project/{id}/reports", s.page(s.reports)},
		{"POST", "/project/{id}/reports", s.posted(s.createReport)},
		{"GET", "/report/{id}", s.page(s.report)},
		{"POST", "/report/{id}", s.posted(s.saveReport)},
		{"POST", "/report/{id}/block", s.posted(s.editBlock)},
		{"POST", "/report/{id}/delete", s.page(s.deleteReport)},
		{"GET", "/report/{id}/picture/{picture}", s.page(s.reportPicture)},
		{"GET", "/report/{id}/export", s.page(s.exportReport)},
		{"GET", "/project/{id}/runs", s.page(s.projectRuns)},
		{"GET", "/project/{id}/archive", s.page(s.exportProject)},
		{"GET", "/experiment/{id}/archive", s.page(s.exportExperiment)},
		{"GET", "/archive", s.page(s.exportRuns)},
		{"GET", "/import", s.page(s.imports)},
		{"POST", "/import", s.signedIn(s.importArchive)},
		{"GET", "/project/{id}/settings", s.page(s.projectSettings)},
		{"POST", "/project/{id}/settings", s.posted(s.saveProject)},
		{"GET", "/project/{id}/members", s.page(s.members)},
		{"POST", "/project/{id}/members", s.posted(s.changeMember)},
		{"GET", "/experiment/{id}", s.page(s.experiment)},
		{"GET", "/experiment/{id}/runs.csv", s.page(s.runsCSV)},
		{"GET", "/experiment/{id}/runs.tex", s.page(s.runsLaTeX)},
		{"GET", "/experiment/{id}/runs.md", s.page(s.runsMarkdown)},
		{"GET", "/experiment/{id}/importance", s.page(s.importance)},
		{"GET", "/experiment/{id}/failures", s.page(s.failures)},
		{"GET", "/experiment/{id}/change", s.page(s.allChanges)},
		{"POST", "/experiment/{id}/change", s.posted(s.changeAll)},
		{"GET", "/experiment/{id}/settings", s.page(s.experimentSettings)},
		{"POST", "/experiment/{id}/settings", s.posted(s.saveExperiment)},
		{"GET", "/iteration/{id}", s.page(s.iteration)},
		{"GET", "/experiment/{id}/sweeps", s.page(s.sweeps)},
		{"GET", "/sweep/{id}", s.page(s.sweep)},
		{"POST", "/sweep/{id}", s.posted(s.changeSweep)},
		{"GET", "/wandb/{project}", s.page(s.wandbLink)},
		{"GET", "/wandb/{project}/{run}", s.page(s.wandbLink)},
		{"GET", "/iteration/{id}/console", s.page(s.consoleText)},
		{"POST", "/iteration/{id}", s.page(s.editIteration)},
		{"POST", "/iteration/{id}/stop", s.page(s.stopIteration)},
		{"POST", "/iteration/{id}/status", s.page(s.endIteration)},
		{"POST", "/iteration/{id}/tag", s.page(s.tagIteration)},
		{"GET", "/compare", s.page(s.comparison)},
		{"GET", "/compare.tex", s.page(s.comparisonLaTeX)},
		{"GET", "/compare.md", s.page(s.comparisonMarkdown)},
		{"GET", "/compare.csv", s.page(s.comparisonCSV)},
		{"GET", "/iteration/{id}/best", s.page(s.compareWithBest)},
		{"GET", "/change", s.page(s.changes)},
		{"POST", "/change", s.page(s.change)},
		{"GET", "/delete", s.page(s.deletion)},
		{"POST", "/delete", s.page(s.delete)},
		{"GET", "/trash", s.page(s.trash)},
		{"POST", "/trash", s.posted(s.changeTrash)},

		{"GET", "/experiment/{id}/artifacts", s.page(s.artifacts)},
		{"POST", "/experiment/{id}/artifacts", s.signedIn(s.upload)},
		{"GET", "/artifact/{id}", s.page(s.artifact)},
		{"GET", "/artifact/{id}/data", s.page(s.artifactData)},
		{"GET", "/artifact/{id}/frame", s.page(s.artifactFrame)},
		{"GET", "/artifact/{id}/table", s.page(s.loggedTable)},
		{"GET", "/artifact/{id}/table.csv", s.page(s.tableCSV)},
		{"GET", "/artifact/{id}/table.parquet", s.page(s.tableParquet)},
		{"POST", "/artifact/{id}/delete", s.page(s.deleteArtifact)},
		{"POST", "/artifact/{id}/versions", s.posted(s.register)},
		{"GET", "/experiment/{id}/collections", s.page(s.experimentCollections)},
		{"GET", "/project/{id}/collections", s.page(s.projectCollections)},
		{"GET", "/collection/{id}", s.page(s.collection)},
		{"POST", "/collection/{id}", s.posted(s.saveCollection)},
		{"POST", "/collection/{id}/delete", s.page(s.deleteCollection)},
		{"GET", "/lineage/{kind}/{id}", s.page(s.lineagePage)},
		{"GET", "/project/{id}/models", s.page(s.models)},
		{"POST", "/project/{id}/models", s.posted(s.createModel)},
		{"GET", "/model/{id}", s.page(s.model)},
		{"POST", "/model/{id}", s.posted(s.saveModel)},
		{"POST", "/model/{id}/delete", s.page(s.deleteModel)},
		{"POST", "/modelversion/{id}", s.posted(s.saveVersion)},
		{"POST", "/modelversion/{id}/stage", s.posted(s.setStage)},

		{"GET", "/login", s.login},
		{"POST", "/login", s.fromStranger(s.signIn)},
		{"POST", "/logout", bounded(maxForm, s.signOut)},

		{"GET", "/account", s.page(s.account)},
		{"POST", "/account", s.posted(s.saveAccount)},
		{"POST", "/account/password", s.posted(s.savePassword)},
		{"POST", "/account/keys", s.posted(s.saveKey)},
		{"POST", "/user/{id}/keys", s.posted(s.saveUserKey)},
		{"GET", "/users", s.page(s.users)},
		{"POST", "/users", s.posted(s.createUser)},
		{"GET", "/user/{id}", s.page(s.user)},
		{"POST", "/user/{id}", s.posted(s.saveUser)},
		{"GET", "/server", s.page(s.server)},
		{"GET", "/audit", s.page(s.auditTrail)},

		{"GET", "/data/find", s.data(s.findData)},
		{"GET", "/data/experiment/{id}/iterations", s.viewed(s.iterationsData)},
		{"GET", "/data/experiment/{id}/best", s.viewed(s.bestData)},
		{"GET", "/data/experiment/{id}/analysis", s.data(s.analysisData)},
		{"GET", "/data/experiment/{id}/columns", s.viewed(s.columnsData)},
		{"GET", "/data/experiment/{id}/panel", s.viewed(s.panelData)},
		{"GET", "/data/experiment/{id}/front", s.viewed(s.frontData)},
		{"GET", "/data/experiment/{id}/groups", s.viewed(s.groupsData)},
		{"GET", "/data/experiment/{id}/same", s.data(s.sameData)},
		{"GET", "/data/experiment/{id}/varying", s.viewed(s.varyingData)},
		{"GET", "/data/experiment/{id}/keys", s.data(s.keysData)},
		{"GET", "/data/experiment/{id}/values", s.viewed(s.valuesData)},
		{"GET", "/data/experiment/{id}/views", s.data(s.viewsData)},
		{"POST", "/data/experiment/{id}/views", s.data(s.createViewData)},
		{"GET", "/data/experiment/{id}/reports", s.viewed(s.reportsData)},
		{"POST", "/data/experiment/{id}/reports", s.data(s.createReportData)},
		{"POST", "/data/report/{id}/items", s.data(s.addItemData)},
		{"GET", "/data/view/{id}", s.viewed(s.viewData)},
		{"POST", "/data/markdown", s.data(s.textData)},
		{"PATCH", "/data/view/{id}", s.data(s.updateViewData)},
		{"DELETE", "/data/view/{id}", s.data(s.deleteViewData)},
		{"POST", "/data/tags", s.data(s.tagData)},
		{"GET", "/data/curves", s.data(s.curvesData)},
		{"POST", "/data/curves", s.data(s.curvesData)},
		{"GET", "/data/compare", s.viewed(s.comparedData)},
		{"POST", "/data/media", s.data(s.mediaData)},
		{"POST", "/data/histograms", s.data(s.heatData)},
		{"GET", "/data/events", s.changesEvents},
		{"GET", "/data/iteration/{id}/summary", s.data(s.summaryData)},
		{"GET", "/data/iteration/{id}/console", s.data(s.consoleData)},

		{"GET", "/data/experiment/{id}/artifacts", s.data(s.uploadAsked)},
		{"POST", "/data/experiment/{id}/artifacts", s.uploadData},

		{"GET", "/health", s.health},
		{"GET", "/openapi.yaml", s.document},
		{"GET", "/openapi.json", s.document},
		{"GET", "/static/{file}", s.static},
		{"GET", "/client/python{rest:(?:/.*)?}", s.pythonClient},
	}
}

// New returns the handler of the dashboard. It returns an error if a trusted origin is invalid.
func New(o Options) (*Dashboard, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	assets, err := loadAssets()
	if err != nil {
		return nil, err
	}
	s := &site{Options: o, assets: assets, events: web.NewEvents(o.Streams),
		memory: web.NewMemory(web.MaxMemory), strangers: web.NewMemory(maxStrangers), tables: datatable.NewCache(tableCacheBytes)}
	router, err := s.router()
	if err != nil {
		return nil, err
	}
	h := web.Paths(router, o.BasePath)
	if o.Hosts != nil {
		h = web.CheckHost(h, *o.Hosts, s.fail)
	}
	h = secure(h, o.policy(), o.BasePath+web.APIPath)
	h = web.Log(web.Pace(h), o.Logger, o.Observe, func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, web.InfoOf(r).Err)
	})
	h = web.TrustProxies(h, o.Proxies)
	return &Dashboard{Handler: h, end: s.events.Close}, nil
}

func (s *site) router() (http.Handler, error) {
	deny := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.fail(w, r, web.CrossOriginError(r, crossOrigin)) })
	pack, err := gzhttp.NewWrapper()
	if err != nil {
		return nil, err
	}
	var routes []web.Route
	for _, rt := range s.routes() {
		h, err := web.CrossOrigin(s.serve(rt.handle), s.TrustedOrigins, deny)
		if err != nil {
			return nil, err
		}
		if (strings.HasPrefix(rt.path, "/data/") || strings.HasPrefix(rt.path, "/static/")) && !strings.HasSuffix(rt.path, "/events") {
			h = pack(h)
		}
		routes = append(routes, web.Route{Method: rt.method, Path: rt.path, Handler: h})
	}
	return web.Router(routes, errNoPage, s.fail), nil
}

// serve returns an http.Handler that calls handle and shows an error page if handle returns an
// error.
func (s *site) serve(handle handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := handle(w, r); err != nil {
			s.fail(w, r, err)
		}
	})
}

// policy returns the content security policy. A page loads only files of the dashboard. Only
// pages on the same host, for example notebook proxies, can show the dashboard in a frame. If
// Notebooks is true, pages on other ports of this machine can also show the dashboard in a
// frame.
func (o *Options) policy() string {
	p := "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self' data:; " +
		"media-src 'self'; frame-src 'self'; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'"
	if o.Notebooks {
		p += " http://localhost:* http://127.0.0.1:*"
	}
	return p
}

// secure sets the security headers of each response. It also sets the header web.APIHeader to the path
// of the API on this port. Clients that were given the address of the dashboard use this path.
func secure(next http.Handler, policy, api string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set(web.APIHeader, api)
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cache-Control", "no-store") // static files set a different value
		next.ServeHTTP(w, r)
	})
}

// health responds to health checks of a container. The status is 200 if the database is
// available.
func (s *site) health(w http.ResponseWriter, r *http.Request) error {
	if err := s.DB.Ping(r.Context()); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Write([]byte("ok\n"))
	return nil
}

// document responds with the description of the API.
func (s *site) document(w http.ResponseWriter, r *http.Request) error {
	if s.Document == nil {
		return errNoPage
	}
	s.Document.ServeHTTP(w, r)
	return nil
}
