package server_test

import (
	"net/http"
	"strings"
	"testing"

	"tracker/ui/uitest"
)

// unannounced holds the writes after which pages may change without an event, with the reason.
var unannounced = map[string]string{
	"PATCH /experiment/{id}": "event streams report changes of runs, not of the experiment",
}

// Every write is announced: the event stream of each page that it changes sends an event, and no
// remembered search is out of date.
func TestEveryWriteIsAnnounced(t *testing.T) {
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
