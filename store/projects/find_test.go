package projects_test

import (
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/storetest"
	"tracker/store/users"
)

func TestFind(t *testing.T) {
	b := newBed(t)
	user := must(b.Users.CreateUser(ctx, domain.System, users.NewUser{Username: "bob", Password: "long enough"}))(t).ID
	bob := domain.Actor{UserID: user}
	must(b.Runs.CreateIteration(ctx, domain.System, b.Experiment, runs.NewIteration{Name: new("an EXPERIMENT of one")}))(t)
	must(b.Models.CreateModel(ctx, domain.System, b.Project, registry.NewModel{Name: "an experimental one"}))(t)
	names := func(actor domain.Actor, part string, limit int) string {
		t.Helper()
		var all []string
		for _, f := range must(b.Projects.Find(ctx, actor, part, limit))(t) {
			all = append(all, f.Kind+" "+f.Name+" in "+f.In)
		}
		return strings.Join(all, "; ")
	}
	const want = "experiment experiment in project; model an experimental one in project; iteration an EXPERIMENT of one in experiment"
	if got := names(domain.System, "Experiment", 10); got != want {
		t.Errorf("found %q, want %q", got, want)
	}
	if got := names(domain.System, "", 1); got != "project project in " {
		t.Errorf("the first is %q", got)
	}
	for text, want := range map[string]string{
		"ONE an exper":        "model an experimental one in project; iteration an EXPERIMENT of one in experiment",
		" of  project ":       "",
		"project experiment":  "experiment experiment in project; model an experimental one in project",
		"experiment of":       "iteration an EXPERIMENT of one in experiment",
		"experiment nothing":  "",
		"project":             "project project in ",
		"one experimental %_": "",
	} {
		if got := names(domain.System, text, 10); got != want {
			t.Errorf("%q found %q, want %q", text, got, want)
		}
	}
	if got := names(bob, "", 10); got != "" {
		t.Errorf("bob found %q", got)
	}
	must(b.Users.CreateUserPermission(ctx, domain.System, user, b.Project, users.PermissionPatch{}))(t)
	if got := names(bob, "Experiment", 10); got != want {
		t.Errorf("bob found %q, want %q", got, want)
	}
}

func TestRights(t *testing.T) {
	b := newBed(t)
	user := must(b.Users.CreateUser(ctx, domain.System, users.NewUser{Username: "bob", Password: "long enough"}))(t).ID
	bob := domain.Actor{UserID: user}
	if _, err := storetest.Rights(ctx, b.DB, bob, b.Project); domain.AsError(err).Code != domain.CodeProjectPermissionRequired {
		t.Errorf("without reading: %v", err)
	}
	must(b.Users.CreateUserPermission(ctx, domain.System, user, b.Project, users.PermissionPatch{Update: new(true)}))(t)
	r := must(storetest.Rights(ctx, b.DB, bob, b.Project))(t)
	if !r.Read || !r.Update || r.Create || r.Delete {
		t.Errorf("bob has %+v", r)
	}
	r = must(storetest.Rights(ctx, b.DB, domain.System, b.Project))(t)
	if !r.Read || !r.Update || !r.Create || !r.Delete {
		t.Errorf("the system has %+v", r)
	}
	if _, err := storetest.Rights(ctx, b.DB, bob, "none"); domain.AsError(err).Code != domain.CodeNotFound {
		t.Errorf("no project: %v", err)
	}
}
