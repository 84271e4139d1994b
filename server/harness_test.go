package server_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tracker/server"
	"tracker/server/web"
	"tracker/server/web/auth"
	"tracker/store"
	"tracker/store/artifact"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/trash"
	"tracker/store/users"
	"tracker/ui/preview"
)

const (
	password = "correct horse battery"
	secret   = "the secret of these tests, long enough"
	version  = "1.2.3"

	// trashAge is the server's default.
	trashAge = 30 * 24 * time.Hour

	// nowText is the initial time of an api's clock.
	nowText = "2026-11-21T09:30:00.123Z"
	// nobody is a well-formed id that belongs to no record.
	nobody = "01a1fd72-2c13-79ed-97b8-5face34acb11"
)

// clock is a clock that stands still until a test moves it.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// buffer is a log that can be read while it is being written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// setup holds the settings of a server; its zero value requires tokens.
type setup struct {
	open bool   // without authentication
	base string // path prefix
	// onDashboard starts the handler of the dashboard's port, which serves the API below /api
	onDashboard bool
	origins     []string // origins that may call it

	backend   artifact.Backend // storage of artifacts; "" for the database
	maxUpload int64
	noTrash   bool // deletions are final
}

// prefix returns the prefix of the API's paths.
func (s setup) prefix() string {
	if s.onDashboard {
		return s.base + web.APIPath
	}
	return s.base
}

// api is a running server with its own database.
type api struct {
	t testing.TB
	*instance
}

type instance struct {
	setup  setup
	file   string  // path of the database
	bucket *bucket // used by the s3 backend
	clock  *clock
	log    *buffer // request log in JSON
	db     *store.DB
	auth   *auth.Auth
	server *httptest.Server
	// sampleContents is the number of contents of the artifact version that a world has.
	sampleContents int
	*watcher
	root person // the default user, with a token that outlasts any test
}

// person is an account with a token.
type person struct{ id, name, token string }

func (p person) actor() domain.Actor { return domain.Actor{UserID: p.id} }

// start runs a server that requires tokens.
func start(t testing.TB) api {
	t.Helper()
	return startWith(t, setup{})
}

// startWith runs a server until the test ends.
func startWith(t testing.TB, s setup) api {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, nowText)
	if err != nil {
		t.Fatal(err)
	}
	a := api{t: t, instance: &instance{setup: s, clock: &clock{at: at}, log: new(buffer),
		bucket: &bucket{t: t}, file: filepath.Join(t.TempDir(), "tracker.db")}}
	a.open()
	t.Cleanup(a.close)
	u, err := a.db.Users.DefaultUser(t.Context())
	a.must(err)
	a.root = a.person(u, 1000*time.Hour)
	return a
}

func (a api) open() {
	a.t.Helper()
	metrics := server.NewMetrics()
	age := trashAge
	if a.setup.noTrash {
		age = 0
	}
	var err error
	a.db, err = store.Open(a.t.Context(), store.Options{
		Path: a.file, Exclusive: true, Now: a.clock.now, BcryptCost: 4, OnCommit: metrics.Commit,
		Backends: a.backends(), MaxUpload: a.setup.maxUpload, TrashAge: age})
	a.must(err)
	_, err = a.db.Users.Seed(a.t.Context(), password)
	a.must(err)
	a.watcher, err = newWatcher(a.file)
	a.must(err)
	a.auth = auth.New(a.db, auth.Options{Enabled: !a.setup.open, Secret: secret, Now: a.clock.now})
	h, err := server.New(server.Options{
		DB:          a.db,
		Auth:        a.auth,
		Logger:      slog.New(slog.NewJSONHandler(a.log, nil)),
		Metrics:     metrics,
		Version:     version,
		Site:        web.Site{BasePath: a.setup.base},
		CORSOrigins: a.setup.origins,
		Now:         a.clock.now,
		Tables:      preview.RowReader(a.db),
	})
	a.must(err)
	handler := http.Handler(h)
	if a.setup.onDashboard {
		handler = h.OnDashboard()
	}
	a.server = httptest.NewServer(handler)
}

// emptyTrash purges the trash, including the bytes of artifacts.
func (a api) emptyTrash() {
	a.t.Helper()
	a.must(a.db.Trash.Empty(a.t.Context(), domain.System, 0, func(p trash.Purged) {
		if p.Kept {
			a.t.Errorf("%s is kept", p.Trashed)
		}
	}))
	_, err := a.db.Collect(a.t.Context())
	a.must(err)
}

// close stops the server after its last request has been answered and logged.
func (a api) close() {
	a.server.Close()
	if err := errors.Join(a.watcher.Close(), a.db.Close()); err != nil {
		a.t.Error(err)
	}
}

// reopen stops the server and starts another one on the same database file.
func (a api) reopen() {
	a.t.Helper()
	a.close()
	a.open()
}

