// Package ui is the dashboard: pages that are rendered on the server, for the
// same accounts and under the same rules as the API. It decodes, calls one
// method of the store, and renders a view.
package ui

import (
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"tracker/server/auth"
	"tracker/server/middleware"
	"tracker/store"
)

//go:generate go tool templ generate

// Options configure the dashboard.
type Options struct {
	DB             *store.DB
	Auth           *auth.Auth
	Logger         *slog.Logger // nil discards the log
	Version        string
	BasePath       string              // "" or a path that begins with a slash and does not end with one
	APIURL         string              // where people on this machine reach the API, for the lines that empty pages teach
	Document       http.Handler        // serves /openapi.yaml and /openapi.json; nil answers 404 there
	Observe        middleware.Observer // nil is fine
	TrustedOrigins []string            // scheme://host[:port] of other pages that may post here
	Notebooks      bool                // pages of other ports of this machine, such as notebooks, may show these in a frame
	Now            func() time.Time    // nil means time.Now
}

// site answers the routes of the dashboard.
type site struct {
	Options
	assets map[string]asset
	ending chan struct{} // closed when streams should end
}

// Dashboard is the handler of all of it.
type Dashboard struct {
	http.Handler
	end func()
}

// EndStreams ends the answers that would go on for ever; http.Server.Shutdown
// waits for them.
func (d *Dashboard) EndStreams() { d.end() }

type route struct {
	method string
	path   string
	handle handler
}

// routes is the whole dashboard. GET stands for HEAD as well; every other
// method is refused to pages of other origins.
func (s *site) routes() []route {
	return []route{
		{"GET", "/", s.page(s.projects)},
		{"POST", "/", s.page(s.createProject)},
		{"GET", "/project/{id}", s.page(s.project)},
		{"POST", "/project/{id}", s.page(s.createExperiment)},
		{"GET", "/project/{id}/settings", s.page(s.projectSettings)},
		{"POST", "/project/{id}/settings", s.page(s.saveProject)},
		{"GET", "/project/{id}/members", s.page(s.members)},
		{"POST", "/project/{id}/members", s.page(s.changeMember)},
		{"GET", "/experiment/{id}", s.page(s.experiment)},
		{"GET", "/experiment/{id}/settings", s.page(s.experimentSettings)},
		{"POST", "/experiment/{id}/settings", s.page(s.saveExperiment)},
		{"GET", "/iteration/{id}", s.page(s.iteration)},
		{"POST", "/iteration/{id}", s.page(s.editIteration)},
		{"POST", "/iteration/{id}/status", s.page(s.endIteration)},
		{"POST", "/iteration/{id}/tag", s.page(s.tagIteration)},
		{"GET", "/compare", s.page(s.comparison)},
		{"GET", "/change", s.page(s.changes)},
		{"POST", "/change", s.page(s.change)},
		{"GET", "/delete", s.page(s.deletion)},
		{"POST", "/delete", s.page(s.delete)},

		{"GET", "/experiment/{id}/artifacts", s.page(s.artifacts)},
		{"POST", "/experiment/{id}/artifacts", s.signedIn(s.upload)},
		{"GET", "/artifact/{id}", s.page(s.artifact)},
		{"GET", "/artifact/{id}/data", s.page(s.artifactData)},
		{"POST", "/artifact/{id}/delete", s.page(s.deleteArtifact)},
		{"POST", "/artifact/{id}/versions", s.page(s.register)},
		{"GET", "/project/{id}/models", s.page(s.models)},
		{"POST", "/project/{id}/models", s.page(s.createModel)},
		{"GET", "/model/{id}", s.page(s.model)},
		{"POST", "/model/{id}", s.page(s.saveModel)},
		{"POST", "/model/{id}/delete", s.page(s.deleteModel)},
		{"POST", "/modelversion/{id}", s.page(s.saveVersion)},
		{"POST", "/modelversion/{id}/stage", s.page(s.setStage)},

		{"GET", "/login", s.login},
		{"POST", "/login", bounded(maxKept, s.signIn)},
		{"POST", "/logout", bounded(maxForm, s.signOut)},

		{"GET", "/account", s.page(s.account)},
		{"POST", "/account", s.page(s.saveAccount)},
		{"POST", "/account/password", s.page(s.savePassword)},
		{"GET", "/users", s.page(s.users)},
		{"POST", "/users", s.page(s.createUser)},
		{"GET", "/user/{id}", s.page(s.user)},
		{"POST", "/user/{id}", s.page(s.saveUser)},

		{"GET", "/data/find", s.data(s.findData)},
		{"GET", "/data/experiment/{id}/iterations", s.data(s.iterationsData)},
		{"GET", "/data/experiment/{id}/groups", s.data(s.groupsData)},
		{"GET", "/data/experiment/{id}/same", s.data(s.sameData)},
		{"GET", "/data/experiment/{id}/keys", s.data(s.keysData)},
		{"GET", "/data/experiment/{id}/views", s.data(s.viewsData)},
		{"POST", "/data/experiment/{id}/views", s.data(s.createViewData)},
		{"PATCH", "/data/view/{id}", s.data(s.updateViewData)},
		{"DELETE", "/data/view/{id}", s.data(s.deleteViewData)},
		{"POST", "/data/tags", s.data(s.tagData)},
		{"GET", "/data/curves", s.data(s.curvesData)},
		{"POST", "/data/curves", s.data(s.curvesData)},
		{"GET", "/data/compare", s.data(s.comparedData)},
		{"GET", "/data/experiment/{id}/events", s.experimentEvents},
		{"GET", "/data/iteration/{id}/events", s.iterationEvents},
		{"GET", "/data/iteration/{id}/summary", s.data(s.summaryData)},

		{"GET", "/data/experiment/{id}/artifacts", s.data(s.uploadAsked)},
		{"POST", "/data/experiment/{id}/artifacts", s.uploadData},

		{"GET", "/health", s.health},
		{"GET", "/openapi.yaml", s.document},
		{"GET", "/openapi.json", s.document},
		{"GET", "/static/{file}", s.static},
		{"GET", "/client/python{rest:(?:/.*)?}", s.pythonClient},
	}
}

