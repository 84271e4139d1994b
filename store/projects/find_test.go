package projects_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tracker/store/collections"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/storetest"
	"tracker/store/users"
)

func TestFind(t *testing.T) {
	b := newBed(t)
	user := must(b.Users.CreateUser(ctx, domain.System, users.NewUser{Username: "bob", Password: "long enough"}))(t).ID
	bob := domain.Actor{UserID: user}
	must(b.Runs.CreateIteration(ctx, domain.System, b.Experiment, runs.NewIteration{Name: new("a9 EXPERIMENT o9 one")}))(t)
	must(b.Models.CreateModel(ctx, domain.System, b.Project, registry.NewModel{Name: "a9 experimental one"}))(t)
	names := func(actor domain.Actor, part string, limit int) string {
		t.Helper()
		var all []string
		for _, f := range must(b.Projects.Find(ctx, actor, part, limit))(t) {
			all = append(all, f.Kind+" "+f.Name+" in "+f.In)
		}
		return strings.Join(all, "; ")
	}
	const want = "experiment experiment in project; model a9 experimental one in project; iteration a9 EXPERIMENT o9 one in experiment"
	if got := names(domain.System, "Experiment", 10); got != want {
		t.Errorf("found %q, want %q", got, want)
	}
	if got := names(domain.System, "", 1); got != "project project in " {
		t.Errorf("the first is %q", got)
	}
	for text, want := range map[string]string{
		"ONE A9 exper":        "model a9 experimental one in project; iteration a9 EXPERIMENT o9 one in experiment",
		" o9  project ":       "",
		"project experiment":  "experiment experiment in project; model a9 experimental one in project",
		"experiment o9":       "iteration a9 EXPERIMENT o9 one in experiment",
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

// TestFindVersions finds collections, and versions by their numbers and aliases.
func TestFindVersions(t *testing.T) {
	b := newBed(t)
	user := must(b.Users.CreateUser(ctx, domain.System, users.NewUser{Username: "bob", Password: "long enough"}))(t).ID
	bob := domain.Actor{UserID: user}
	var ids []string
	log := func(name string, aliases ...string) {
		t.Helper()
		folder := fmt.Sprint("f", len(ids))
		b.Keep(t, b.Experiment, files.NewArtifact{Name: folder + "/a.bin", IterationID: b.Iteration}, folder)
		v := must(b.Collections.LogVersion(ctx, domain.System, collections.NewVersion{IterationID: b.Iteration, Collection: name, Type: "x", Aliases: aliases}, folder))(t)
		ids = append(ids, v.ID)
	}
	log("weights", "best")
	for range 11 {
		log("weights")
	}
	log("dataset", "clean")
	find := func(actor domain.Actor, text string, limit int) string {
		t.Helper()
		var all []string
		for _, f := range must(b.Projects.Find(ctx, actor, text, limit))(t) {
			all = append(all, fmt.Sprint(f.Kind, " ", f.Name, " in ", f.In, " ", slices.Index(ids, f.ID)))
		}
		return strings.Join(all, "; ")
	}
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"weig", 10, "collection weights in experiment 11"},
		{"DATA experiment", 10, "collection dataset in experiment 12"},
		{"Weights:V1", 2, "collection weights:v1 in experiment 1; collection weights:v11 in experiment 11"},
		{"weights:best", 10, "collection weights:v0 in experiment 0"},
		{"weights:latest", 10, "collection weights:v11 in experiment 11"},
		{"dataset:clean experiment", 10, "collection dataset:v0 in experiment 12"},
		{"dataset:v1", 10, ""},
	} {
		if got := find(domain.System, c.text, c.limit); got != c.want {
			t.Errorf("%q found %q, want %q", c.text, got, c.want)
		}
		if got := find(bob, c.text, c.limit); got != "" {
			t.Errorf("bob found %q", got)
		}
	}
	must(b.Users.CreateUserPermission(ctx, domain.System, user, b.Project, users.PermissionPatch{Read: new(true)}))(t)
	if got := find(bob, "weights:v3", 10); got != "collection weights:v3 in experiment 3" {
		t.Errorf("bob found %q", got)
	}
	must(b.Collections.DeleteVersion(ctx, domain.System, ids[11], true))(t)
	if got := find(domain.System, "weights", 10); got != "collection weights in experiment 10" {
		t.Errorf("after a deletion, %q is found", got)
	}
	if err := b.Runs.DeleteIteration(ctx, domain.System, b.Iteration); err != nil {
		t.Fatal(err)
	}
	if got := find(domain.System, "weights", 10) + find(domain.System, "weights:v3", 10); got != "" {
		t.Errorf("versions of a deleted run are found: %q", got)
	}
}

