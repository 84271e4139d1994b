package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"tracker/server"
	"tracker/server/web"
	"tracker/server/web/auth"
	"tracker/store"
	"tracker/store/artifact"
	"tracker/store/backup"
	"tracker/store/users"
	"tracker/ui"
	"tracker/ui/preview"
)

const (
	// stopTimeout is the maximum time that requests in progress get after the first interrupt.
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
		Long: `Start the API that training runs log to, and the dashboard. The first lines of output are
their addresses.

The database is created if it does not exist, with the admin "default". Without
SERVICE_ENABLE_AUTH there is no sign-in: everybody who can reach the two ports is the admin.
By default they listen on this machine only. At the first start with sign-in, the admin gets
the password SERVICE_ADMIN_PASSWORD, or a random one that is shown once, unless
"tracker reset-password" has set one. Sign-in needs SERVICE_JWT_SECRET, the secret that signs
the tokens. Keep it in the file .env: if it changes, everybody must sign in again.

Ctrl-C, SIGTERM or SIGHUP stops the server gracefully: requests finish, for up to 30 seconds, and
the write-ahead log is merged into the database file. A second signal ends the server
immediately. In neither case is anything lost that the server has acknowledged.`,
		Example: `  tracker serve
  tracker serve --port 8000 --ui-port 8001 --db-file /srv/tracker/tracker.db
  tracker serve --public-url https://lab.example.com/tracker   # behind a proxy
  ` + keepSecret + `
  tracker serve --enable-auth --host 0.0.0.0 --ui-host 0.0.0.0`,
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
	// gcReserve is the size in bytes of an allocation that is never touched. It uses no physical
	// memory, but the garbage collector counts it when it sets its next goal. With this reserve,
	// `tracker bench --only ingest` writes 13 % more points a second (152,700 instead of 131,900,
	// means of four alternating runs), and the peak memory grows by 7 MB. A larger GOGC gives the
	// same rate, but leaves several times as much garbage after an upload, which has tens of
	// megabytes of buffers.
	gcReserve = 8 << 20
	// gcLimit is the runtime's memory limit in bytes, see debug.SetMemoryLimit.
	gcLimit = 128 << 20
)

// diskReserve is the size in bytes of a file whose space deletions can use when the disk is full.
// It is enough for a few thousand database pages. Half of it is reserved for purging the trash.
const diskReserve = 8 << 20

// serve runs the service until ctx ends.
func (a *app) serve(ctx context.Context, cfg Config) (err error) {
	log := a.logger(cfg)
	reserve := make([]byte, gcReserve)
	defer runtime.KeepAlive(reserve)
	debug.SetMemoryLimit(gcLimit)
	// Open the ports before creating any file, so that no file is left behind if a port is in use.
	servers, err := listen(ctx, cfg)
	if err != nil {
		return err
	}
	defer servers.close()
	metrics := server.NewMetrics()
	db, err := store.Open(ctx, store.Options{
		Path:      cfg.DBFile,
		Exclusive: true,
		Logger:    log,
		OnCommit:  metrics.Commit,
		Backends:  cfg.backends(),
		UploadDir: cfg.uploadDir(),
		MaxUpload: int64(cfg.MaxUpload),
		Reserve:   diskReserve,
		TrashAge:  cfg.TrashDays.duration(),
		AuditAge:  cfg.AuditDays.duration(),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := a.seed(ctx, db, cfg, cfg.EnableAuth); err != nil {
		return err
	}
	backups := cfg.backups(db, log)
	if backups != nil {
		metrics.WatchBackups(backups.Status, time.Now)
	}
	var use activity
	_, limit := connectionLimits(maxFiles())
	streams := web.NewStreams(limit, metrics.Stream)
	if err := servers.build(db, cfg, log, metrics, backups, streams); err != nil {
		return err
	}
	for _, w := range cfg.warnings() {
		a.warn("%s", w)
	}
	for _, f := range servers {
		fmt.Fprintf(a.stdout, "%-10s %s\n", f.title, f.url)
	}
	if cfg.PublicURL != "" {
		fmt.Fprintf(a.stdout, "%-10s %s\n%-10s %s\n", "Public", cfg.PublicURL, "Public API", cfg.PublicURL+web.APIPath)
	}
	defer a.prepareArtifacts(ctx, db, log)()
	defer runInBackground(ctx, backups)()
	if cfg.LogDir != "" {
		defer followInBackground(ctx, db, cfg.LogDir, log)()
	}
	if cfg.IdleExit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = servers.untilIdle(ctx, &use, time.Duration(cfg.IdleExit))
		defer cancel()
	}
	return servers.serve(ctx, log, stopTimeout)
}

// prepareArtifacts starts a background check of the artifact backends. It logs a warning for each
// backend that can't be used, and removes files that a killed server left behind in the backends.
// The check does not delay the start, because metrics do not need an object store. The returned
// function stops the check and waits until it has ended.
func (a *app) prepareArtifacts(ctx context.Context, db *store.DB, log *slog.Logger) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		backends, err := db.UsedBackends(ctx)
		if err != nil && ctx.Err() == nil {
			log.Warn("the artifact backends could not be listed", "error", err)
		}
		for _, name := range backends {
			if err := db.Probe(ctx, name); err != nil {
				if ctx.Err() == nil {
					a.warn("artifacts in %s can't be stored or read now: %v", name, err)
				}
				continue
			}
			n, size, err := db.CollectStaged(ctx, name, artifact.StagedAge)
			if n > 0 {
				log.Info("removed the remains of interrupted uploads", "backend", name, "count", n, "bytes", size)
			}
			if err != nil && ctx.Err() == nil {
				log.Warn("could not remove the remains of interrupted uploads; `tracker artifacts gc` will try again", "backend", name, "error", err)
			}
		}
	})
	return func() {
		cancel()
		done.Wait()
	}
}

