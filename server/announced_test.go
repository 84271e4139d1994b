package server_test

import (
	"net/http"
	"strings"
	"testing"

	"tracker/ui/uitest"
)

// unannounced maps a write that sends no event, although it can change pages, to the reason for
// this.
var unannounced = map[string]string{
	"PATCH /experiment/{id}": "event streams report changes of runs, not of the experiment",
}

// Every write is announced: the event streams of all pages that it changes send an event, and no
// cached search result is stale.
func TestEveryWriteIsAnnounced(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	a := start(t)
	final := startWith(t, setup{noTrash: true})
	for _, s := range samples {
		if s.method == http.MethodGet {
			continue
		}
		write := func(t *testing.T, a api) {
			w := a.world()
			open := uitest.Pages(t, a.db, a.clock.now, w["project"])
			s.send(a, w).wants(s.status)
			open.Check(unannounced[s.method+" "+s.route] != "")
		}
		t.Run(s.name(), func(t *testing.T) { write(t, a.on(t)) })
		if s.method == http.MethodDelete && !strings.HasPrefix(s.route, "/trash") {
			t.Run(s.name()+" without a trash", func(t *testing.T) { write(t, final.on(t)) })
		}
	}
}