// TestFindByID finds a run by its id and by the id that a W&B client uses.
func TestFindByID(t *testing.T) {
	b := newBed(t)
	storetest.Exec(t, storetest.Raw(t, b.Path()), `INSERT INTO wandb_run (iteration_num, name, config, summary, about)
		SELECT num, 'djzm0zxo', '{}', '{}', '{}' FROM iteration WHERE id = ?`, b.Iteration)
	for _, text := range []string{b.Iteration, "djzm0zxo"} {
		found := must(b.Projects.Find(ctx, domain.System, text, 10))(t)
		if len(found) != 1 || found[0].Kind != "iteration" || found[0].ID != b.Iteration {
			t.Errorf("%q found %+v, want the run", text, found)
		}
	}
	for _, text := range []string{"djzm0zx", "djzm0zxo nothing"} {
		if found := must(b.Projects.Find(ctx, domain.System, text, 10))(t); len(found) != 0 {
			t.Errorf("%q found %+v, want nothing", text, found)
		}
	}
}

// TestFindTexts finds notes and tags of readable runs.
func TestFindTexts(t *testing.T) {
	b := newBed(t)
	user := must(b.Users.CreateUser(ctx, domain.System, users.NewUser{Username: "bob", Password: "long enough"}))(t).ID
	bob := domain.Actor{UserID: user}
	run := func(name, notes string, tags ...string) string {
		t.Helper()
		id := must(b.Runs.CreateIteration(ctx, domain.System, b.Experiment, runs.NewIteration{Name: &name, Notes: notes}))(t).ID
		for _, tag := range tags {
			must(b.Runs.CreateTag(ctx, domain.System, runs.IterationTag, id, tag))(t)
		}
		return id
	}
	run("a", "Diverged\nat step 240.", "baseline", "paper")
	gone := run("b", "diverged, too", "baseline")
	run("c", strings.Repeat("ü ", 100)+"then it DIVERGED "+strings.Repeat("x ", 100), "base 2", "100%")
	texts := func(actor domain.Actor, part string, limit int) string {
		t.Helper()
		var all []string
		for _, f := range must(b.Projects.FindTexts(ctx, actor, part, limit))(t) {
			all = append(all, f.Kind+" "+f.Name+" in "+f.In+" "+f.Text)
		}
		return strings.Join(all, "; ")
	}
	long := "note c in experiment …" + strings.Repeat("ü ", 6) + "then it DIVERGED " + strings.Repeat("x ", 25) + "x…" // 80 characters
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"", 5, ""},
		{"  ", 5, ""},
		{"%", 5, "tag 100% in experiment "},
		{"BASE", 5, "tag base 2 in experiment ; tag baseline in experiment "},
		{"base", 1, "tag base 2 in experiment "},
		{"step diverged", 5, "note a in experiment Diverged at step 240."},
		{"nothing", 5, ""},
	} {
		if got := texts(domain.System, c.text, c.limit); got != c.want {
			t.Errorf("%q found %q, want %q", c.text, got, c.want)
		}
	}
	if got := texts(domain.System, "diverged", 1); got != long {
		t.Errorf("the long note is %q, want %q", got, long)
	}
	if err := b.Runs.DeleteIteration(ctx, domain.System, gone); err != nil {
		t.Fatal(err)
	}
	if got := texts(domain.System, "diverged too", 5); got != "" {
		t.Errorf("a deleted run is found: %q", got)
	}
	if got := texts(bob, "diverged", 5) + texts(bob, "base", 5); got != "" {
		t.Errorf("bob found %q", got)
	}
	must(b.Users.CreateUserPermission(ctx, domain.System, user, b.Project, users.PermissionPatch{Read: new(true)}))(t)
	if got := texts(bob, "paper", 5); got != "tag paper in experiment " {
		t.Errorf("bob found %q", got)
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
