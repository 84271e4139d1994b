package store_test

import (
	"fmt"
	"testing"

	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/users"
)

func TestLineage(t *testing.T) {
	r := newRegistry(t)
	other := newModel(t, r.bed, r.project, "audit")
	run := must(r.Runs.CreateIteration(ctx, domain.System, r.experiment, runs.NewIteration{}))(t).ID
	idle := must(r.Runs.CreateIteration(ctx, domain.System, r.experiment, runs.NewIteration{}))(t).ID
	a := r.resource(t, r.experiment, run)
	r.promote(t, r.version(t, r.model, run, &a), registry.Production)
	r.promote(t, r.version(t, r.model, run, nil), registry.Production)
	r.version(t, other, run, &a)

	text := func(made []registry.MadeVersion) (s string) {
		for _, m := range made {
			s += fmt.Sprintf("%s %d %s; ", m.ModelName, m.Version, m.Stage)
		}
		return s
	}
	if got := text(must(r.ArtifactVersions(ctx, domain.System, a))(t)); got != "audit 1 NONE; fraud 1 ARCHIVED; " {
		t.Errorf("of the artifact came %q", got)
	}
	if got := text(must(r.IterationVersions(ctx, domain.System, run))(t)); got != "audit 1 NONE; fraud 1 ARCHIVED; fraud 2 PRODUCTION; " {
		t.Errorf("of the run came %q", got)
	}
	if got := text(must(r.IterationVersions(ctx, domain.System, idle))(t)); got != "" {
		t.Errorf("of the idle run came %q", got)
	}
	states := must(r.ModelStates(ctx, domain.System, r.project))(t)
	if s := states[r.model]; s.Versions != 2 || s.Production == nil || *s.Production != 2 {
		t.Errorf("fraud is %+v", s)
	}
	if s := states[other]; s.Versions != 1 || s.Production != nil {
		t.Errorf("audit is %+v", s)
	}

	user := must(r.Users.CreateUser(ctx, domain.System, users.NewUser{Username: "bob", Password: "long enough"}))(t).ID
	bob := domain.Actor{UserID: user}
	_, err := r.ArtifactVersions(ctx, bob, a)
	_, err2 := r.IterationVersions(ctx, bob, run)
	_, err3 := r.ModelStates(ctx, bob, r.project)
	for _, err := range []error{err, err2, err3} {
		if domain.AsError(err).Code != domain.CodeProjectPermissionRequired {
			t.Errorf("a stranger gets %v", err)
		}
	}
	for _, err := range []error{
		second(r.ArtifactVersions(ctx, domain.System, "none")), second(r.IterationVersions(ctx, domain.System, "none")),
		second(r.ModelStates(ctx, domain.System, "none")),
	} {
		if domain.AsError(err).Code != domain.CodeNotFound {
			t.Errorf("nothing gives %v", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
