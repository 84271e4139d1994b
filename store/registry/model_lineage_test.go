package registry_test

import (
	"fmt"
	"testing"

	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/storetest"
	"tracker/store/users"
)

func TestLineage(t *testing.T) {
	r := newRegistry(t)
	other := newModel(t, r.bed, r.Project, "audit")
	run := must(r.Runs.CreateIteration(ctx, domain.System, r.Experiment, runs.NewIteration{}))(t).ID
	idle := must(r.Runs.CreateIteration(ctx, domain.System, r.Experiment, runs.NewIteration{}))(t).ID
	a := r.resource(t, r.Experiment, run)
	r.promote(t, r.version(t, r.model, run, &a), registry.Production)
	r.promote(t, r.version(t, r.model, run, nil), registry.Production)
	r.version(t, other, run, &a)

	text := func(made []registry.MadeVersion) (s string) {
		for _, m := range made {
			s += fmt.Sprintf("%s %d %s; ", m.ModelName, m.Version, m.Stage)
		}
		return s
	}
	if got := text(must(storetest.ArtifactVersions(ctx, r.DB, domain.System, a))(t)); got != "audit 1 NONE; fraud 1 ARCHIVED; " {
		t.Errorf("of the artifact came %q", got)
	}
	if got := text(must(storetest.IterationVersions(ctx, r.DB, domain.System, run))(t)); got != "audit 1 NONE; fraud 1 ARCHIVED; fraud 2 PRODUCTION; " {
		t.Errorf("of the run came %q", got)
	}
	if got := text(must(storetest.IterationVersions(ctx, r.DB, domain.System, idle))(t)); got != "" {
		t.Errorf("of the idle run came %q", got)
	}
	states := must(storetest.ModelStates(ctx, r.DB, domain.System, r.Project))(t)
	if s := states[r.model]; s.Versions != 2 || s.Production == nil || *s.Production != 2 {
		t.Errorf("fraud is %+v", s)
	}
	if s := states[other]; s.Versions != 1 || s.Production != nil {
		t.Errorf("audit is %+v", s)
	}

	user := must(r.Users.CreateUser(ctx, domain.System, users.NewUser{Username: "bob", Password: "long enough"}))(t).ID
	bob := domain.Actor{UserID: user}
	_, err := storetest.ArtifactVersions(ctx, r.DB, bob, a)
	_, err2 := storetest.IterationVersions(ctx, r.DB, bob, run)
	_, err3 := storetest.ModelStates(ctx, r.DB, bob, r.Project)
	for _, err := range []error{err, err2, err3} {
		if domain.AsError(err).Code != domain.CodeProjectPermissionRequired {
			t.Errorf("a stranger gets %v", err)
		}
	}
	for _, err := range []error{
		second(storetest.ArtifactVersions(ctx, r.DB, domain.System, "none")), second(storetest.IterationVersions(ctx, r.DB, domain.System, "none")),
		second(storetest.ModelStates(ctx, r.DB, domain.System, "none")),
	} {
		if domain.AsError(err).Code != domain.CodeNotFound {
			t.Errorf("nothing gives %v", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
