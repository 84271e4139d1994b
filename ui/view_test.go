package ui

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/users"
)

// The data that a page reads counts three times against the memory budget of all requests. While
// memory is short, the page waits without holding a snapshot.
func TestPagesCountWithTheMemory(t *testing.T) {
	ctx := t.Context()
	db, err := store.Open(ctx, store.Options{Path: filepath.Join(t.TempDir(), "tracker.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if _, err := db.Users.Seed(ctx, "secret-enough"); err != nil {
		t.Fatal(err)
	}
	p, err := db.Projects.CreateProject(ctx, domain.System, domain.NewProject{Name: "p"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := db.Projects.CreateExperiment(ctx, domain.System, p.ID, projects.NewExperiment{Name: "e"})
	if err != nil {
		t.Fatal(err)
	}
	i, err := db.Runs.CreateIteration(ctx, domain.System, e.ID, runs.NewIteration{})
	if err != nil {
		t.Fatal(err)
	}
	var all []points.Sample
	for n := range 500 {
		all = append(all, points.Sample{Key: fmt.Sprint("metric ", n), Value: 1})
	}
	if err := db.Runs.CreateMetrics(ctx, domain.System, i.ID, all); err != nil {
		t.Fatal(err)
	}
	admin, err := db.Users.UserByName(ctx, domain.System, users.DefaultUsername)
	if err != nil {
		t.Fatal(err)
	}

	const total = 1 << 20
	s := &site{Options: Options{DB: db}, memory: web.NewMemory(total)}
	tries, read := 0, 0
	page := s.holding(s.memory, func(_ http.ResponseWriter, r *http.Request) error {
		return s.view(r, admin, func(db *store.View) error {
			tries++
			_, err := db.Runs.Summary(i.ID) // some 200 KB
			if err == nil {
				read++
			}
			return err
		})
	})
	ask := func(ctx context.Context) error {
		return page(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil).WithContext(ctx))
	}
	if err := ask(ctx); err != nil || tries != 1 {
		t.Fatalf("with all memory: %v in %d tries", err, tries)
	}
	others := s.memory.Share(ctx)
	if err := others.Grow(total * 3 / 4); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if err := ask(short); err == nil || web.AsError(err).Code != domain.CodeUnavailable || read != 1 {
		t.Errorf("with a quarter of it: %v after %d reads", err, read)
	}
	others.Release()
	if err := ask(ctx); err != nil || read != 2 {
		t.Errorf("with all of it again: %v after %d reads", err, read)
	}
}
