package server_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"tracker/store/domain"
)

// TestEventsEndWithTheToken checks that an event stream ends when the caller loses access.
func TestEventsEndWithTheToken(t *testing.T) {
	for name, end := range map[string]func(a api, p person, project string){
		"expired": func(a api, _ person, _ string) { a.clock.move(25 * time.Hour) },
		"deleted": func(a api, p person, _ string) {
			a.must(a.db.Users.DeleteUser(a.t.Context(), domain.System, p.id))
		},
		"not permitted": func(a api, p person, project string) { a.permit(p, project, "create") },
	} {
		t.Run(name, func(t *testing.T) {
			a := start(t)
			project := a.project(a.root)
			experiment := a.experiment(project)
			iteration := a.iteration(experiment)
			ada := a.user("ada")
			a.permit(ada, project, "read")
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			var streams []*bufio.Reader
			for _, path := range []string{"/experiment/" + experiment, "/iteration/" + iteration} {
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.server.URL+path+"/events", nil)
				a.must(err)
				r.Header.Set("Authorization", "Bearer "+ada.token)
				res, err := http.DefaultClient.Do(r)
				a.must(err)
				defer res.Body.Close()
				lines := bufio.NewReader(res.Body)
				if line, err := lines.ReadString('\n'); err != nil || res.StatusCode != http.StatusOK {
					t.Fatalf("%s: %s %q (%v)", path, res.Status, line, err)
				}
				streams = append(streams, lines)
			}
			end(a, ada, project)
			for _, lines := range streams {
				if _, err := io.ReadAll(lines); err != nil {
					t.Errorf("the stream has not ended: %v", err)
				}
			}
		})
	}
}