// on returns the same server with the t of a subtest.
func (a api) on(t *testing.T) api { return api{t, a.instance} }

func (a api) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

func (a api) person(u domain.User, lifetime time.Duration) person {
	a.t.Helper()
	g, err := a.auth.Grant(u, lifetime)
	a.must(err)
	return person{u.ID, u.Username, g.AccessToken}
}

// user creates an account without any rights.
func (a api) user(name string) person { a.t.Helper(); return a.account(name, false) }

// admin creates another admin.
func (a api) admin(name string) person { a.t.Helper(); return a.account(name, true) }

func (a api) account(name string, admin bool) person {
	a.t.Helper()
	created, err := a.db.Users.CreateUser(a.t.Context(), domain.System,
		users.NewUser{Username: name, Password: password, IsAdmin: admin})
	a.must(err)
	u, err := a.db.Users.User(a.t.Context(), domain.System, created.ID)
	a.must(err)
	return a.person(u, auth.Lifetime)
}

// project creates a project in which owner has all permissions.
func (a api) project(owner person) string {
	a.t.Helper()
	created, err := a.db.Projects.CreateProject(a.t.Context(), owner.actor(), domain.NewProject{Name: "iris"})
	a.must(err)
	return created.ID
}

// permit sets the rights of p in the project and returns the id of the permission. rights are
// separated by spaces.
func (a api) permit(p person, project, rights string) string {
	a.t.Helper()
	has := func(name string) *bool { return new(strings.Contains(rights, name)) }
	patch := users.PermissionPatch{Create: has("create"), Read: has("read"), Update: has("update"), Delete: has("delete")}
	old, err := a.db.Users.UserPermission(a.t.Context(), domain.System, p.id, project)
	if err == nil {
		a.must(a.db.Users.UpdateUserPermission(a.t.Context(), domain.System, old.ID, patch))
		return old.ID
	}
	created, err := a.db.Users.CreateUserPermission(a.t.Context(), domain.System, p.id, project, patch)
	a.must(err)
	return created.ID
}

// experiment creates an experiment that is in progress.
func (a api) experiment(project string) string {
	a.t.Helper()
	created, err := a.db.Projects.CreateExperiment(a.t.Context(), domain.System, project, projects.NewExperiment{Name: "sweep"})
	a.must(err)
	return created.ID
}

// iteration creates an iteration that is running.
func (a api) iteration(experiment string) string {
	a.t.Helper()
	created, err := a.db.Runs.CreateIteration(a.t.Context(), domain.System, experiment, runs.NewIteration{Name: new("run")})
	a.must(err)
	return created.ID
}

// running creates an iteration in a new project and experiment.
func (a api) running() string {
	a.t.Helper()
	return a.iteration(a.experiment(a.project(a.root)))
}

// end ends an iteration.
func (a api) end(iteration string) {
	a.t.Helper()
	a.must(a.db.Runs.UpdateIteration(a.t.Context(), domain.System, iteration,
		runs.IterationPatch{Status: new(domain.Succeeded)}))
}

// parameter sets a parameter of an iteration.
func (a api) parameter(iteration, key, value string) string {
	a.t.Helper()
	created, err := a.db.Runs.CreateParameter(a.t.Context(), domain.System, iteration, key, scalar.Text(value))
	a.must(err)
	return created.ID
}

// metric records a point at the next step of a series.
func (a api) metric(iteration, key string, value float64) string {
	a.t.Helper()
	created, err := a.db.Runs.CreateMetric(a.t.Context(), domain.System, iteration,
		points.Sample{Key: key, Value: scalar.Value(value)})
	a.must(err)
	return created.ID
}

// model creates a model without versions.
func (a api) model(project, name string) string {
	a.t.Helper()
	created, err := a.db.Models.CreateModel(a.t.Context(), a.root.actor(), project, registry.NewModel{Name: name})
	a.must(err)
	return created.ID
}

// version creates a version that names iteration as its origin.
func (a api) version(model, iteration string) string {
	a.t.Helper()
	created, err := a.db.Models.CreateModelVersion(a.t.Context(), a.root.actor(), model, registry.NewModelVersion{IterationID: iteration})
	a.must(err)
	return created.ID
}

// promote moves a version to a stage.
func (a api) promote(version string, to registry.Stage) {
	a.t.Helper()
	a.must(a.db.Models.UpdateModelVersion(a.t.Context(), domain.System, version, registry.ModelVersionPatch{Stage: &to}))
}

// tag attaches a tag to a record.
func (a api) tag(kind runs.TagKind, id, value string) string {
	a.t.Helper()
	created, err := a.db.Runs.CreateTag(a.t.Context(), domain.System, kind, id, value)
	a.must(err)
	return created.ID
}
