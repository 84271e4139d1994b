package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"tracker/server/web"
)

// webServer is the server of either the API or the dashboard.
type webServer struct {
	title    string
	url      string // address for a browser on this machine
	listener net.Listener
	server   *http.Server
}

type webServers []*webServer

// listen opens the API's port. If the dashboard is enabled, it also opens the dashboard's port.
// If listen returns an error, both ports are closed.
func listen(ctx context.Context, cfg Config) (all webServers, err error) {
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

func listenOn(ctx context.Context, cfg Config, title string, h host, p port, hostName, portName string) (*webServer, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(string(h), p.String()))
	if err != nil {
		return nil, listenError(err, h, p, hostName, portName)
	}
	_, chosen, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	limit, _ := connectionLimits(maxFiles())
	url := baseURL(net.JoinHostPort(h.reachable(), chosen), cfg)
	return &webServer{title: title, url: url, listener: web.LimitConnections(l, limit)}, nil
}

// baseURL returns the URL of the server that listens at address.
func baseURL(address string, cfg Config) string {
	return "http://" + address + string(cfg.BasePath)
}

// wsaAddressInUse is the Windows error for EADDRINUSE.
const wsaAddressInUse = syscall.Errno(10048)

func listenError(err error, h host, p port, hostName, portName string) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE), errors.Is(err, wsaAddressInUse):
		return fmt.Errorf("port %d on %s is in use: end the program that uses it, or choose another port with %s (0 for a free one)", p, h, portName)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("this user may not listen on port %d: choose one above 1023 with %s", p, portName)
	}
	return fmt.Errorf("nothing can listen on %s port %d: check %s and %s (%w)", h, p, hostName, portName, err)
}

// untilIdle returns a copy of ctx that ends when neither server has had a request for limit.
func (f webServers) untilIdle(ctx context.Context, use *activity, limit time.Duration) (context.Context, context.CancelFunc) {
	for _, one := range f {
		one.server.Handler = use.watch(one.server.Handler)
	}
	return use.untilIdle(ctx, limit)
}

// httpServer returns a server without time limits for request and response bodies, because uploads
// and event streams can take any time.
func httpServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// serve handles requests until ctx ends. It then waits for requests in progress, at most for
// timeout.
func (f webServers) serve(ctx context.Context, log *slog.Logger, timeout time.Duration) error {
	ended := make(chan error, len(f))
	for _, one := range f {
		go func() { ended <- one.server.Serve(one.listener) }()
	}
	var err error
	select {
	case <-ctx.Done():
		log.Info("stopping", "at_most", timeout.String())
	case err = <-ended:
	}
	return errors.Join(err, f.shutdown(context.WithoutCancel(ctx), timeout))
}

func (f webServers) shutdown(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	results := make(chan error, len(f))
	for _, one := range f {
		go func() {
			err := one.server.Shutdown(ctx)
			if errors.Is(err, context.DeadlineExceeded) {
				one.server.Close() // only closes connections: Shutdown has closed the listener
				err = fmt.Errorf("requests to the %s that took longer than %v were aborted", one.title, timeout)
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

// close closes the listeners.
func (f webServers) close() {
	for _, one := range f {
		one.listener.Close()
	}
}
