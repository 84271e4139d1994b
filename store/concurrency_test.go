package store_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/users"
)

// answers holds the ids that acknowledged writes have returned.
type answers struct {
	mu  sync.Mutex
	ids map[string]bool
}

func (a *answers) add(t testing.TB, ids ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ids == nil {
		a.ids = map[string]bool{}
	}
	for _, id := range ids {
		if a.ids[id] {
			t.Errorf("the id %s was given twice", id)
		}
		a.ids[id] = true
	}
}

// check checks that exactly the acknowledged records are stored, under their ids.
func (a *answers) check(t testing.TB, db *store.DB, iteration string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	stored := pointsOf(t, db, iteration, nil)
	for i, m := range stored {
		if !a.ids[m.ID] {
			t.Errorf("%s at step %d was not acknowledged and is stored", m.ID, m.Step)
		}
		if i%17 != 0 {
			continue
		}
		if found := must(db.Runs.Metric(ctx, domain.System, m.ID))(t); found != m {
			t.Errorf("by its id %+v, in the listing %+v", found, m)
		}
	}
	if len(stored) != len(a.ids) {
		t.Errorf("%d acknowledged, %d stored", len(a.ids), len(stored))
	}
}

func TestWritersOnOneSeriesGetConsecutiveSteps(t *testing.T) {
	const writers, each = 32, 25
	b := newBed(t)
	var acknowledged answers
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			last := scalar.Step(-1)
			for range each {
				c, err := b.Runs.CreateMetric(ctx, domain.System, b.iteration, points.Sample{Key: "loss", Value: scalar.Value(w)})
				if err != nil {
					t.Error(err)
					return
				}
				acknowledged.add(t, c.ID)
				m, err := b.Runs.Metric(ctx, domain.System, c.ID)
				if err != nil || m.Step <= last || m.Value != scalar.Value(w) {
					t.Errorf("writer %d reads %+v after step %d (%v)", w, m, last, err)
					return
				}
				last = m.Step
			}
		})
	}
	wg.Wait()
	for i, m := range pointsOf(t, b.DB, b.iteration, nil) {
		if m.Step != scalar.Step(i) {
			t.Fatalf("point %d is at step %d", i, m.Step)
		}
	}
	if n := len(acknowledged.ids); n != writers*each {
		t.Errorf("%d answers, want %d", n, writers*each)
	}
	acknowledged.check(t, b.DB, b.iteration)
	wantClean(t, b.DB)
}

func TestEndingAnIterationWhileOthersWrite(t *testing.T) {
	b := newBed(t)
	for round := range 8 {
		iteration := b.newIteration(t)
		var acknowledged answers
		var wg sync.WaitGroup
		var ended atomic.Bool
		enough := make(chan struct{})
		enter := sync.OnceFunc(func() { close(enough) })
		for w := range 8 {
			wg.Go(func() {
				defer enter()
				for i := 0; ; i++ {
					before := ended.Load()
					ids, err := writeSome(b, iteration, w)
					if err != nil {
						if codeOf(err) != domain.CodeIterationEnded {
							t.Errorf("a write to an iteration that ends: %v", err)
						}
						return
					}
					if before {
						t.Error("a write that began after the end was taken")
						return
					}
					acknowledged.add(t, ids...)
					if i == round {
						enter()
					}
				}
			})
		}
		<-enough
		wantOK(t, b.Runs.UpdateIteration(ctx, domain.System, iteration, runs.IterationPatch{Status: new(domain.Succeeded)}))
		ended.Store(true)
		acknowledgedAtEnd := pointsOf(t, b.DB, iteration, nil)
		wg.Wait()
		if now := pointsOf(t, b.DB, iteration, nil); !slices.Equal(now, acknowledgedAtEnd) {
			t.Errorf("%d points at the end of the iteration, %d later", len(acknowledgedAtEnd), len(now))
		}
		acknowledged.check(t, b.DB, iteration)
	}
	wantClean(t, b.DB)
}

// writeSome writes records with one of several methods and returns the new ids.
func writeSome(b *bed, iteration string, how int) ([]string, error) {
	if how%2 == 0 {
		c, err := b.Runs.CreateMetric(ctx, domain.System, iteration, points.Sample{Key: "loss"})
		return []string{c.ID}, err
	}
	batch, err := b.Runs.CreateMetricBatch(ctx, domain.System, iteration, []points.Sample{
		{Key: "loss"}, {Key: fmt.Sprint("acc ", how)}, {Key: "loss"}})
	return batch.IDs, err
}

