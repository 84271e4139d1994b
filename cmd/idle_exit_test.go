//go:build unix

package cmd

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// TestServiceIsIdle uses a simulated clock.
func TestServiceIsIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var use activity
		stream := make(chan struct{}) // a slow response
		h := use.watch(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/events" {
				<-stream
			}
		}))
		ctx, cancel := use.untilIdle(t.Context(), 30*time.Minute)
		defer cancel()
		ask := func(path string) { h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil)) }
		after := func(d time.Duration, ended bool, why string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if (ctx.Err() != nil) != ended {
				t.Fatalf("%s: ended is %t", why, !ended)
			}
		}
		after(29*time.Minute, false, "shortly after the start")
		ask("/health")
		after(29*time.Minute, false, "29 minutes after a request")
		go ask("/events")
		after(48*time.Hour, false, "while a request goes on")
		use.add(1) // an event stream that is still open
		close(stream)
		after(48*time.Hour, false, "while an event stream is open")
		use.add(-1)
		after(29*time.Minute, false, "29 minutes after the end of the stream")
		after(2*time.Minute, true, "31 minutes after the end of the stream")
	})
}

func TestIdleServerEndsInGoodOrder(t *testing.T) {
	p := startServer(t, t.TempDir(), nil, "--idle-exit", "100ms")
	<-p.ended
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the exit code is %d\n%s", code, p.log)
	}
}
