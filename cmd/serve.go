package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tracker/server"
	"tracker/server/auth"
	"tracker/store"
	"tracker/ui"
)

const (
	// stopTimeout is how long requests may go on after the first interrupt.
	stopTimeout = 30 * time.Second

	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

func (a *app) serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "serve",
		GroupID: groupServer,
		Short:   "Start the API and the dashboard",
		Long: `Start the API that trainings log to, and the dashboard to look at them. The first lines
of the output say where both are.

The database is made when it is not there, and with it the admin "default", whose
password is SERVICE_ADMIN_PASSWORD or a random one that is shown once. Without
SERVICE_ENABLE_AUTH nobody is asked for it: everybody who can reach the two ports is
the admin. They listen on this machine only, unless you say otherwise.

Ctrl-C, or SIGTERM, stops in good order: requests finish, for up to 30 seconds, and the
database file is whole by itself. A second one ends at once; nothing that was
acknowledged is lost then either.`,
		Example: `  tracker serve
  tracker serve --port 8000 --ui-port 8001 --db-file /srv/tracker/tracker.db
  SERVICE_JWT_SECRET=$(openssl rand -hex 32) tracker serve --enable-auth --host 0.0.0.0 --ui-host 0.0.0.0
  tracker serve --base-path /tracker   # behind a proxy, at https://lab.example.com/tracker`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.load(cmd)
			if err != nil {
				return err
			}
			return a.serve(cmd.Context(), cfg)
		}),
	}
	addSettings(cmd)
	return cmd
}

const (
	// gcReserve is memory in bytes that is never touched, so takes no room, and
	// counts as in use when it is worked out when to collect: the heap, which is
	// small, may grow by so much more. It gives an eighth more points a second; a
	// share of what is in use would do so too, but also let an upload, which has
	// tens of megabytes of buffers, collect as much garbage as several of them.
	gcReserve = 8 << 20
	// gcLimit is the heap in bytes from which it is collected as often as needed.
	gcLimit = 128 << 20
)

// serve runs the service until ctx ends.
func (a *app) serve(ctx context.Context, cfg Config) (err error) {
	log := a.logger(cfg)
	reserve := make([]byte, gcReserve)
	defer runtime.KeepAlive(reserve)
	debug.SetMemoryLimit(gcLimit)
	// The ports come first: a port in use must be known before anything is made.
	fronts, err := listen(ctx, cfg)
	if err != nil {
		return err
	}
	defer fronts.close()
	metrics := server.NewMetrics()
	db, err := store.Open(ctx, store.Options{
		Path:      cfg.DBFile,
		Exclusive: true,
		Logger:    log,
		OnCommit:  metrics.Commit,
		Backends:  cfg.backends(),
		UploadDir: cfg.uploadDir(),
		MaxUpload: int64(cfg.MaxUpload),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := a.seed(ctx, db, cfg); err != nil {
		return err
	}
	if err := fronts.build(db, cfg, log, metrics); err != nil {
		return err
	}
	for _, w := range cfg.warnings() {
		a.warn("%s", w)
	}
	for _, f := range fronts {
		fmt.Fprintf(a.stdout, "%-10s %s\n", f.title, f.url)
	}
	defer a.prepareArtifacts(ctx, db, log)()
	return fronts.serve(ctx, log, stopTimeout)
}

// prepareArtifacts looks, in the background, whether the places for artifacts
// can be used, and warns of those that can't: whoever logs metrics should not
// wait for an object store. It removes what a server that was killed has left
// there. The function that it returns ends it.
func (a *app) prepareArtifacts(ctx context.Context, db *store.DB, log *slog.Logger) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var preparing sync.WaitGroup
	preparing.Go(func() {
		places, err := db.UsedBackends(ctx)
		if err != nil && ctx.Err() == nil {
			log.Warn("the places for artifacts could not be looked up", "error", err)
		}
		for _, name := range places {
			if err := db.Probe(ctx, name); err != nil {
				if ctx.Err() == nil {
					a.warn("artifacts in %s can't be stored or read now: %v", name, err)
				}
				continue
			}
			n, size, err := db.RemoveLeftovers(ctx, name, store.StrayAge)
			if n > 0 {
				log.Info("removed what interrupted uploads had left", "backend", name, "count", n, "bytes", size)
			}
			if err != nil && ctx.Err() == nil {
				log.Warn("what interrupted uploads have left could not be removed; `tracker artifacts gc` tries again", "backend", name, "error", err)
			}
		}
	})
	return func() {
		cancel()
		preparing.Wait()
	}
}

// seed makes the default admin when there is none, and tells its password
// when nobody chose it.
func (a *app) seed(ctx context.Context, db *store.DB, cfg Config) error {
	password, err := db.Seed(ctx, cfg.AdminPassword)
	if err != nil || password == "" {
		return err
	}
	fmt.Fprintf(a.stderr, `tracker: made the admin "%s" with this password, which is not shown again:

    %s

`, store.DefaultUsername, password)
	return nil
}

// front is one of the two servers.
type front struct {
	title    string
	url      string // where a browser on this machine finds it
	listener net.Listener
	server   *http.Server
}

type fronts []*front

// listen takes the ports of the API and, unless it is off, of the dashboard.
func listen(ctx context.Context, cfg Config) (all fronts, err error) {
	defer func() {
		if err != nil {
			all.close()
		}
	}()
	api, err := listenOn(ctx, cfg, "API", cfg.Host, cfg.Port, "SERVICE_HOST", "SERVICE_PORT")
	if err != nil {
		return all, err
	}
	all = append(all, api)
	if !cfg.EnableUI {
		return all, nil
	}
	dashboard, err := listenOn(ctx, cfg, "Dashboard", cfg.UIHost, cfg.UIPort, "SERVICE_UI_HOST", "SERVICE_UI_PORT")
	if err != nil {
		return all, err
	}
	return append(all, dashboard), nil
}

func listenOn(ctx context.Context, cfg Config, title string, h host, p port, hostName, portName string) (*front, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(string(h), p.String()))
	if err != nil {
		return nil, listenError(err, h, p, hostName, portName)
	}
	_, chosen, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	url := baseURL(net.JoinHostPort(h.reachable(), chosen), cfg)
	return &front{title: title, url: url, listener: l}, nil
}

