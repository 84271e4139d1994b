package auth

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"tracker/store"
	"tracker/store/users"
)

// queue starts a caller of g.enter in the background and returns once the caller waits.
func queue(t *testing.T, g *gate, ctx context.Context, address string, in func(error)) {
	t.Helper()
	waiting := func() int {
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(g.waiting[address])
	}
	before := waiting()
	go func() { in(g.enter(ctx, address)) }()
	for waiting() == before {
	}
}

// Fifty callers from one address delay a caller from another address by only one turn.
func TestGateTakesTurnsByAddress(t *testing.T) {
	g := newGate(1)
	if err := g.enter(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	entered := make(chan string)
	for range 50 {
		queue(t, g, t.Context(), "crowd", func(error) { entered <- "crowd" })
	}
	queue(t, g, t.Context(), "ada", func(error) { entered <- "ada" })
	var order []string
	for range 51 {
		g.leave()
		order = append(order, <-entered)
	}
	if at := slices.Index(order, "ada"); at != 1 {
		t.Errorf("ada is let in after %d others, want 1", at)
	}
	g.leave()
	if g.free != 1 || len(g.waiting) != 0 || len(g.turns) != 0 {
		t.Errorf("%d places are free, %d wait", g.free, len(g.waiting))
	}
}

func TestGateForgetsWhoHasGone(t *testing.T) {
	g := newGate(1)
	if err := g.enter(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone, entered := make(chan error), make(chan error)
	queue(t, g, ctx, "b", func(err error) { gone <- err })
	queue(t, g, t.Context(), "c", func(err error) { entered <- err })
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("who has gone gets %v", err)
	}
	g.leave()
	if err := <-entered; err != nil {
		t.Error(err)
	}
	g.leave()
	if g.free != 1 || len(g.waiting) != 0 || len(g.turns) != 0 {
		t.Errorf("%d places are free, %d wait", g.free, len(g.waiting))
	}
}

// A password is hashed only after the gate admits the caller, so that sign-ins leave processors for
// other requests.
func TestSignInWaitsForTheGate(t *testing.T) {
	const password = "correct horse battery"
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "tracker.db"), BcryptCost: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Users.Seed(t.Context(), password); err != nil {
		t.Fatal(err)
	}
	a := New(db, Options{Enabled: true, Secret: "the secret of these tests, long enough"})
	a.hashing = newGate(1)
	if err := a.hashing.enter(t.Context(), "10.0.0.1"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := a.SignIn(ctx, users.DefaultUsername, password, "10.0.0.2")
		ended <- err
	}()
	for waits := false; !waits && len(ended) == 0; runtime.Gosched() {
		a.hashing.mu.Lock()
		waits = len(a.hashing.waiting["10.0.0.2"]) > 0
		a.hashing.mu.Unlock()
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a sign-in without a place at the gate: %v", err)
	}
	a.hashing.leave()
	if _, err := a.SignIn(t.Context(), users.DefaultUsername, password, "10.0.0.2"); err != nil {
		t.Error(err)
	}
}
