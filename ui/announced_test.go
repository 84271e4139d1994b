package ui_test

import (
	"net/http"
	"testing"

	"tracker/ui/uitest"
)

// unannounced lists the forms that may change pages without an event, each with the reason.
var unannounced = map[string]string{
	"/project/{id}/settings":    "event streams report changes of runs, not of the project",
	"/experiment/{id}/settings": "event streams report changes of runs, not of the experiment",
}

// Every change that a form of the dashboard makes is announced by an event.
func TestEveryFormIsAnnounced(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	s := start(t, setup{})
	for _, c := range cells {
		if c.method == http.MethodGet || c.needs == "admin" || c.needs == "user" || c.needs == "" {
			continue
		}
		t.Run(c.method+" "+c.route+" "+c.body, func(t *testing.T) {
			s := *s
			s.t = t
			w := s.world()
			open := uitest.Pages(t, s.db, s.clock.now, w["project"])
			if a := s.ask(c, w, nil); a.StatusCode >= 400 {
				t.Fatalf("%s: %s", a.Status, problemOf(a))
			}
			open.Check(unannounced[c.route] != "")
		})
	}
}
