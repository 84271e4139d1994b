package domain_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/users"
)

func withKey(key, body string) context.Context {
	return domain.WithIdempotencyKey(ctx, domain.IdempotencyKey{Path: "/path", Key: key, BodyHash: hash(body)})
}

// A repeated create returns the first result and writes nothing.
func TestRepeatedCreates(t *testing.T) {
	b := newPlainBed(t)
	user := must(b.Users.CreateUser(ctx, domain.System, users.NewUser{Username: "ada", Password: "correct horse"}))(t).ID
	file := raw(t, b.Path())
	for name, create := range map[string]func(context.Context) (any, error){
		"user": func(ctx context.Context) (any, error) {
			return b.Users.CreateUser(ctx, domain.System, users.NewUser{Username: "bob", Password: "correct horse"})
		},
		"project": func(ctx context.Context) (any, error) {
			return b.Projects.CreateProject(ctx, domain.System, domain.NewProject{Name: "again"})
		},
		"user_permission": func(ctx context.Context) (any, error) {
			return b.Users.CreateUserPermission(ctx, domain.System, user, b.Project, users.PermissionPatch{})
		},
		"experiment": func(ctx context.Context) (any, error) {
			return b.Projects.CreateExperiment(ctx, domain.System, b.Project, projects.NewExperiment{Name: "again"})
		},
		"iteration": func(ctx context.Context) (any, error) {
			return b.Runs.CreateIteration(ctx, domain.System, b.Experiment, runs.NewIteration{})
		},
		"tag": func(ctx context.Context) (any, error) {
			return b.Runs.CreateTag(ctx, domain.System, runs.ProjectTag, b.Project, "tag")
		},
		"parameter": func(ctx context.Context) (any, error) {
			return b.Runs.CreateParameter(ctx, domain.System, b.Iteration, "lr", "1")
		},
		"snapshot": func(ctx context.Context) (any, error) {
			return b.Runs.CreateSnapshot(ctx, domain.System, b.Iteration, runs.NewSnapshot{GitSHA: "abc"})
		},
		"metric": func(ctx context.Context) (any, error) {
			return b.Runs.CreateMetric(ctx, domain.System, b.Iteration, points.Sample{Key: "loss"})
		},
		"metric ": func(ctx context.Context) (any, error) { // a batch that stops in the middle
			return b.Runs.CreateMetricBatch(ctx, domain.System, b.Iteration, []points.Sample{{Key: "a"}, {Key: "b"}, {Key: ""}, {Key: "c"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			count := func() int { return ask[int](t, file, `SELECT count(*) FROM `+name) }
			first := must(create(withKey("key of "+name, "body")))(t)
			before := count()
			for range 3 {
				if again := must(create(withKey("key of "+name, "body")))(t); !reflect.DeepEqual(again, first) {
					t.Errorf("the answer was %+v and is %+v", first, again)
				}
			}
			_, err := create(withKey("key of "+name, "a different request body"))
			wantCode(t, err, domain.CodeInvalidPayload)
			if n := count(); n != before || n == 0 {
				t.Errorf("%d rows, before %d", n, before)
			}
		})
	}
	wantClean(t, b.DB)
}

// A key is valid for one user and one path.
func TestKeysOfOthers(t *testing.T) {
	b := newBed(t)
	log := func(actor domain.Actor, path string) string {
		k := domain.IdempotencyKey{Path: path, Key: "key", BodyHash: hash(path)}
		return must(b.Projects.CreateProject(domain.WithIdempotencyKey(ctx, k), actor, domain.NewProject{Name: "p"}))(t).ID
	}
	var actors []domain.Actor
	for _, name := range []string{"ada", "bob"} {
		id := must(b.Users.CreateUser(ctx, domain.System, users.NewUser{Username: name, Password: "correct horse"}))(t).ID
		actors = append(actors, domain.Actor{UserID: id})
	}
	all := map[string]bool{}
	for _, actor := range append(actors, domain.System) {
		for _, path := range []string{"/a", "/b"} {
			id := log(actor, path)
			if all[id] {
				t.Errorf("%+v got the answer of another one", actor)
			}
			all[id] = true
			if again := log(actor, path); again != id {
				t.Errorf("another answer for the same key: %s and %s", id, again)
			}
		}
	}
}

func TestKeysAreForgottenAfterADay(t *testing.T) {
	b := newBed(t)
	log := func(key string) string {
		return must(b.Runs.CreateMetric(withKey(key, "body"), domain.System, b.Iteration, points.Sample{Key: "loss"}))(t).ID
	}
	file := raw(t, b.Path())
	keys := func() string {
		return ask[string](t, file, `SELECT coalesce(group_concat(key, ' '), '') FROM (SELECT key FROM idempotency ORDER BY key)`)
	}
	first := log("a")
	b.Clock.Add(12 * time.Hour)
	second := log("b")
	b.Clock.Add(12*time.Hour - time.Millisecond)
	if log("a") != first {
		t.Error("forgotten before the day was over")
	}
	b.Clock.Add(time.Millisecond)
	if log("a") == first {
		t.Error("not forgotten after a day")
	}
	if log("b") != second {
		t.Error("the younger one was forgotten, too")
	}
	b.Clock.Add(24 * time.Hour)
	log("c")
	if got := keys(); got != "c" {
		t.Errorf("the keys %q are kept, want c", got)
	}
}

// The result and the records are stored in one transaction.
func TestAnswerAndWriteAreOne(t *testing.T) {
	b := newBed(t)
	file := raw(t, b.Path())
	execSQL(t, file, `CREATE TRIGGER no BEFORE INSERT ON idempotency WHEN NEW.key LIKE 'fail%'
		BEGIN SELECT RAISE(FAIL, 'no answers'); END`)
	var waits []func() error
	release := hold(t, b.DB)
	for i := range 20 {
		key := fmt.Sprint("key ", i)
		if i%4 == 1 {
			key = fmt.Sprint("fail ", i)
		}
		waits = append(waits, queue(b.DB, func() error {
			_, err := b.Runs.CreateMetric(withKey(key, "body"), domain.System, b.Iteration, points.Sample{Key: "loss", Value: scalar.Value(i)})
			return err
		}), queue(b.DB, func() error {
			_, err := b.Runs.CreateTag(withKey(key+" tag", "body"), domain.System, runs.ProjectTag, b.Project, key)
			return err
		}))
	}
	release()
	failed := 0
	for _, wait := range waits {
		if wait() != nil {
			failed++
		}
	}
	if failed != 10 {
		t.Errorf("%d writes failed, want 10", failed)
	}
	stored := pointsOf(t, b.DB, b.Iteration, nil)
	for i, m := range stored {
		if int(m.Value)%4 == 1 || int(m.Step) != i {
			t.Errorf("point %d is %+v", i, m)
		}
	}
	tags := must(b.Runs.Tags(ctx, domain.System, runs.ProjectTag, b.Project, domain.FirstPage))(t)
	if len(stored) != 15 || tags.Total != 15 {
		t.Errorf("%d points and %d tags, want 15", len(stored), tags.Total)
	}
	if slices.ContainsFunc(tags.Data, func(tag runs.Tag) bool { return strings.HasPrefix(tag.Value, "fail") }) {
		t.Errorf("tags %+v", tags.Data)
	}
	if n := ask[int](t, file, `SELECT count(*) FROM idempotency`); n != 30 {
		t.Errorf("%d answers, want 30", n)
	}
	// When the cause of the failure is removed, the request with the same key succeeds.
	execSQL(t, file, `DROP TRIGGER no`)
	must(b.Runs.CreateMetric(withKey("fail 1", "body"), domain.System, b.Iteration, points.Sample{Key: "loss"}))(t)
	wantClean(t, b.DB)
}

// A rejected request stores no result, so it can be retried once the cause is removed.
func TestRefusedRequestsAreNotKept(t *testing.T) {
	b := newBed(t)
	end := func(s domain.IterationStatus) {
		wantOK(t, b.Runs.UpdateIteration(ctx, domain.System, b.Iteration, runs.IterationPatch{Status: &s}))
	}
	log := func() error {
		_, err := b.Runs.CreateMetric(withKey("key", "body"), domain.System, b.Iteration, points.Sample{Key: "loss"})
		return err
	}
	end(domain.Failed)
	wantCode(t, log(), domain.CodeIterationEnded)
	end(domain.Running)
	wantOK(t, log())
	end(domain.Failed)
	wantOK(t, log()) // the first result, although the request would be rejected now
	if n := len(pointsOf(t, b.DB, b.Iteration, nil)); n != 1 {
		t.Errorf("%d points, want 1", n)
	}
	wantOK(t, b.Runs.DeleteIteration(ctx, domain.System, b.Iteration))
	wantOK(t, log())
	wantClean(t, b.DB)
}
