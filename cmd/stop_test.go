package cmd

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A request that never ends does not keep the service from ending.
func TestStopDoesNotWaitForever(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	fronts, err := listen(ctx, Config{Host: "127.0.0.1", UIHost: "127.0.0.1", EnableUI: true})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	let := make(chan struct{})
	defer close(let)
	fronts[0].server = httpServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		cancel()
		<-let
	}), log)
	fronts[1].server = httpServer(http.NotFoundHandler(), log)
	ended := make(chan error, 1)
	go func() { ended <- fronts.serve(ctx, log, time.Millisecond) }()
	if answer, err := http.Get(fronts[0].url); err == nil {
		answer.Body.Close()
		t.Errorf("the request that was cut off is answered with %s", answer.Status)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "the API that had not ended within 1ms were cut off") ||
		strings.Contains(err.Error(), "Dashboard") {
		t.Errorf("got %v", err)
	}
}

// The service ends as a whole when one of its ports does.
func TestServeEndsWithEitherPort(t *testing.T) {
	fronts, err := listen(t.Context(), Config{Host: "127.0.0.1", UIHost: "127.0.0.1", EnableUI: true})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	for _, f := range fronts {
		f.server = httpServer(http.NotFoundHandler(), log)
	}
	if err := fronts[1].listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := fronts.serve(t.Context(), log, time.Minute); err == nil {
		t.Error("no error although a port was lost")
	}
	if _, err := http.Get(fronts[0].url); err == nil {
		t.Error("the other port still answers")
	}
}
