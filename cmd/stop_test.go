package cmd

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A request that never ends does not prevent the service from stopping.
func TestStopDoesNotWaitForever(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	servers, err := listen(ctx, Config{Host: "127.0.0.1", UIHost: "127.0.0.1", EnableUI: true})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	let := make(chan struct{})
	defer close(let)
	servers[0].server = httpServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		cancel()
		<-let
	}), log)
	servers[1].server = httpServer(http.NotFoundHandler(), log)
	ended := make(chan error, 1)
	go func() { ended <- servers.serve(ctx, log, time.Millisecond) }()
	if answer, err := http.Get(servers[0].url); err == nil {
		answer.Body.Close()
		t.Errorf("the request that was cut off is answered with %s", answer.Status)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "requests to the API that took longer than 1ms were aborted") ||
		strings.Contains(err.Error(), "Dashboard") {
		t.Errorf("got %v", err)
	}
}

// If one port fails, the whole service stops.
func TestServeEndsWithEitherPort(t *testing.T) {
	servers, err := listen(t.Context(), Config{Host: "127.0.0.1", UIHost: "127.0.0.1", EnableUI: true})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	for _, f := range servers {
		f.server = httpServer(http.NotFoundHandler(), log)
	}
	if err := servers[1].listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := servers.serve(t.Context(), log, time.Minute); err == nil {
		t.Error("no error although a port was lost")
	}
	if _, err := http.Get(servers[0].url); err == nil {
		t.Error("the other port still answers")
	}
}