// baseURL is where the service at address begins.
func baseURL(address string, cfg Config) string {
	return "http://" + address + string(cfg.BasePath)
}

// wsaAddressInUse is what Windows says for EADDRINUSE.
const wsaAddressInUse = syscall.Errno(10048)

func listenError(err error, h host, p port, hostName, portName string) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE), errors.Is(err, wsaAddressInUse):
		return fmt.Errorf("port %d on %s is in use: end the program that has it, or choose another one with %s (0 for a free one)", p, h, portName)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("this user may not listen on port %d: choose one above 1023 with %s", p, portName)
	}
	return fmt.Errorf("nothing can listen on %s port %d: check %s and %s (%w)", h, p, hostName, portName, err)
}

// build makes the servers behind the ports.
func (f fronts) build(db *store.DB, cfg Config, log *slog.Logger, metrics *server.Metrics) error {
	users := auth.New(db, auth.Options{Enabled: cfg.EnableAuth, Secret: cfg.JWTSecret})
	api, err := server.New(server.Options{
		DB:          db,
		Auth:        users,
		Logger:      log,
		Metrics:     metrics,
		Version:     Version(),
		BasePath:    string(cfg.BasePath),
		CORSOrigins: cfg.CORSOrigins,
	})
	if err != nil {
		return err
	}
	f[0].server = httpServer(api, log)
	f[0].server.RegisterOnShutdown(api.EndStreams)
	if !cfg.EnableUI {
		return nil
	}
	dashboard, err := ui.New(ui.Options{
		DB:             db,
		Auth:           users,
		Logger:         log,
		Version:        Version(),
		BasePath:       string(cfg.BasePath),
		APIURL:         f[0].url,
		Document:       server.Document(),
		Observe:        metrics.Observe,
		TrustedOrigins: cfg.CORSOrigins,
	})
	if err != nil {
		return err
	}
	f[1].server = httpServer(dashboard, log)
	f[1].server.RegisterOnShutdown(dashboard.EndStreams)
	return nil
}

// httpServer has no timeout for bodies and answers: uploads and streams take
// as long as they take.
func httpServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// serve answers requests until ctx ends, and then finishes those that run, but
// waits for them no longer than patience.
func (f fronts) serve(ctx context.Context, log *slog.Logger, patience time.Duration) error {
	ended := make(chan error, len(f))
	for _, one := range f {
		go func() { ended <- one.server.Serve(one.listener) }()
	}
	var err error
	select {
	case <-ctx.Done():
		log.Info("stopping", "at_most", patience.String())
	case err = <-ended:
	}
	return errors.Join(err, f.shutdown(context.WithoutCancel(ctx), patience))
}

func (f fronts) shutdown(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	results := make(chan error, len(f))
	for _, one := range f {
		go func() {
			err := one.server.Shutdown(ctx)
			if errors.Is(err, context.DeadlineExceeded) {
				one.server.Close() // the listener is closed already
				err = fmt.Errorf("requests to the %s that had not ended within %v were cut off", one.title, patience)
			}
			results <- err
		}()
	}
	var errs []error
	for range f {
		errs = append(errs, <-results)
	}
	return errors.Join(errs...)
}

// close gives the ports back, when there is no server that has done so.
func (f fronts) close() {
	for _, one := range f {
		one.listener.Close()
	}
}