// New returns the handler of the dashboard. It fails when one of the trusted
// origins can't be read.
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
	s := &site{Options: o, assets: assets, ending: make(chan struct{})}
	router, err := s.router()
	if err != nil {
		return nil, err
	}
	h := secure(middleware.Paths(router, o.BasePath), o.policy())
	h = middleware.Log(h, o.Logger, o.Observe, func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, middleware.InfoOf(r).Err)
	})
	return &Dashboard{Handler: h, end: sync.OnceFunc(func() { close(s.ending) })}, nil
}

func (s *site) router() (http.Handler, error) {
	deny := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.fail(w, r, errCrossOrigin) })
	pack, err := gzhttp.NewWrapper()
	if err != nil {
		return nil, err
	}
	var routes []middleware.Route
	for _, rt := range s.routes() {
		h, err := middleware.CrossOrigin(s.serve(rt.handle), s.TrustedOrigins, deny)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(rt.path, "/data/") && !strings.HasSuffix(rt.path, "/events") {
			h = pack(h)
		}
		routes = append(routes, middleware.Route{Method: rt.method, Path: rt.path, Handler: h})
	}
	return middleware.Router(routes, errNoPage, s.fail), nil
}

// serve answers for a handler that fails.
func (s *site) serve(handle handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := handle(w, r); err != nil {
			s.fail(w, r, err)
		}
	})
}

// policy lets a page load nothing but our own files, and nobody frame it but
// pages of the same host, as the proxies of notebooks do, and Notebooks.
func (o *Options) policy() string {
	p := "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
		"media-src 'self'; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'"
	if o.Notebooks {
		p += " http://localhost:* http://127.0.0.1:*"
	}
	return p
}

// secure puts the headers on every answer that keep what a page shows to those
// who asked for it.
func secure(next http.Handler, policy string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cache-Control", "no-store") // static files say otherwise
		next.ServeHTTP(w, r)
	})
}

// health is for the checks of a container: 200 when the database answers.
func (s *site) health(w http.ResponseWriter, r *http.Request) error {
	if err := s.DB.Ping(r.Context()); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Write([]byte("ok\n"))
	return nil
}

// document hands over to the description of the API.
func (s *site) document(w http.ResponseWriter, r *http.Request) error {
	if s.Document == nil {
		return errNoPage
	}
	s.Document.ServeHTTP(w, r)
	return nil
}