func TestDeletingAnIterationWhileOthersWrite(t *testing.T) {
	b := newBed(t)
	for range 5 {
		iteration := b.newIteration(t)
		var wg sync.WaitGroup
		enough := make(chan struct{})
		enter := sync.OnceFunc(func() { close(enough) })
		for w := range 6 {
			wg.Go(func() {
				defer enter()
				for {
					if _, err := writeSome(b, iteration, w); err != nil {
						if codeOf(err) != domain.CodeNotFound {
							t.Errorf("a write to an iteration that goes: %v", err)
						}
						return
					}
					enter()
				}
			})
		}
		<-enough
		wantOK(t, b.Runs.DeleteIteration(ctx, domain.System, iteration))
		wg.Wait()
	}
	db := raw(t, b.Path())
	for _, table := range []string{"metric", "series", "metric_moved"} {
		if n := ask[int](t, db, `SELECT count(*) FROM `+table); n != 0 {
			t.Errorf("%d rows left in %s", n, table)
		}
	}
	wantClean(t, b.DB)
}

// Once a permission is revoked, the next write is rejected.
func TestTakingAPermissionWhileItIsUsed(t *testing.T) {
	b := newBed(t)
	user := must(b.Users.CreateUser(ctx, domain.System, users.NewUser{Username: "ada", Password: "correct horse"}))(t).ID
	ada := domain.Actor{UserID: user}
	for range 5 {
		grant := must(b.Users.CreateUserPermission(ctx, domain.System, user, b.project, users.PermissionPatch{Create: new(true)}))(t).ID
		must(b.Runs.CreateMetric(ctx, ada, b.iteration, points.Sample{Key: "loss"}))(t)
		release := hold(t, b.DB)
		log := func() error {
			_, err := b.Runs.CreateMetric(ctx, ada, b.iteration, points.Sample{Key: "loss"})
			return err
		}
		before := queue(b.DB, log)
		take := queue(b.DB, func() error {
			return b.Users.UpdateUserPermission(ctx, domain.System, grant, users.PermissionPatch{Create: new(false)})
		})
		between := queue(b.DB, log)
		give := queue(b.DB, func() error {
			return b.Users.UpdateUserPermission(ctx, domain.System, grant, users.PermissionPatch{Create: new(true)})
		})
		after := queue(b.DB, log)
		revoke := queue(b.DB, func() error { return b.Users.DeleteUserPermission(ctx, domain.System, grant) })
		last := queue(b.DB, log)
		release()
		wantOK(t, before())
		wantOK(t, take())
		wantCode(t, between(), domain.CodeProjectPermissionRequired)
		wantOK(t, give())
		wantOK(t, after())
		wantOK(t, revoke())
		wantCode(t, last(), domain.CodeProjectPermissionRequired)
	}
	wantOK(t, b.Users.DeleteUser(ctx, domain.System, user))
	_, err := b.Runs.CreateMetric(ctx, ada, b.iteration, points.Sample{Key: "loss"})
	wantCode(t, err, domain.CodeActorGone)
	if n := len(pointsOf(t, b.DB, b.iteration, nil)); n != 15 {
		t.Errorf("%d points, want 15", n)
	}
	wantClean(t, b.DB)
}

func TestSameIdempotencyKeyAtOnce(t *testing.T) {
	b := newBed(t)
	other := open(t, store.Options{Path: b.Path(), Now: b.clock.Now})
	for round := range 20 {
		key := domain.IdempotencyKey{Path: "/metric", Key: fmt.Sprint("key ", round), BodyHash: hash("body")}
		ids := make([]string, 8)
		var wg sync.WaitGroup
		for i := range ids {
			db := b.DB
			if i%4 == 3 {
				db = other // like another process
			}
			wg.Go(func() {
				c, err := db.Runs.CreateMetric(domain.WithIdempotencyKey(ctx, key), domain.System, b.iteration, points.Sample{Key: "loss"})
				if err != nil {
					t.Error(err)
				}
				ids[i] = c.ID
			})
		}
		wg.Wait()
		if all := slices.Compact(ids); len(all) != 1 {
			t.Fatalf("one key got the answers %q", all)
		}
		if n := len(pointsOf(t, b.DB, b.iteration, nil)); n != round+1 {
			t.Fatalf("%d points after %d keys", n, round+1)
		}
	}
	wantClean(t, b.DB)
}

func hash(body string) []byte {
	h := sha256.Sum256([]byte(body))
	return h[:]
}
