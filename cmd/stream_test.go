//go:build unix

package cmd

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
)

// The event streams of both ports are counted in the metrics, and they count as use of the service.
func TestStreamsOfBothPortsAreCounted(t *testing.T) {
	p := startServer(t, t.TempDir(), nil)
	w := dial(t, p)
	project := w.create(t, "/project", `{"name": "p"}`)
	experiment := w.create(t, "/experiment/project/"+project, `{"name": "e"}`)
	for _, url := range []string{p.API + "/experiment/" + experiment + "/events", p.UI + "/data/events?on=experiment/" + experiment + "/"} {
		res, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if line, err := bufio.NewReader(res.Body).ReadString('\n'); line != ": connected\n" {
			t.Fatalf("%s: %s %q (%v)", url, res.Status, line, err)
		}
	}
	if text := scrape(t, p.API+"/metrics"); !strings.Contains(text, "\ntracker_event_streams 2\n") {
		t.Error("/metrics does not count the two streams")
	}
}

func TestConnectionLimits(t *testing.T) {
	for _, c := range []struct {
		files                uint64
		connections, streams int
	}{
		{256, 42, 21}, {1024, 170, 85}, {20_000, 2000, 1000}, {1 << 20, 2000, 1000}, {1<<64 - 1, 2000, 1000},
	} {
		connections, streams := connectionLimits(c.files)
		if connections != c.connections || streams != c.streams {
			t.Errorf("with %d files: %d connections, %d streams", c.files, connections, streams)
		}
		// Each of the two ports has that many connections, and each connection can open one more
		// file.
		if used := uint64(4 * connections); used > c.files-c.files/8 {
			t.Errorf("%d files leave %d for the database", c.files, c.files-used)
		}
	}
}