// seed creates the default admin if there is none. If the admin has no password, seed sets the one
// from the settings. If the settings have none and needed is true, seed sets a random password and
// prints it.
func (a *app) seed(ctx context.Context, db *store.DB, cfg Config, needed bool) error {
	if cfg.AdminPassword == "" && !needed {
		return db.Users.SeedWithoutPassword(ctx)
	}
	password, err := db.Users.Seed(ctx, cfg.AdminPassword)
	if err != nil || password == "" {
		return err
	}
	fmt.Fprintf(a.stderr, `tracker: the admin "%s" has this password, which is not shown again:

    %s

`, users.DefaultUsername, password)
	return nil
}

// connectionLimits returns the limits for a process that can open the given number of files: the
// maximum number of connections of each port, and of event streams of both ports together.
//
// Two thirds of the files are for connections and for files that connections open. One third is
// for the database. At most half of a port's connections can be streams.
func connectionLimits(files uint64) (connections, streams int) {
	connections = int(min(files/6, web.MaxConnections))
	return connections, connections / 2
}

// build creates the HTTP servers that handle the listeners' connections.
func (f webServers) build(db *store.DB, cfg Config, log *slog.Logger, metrics *server.Metrics, backups *backup.Schedule, streams *web.Streams) error {
	users := auth.New(db, auth.Options{Enabled: cfg.EnableAuth, Secret: cfg.JWTSecret})
	dashboardPort := ""
	if cfg.EnableUI {
		_, dashboardPort, _ = net.SplitHostPort(f[1].listener.Addr().String())
	}
	api, err := server.New(server.Options{
		DB:          db,
		Auth:        users,
		Logger:      log,
		Metrics:     metrics,
		Version:     Version(),
		Site:        web.Site{BasePath: string(cfg.BasePath), Public: string(cfg.PublicURL), DashboardPort: dashboardPort},
		CORSOrigins: cfg.CORSOrigins,
		Hosts:       cfg.hosts(cfg.Host),

		DashboardHosts: cfg.hosts(cfg.UIHost),
		Proxies:        cfg.TrustedProxies,
		Streams:        streams,

		MLflowProject: cfg.MLflowProject,
		Tables:        preview.RowReader(db),
	})
	if err != nil {
		return err
	}
	f[0].server = httpServer(api, log)
	f[0].server.RegisterOnShutdown(api.EndStreams)
	if !cfg.EnableUI {
		return nil
	}
	o := ui.Options{
		DB:             db,
		Auth:           users,
		Logger:         log,
		Version:        Version(),
		BasePath:       string(cfg.BasePath),
		APIURL:         f[0].url,
		PublicURL:      string(cfg.PublicURL),
		Document:       server.Document(),
		Observe:        metrics.Observe,
		TrustedOrigins: cfg.formOrigins(),
		Hosts:          cfg.hosts(cfg.UIHost),
		Proxies:        cfg.TrustedProxies,
		Streams:        streams,
		Notebooks:      !cfg.EnableAuth && cfg.UIHost.loopback(),
	}
	if backups != nil {
		o.Backups = backups.Status
	}
	dashboard, err := ui.New(o)
	if err != nil {
		return err
	}
	f[1].server = httpServer(web.Split(dashboard, api.OnDashboard(), string(cfg.BasePath)), log)
	f[1].server.RegisterOnShutdown(dashboard.EndStreams)
	return nil
}

// hosts returns the host names that a port accepts. If sign-in is enabled, it returns nil,
// which accepts all names.
func (c Config) hosts(bound host) *web.Hosts {
	if c.EnableAuth {
		return nil
	}
	names := append([]string{string(c.Host), string(c.UIHost)}, c.TrustedHosts...)
	for _, origin := range c.formOrigins() {
		_, at, _ := strings.Cut(origin, "://")
		names = append(names, web.HostName(at))
	}
	return new(web.NewHosts(string(bound), names...))
}

// formOrigins returns the origins whose pages may write to the dashboard: the trusted origins, and
// the dashboard's own origin behind a proxy, because a proxy can replace the Host header with which
// the origin is compared otherwise.
func (c Config) formOrigins() []string {
	if c.PublicURL == "" {
		return c.CORSOrigins
	}
	return append(slices.Clone(c.CORSOrigins), c.PublicURL.origin())
}
