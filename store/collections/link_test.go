package collections_test

import (
	"slices"
	"testing"
	"time"

	"tracker/store/collections"
	"tracker/store/domain"
	"tracker/store/users"
)

// A link is a version of a model. The artifact version can't be deleted while it is linked, alone
// or with its run, its experiment or its project. Each artifact version is linked once to a model.
func TestLink(t *testing.T) {
	b := newBed(t)
	first, second := b.log(t, b.Iteration, "net", "model", "1"), b.log(t, b.Iteration, "net", "model", "2")
	home := must(b.Projects.CreateProject(ctx, domain.System, domain.NewProject{Name: "registry"}))(t).ID
	link := func(id string, aliases ...string) collections.Link {
		t.Helper()
		return must(b.Collections.LinkVersion(ctx, domain.System, id, home, "best net", aliases))(t)
	}
	one, two, again := link(first.ID, "staging", collections.Latest), link(second.ID), link(first.ID, "production")
	if one.Number != 1 || two.Number != 2 || again.LinkID != one.LinkID || !slices.Equal(again.LinkAliases, []string{"production", "staging"}) {
		t.Errorf("links %+v, %+v, %+v", one, two, again)
	}
	if one.ID != first.ID || one.Home != "registry" || one.Model != "best net" || again.Newest || !two.Newest {
		t.Errorf("link %+v", one)
	}
	all := must(b.Collections.Links(ctx, domain.System, collections.LinkSearch{ProjectID: home}))(t)
	if len(all) != 2 || all[0].ID != second.ID || all[1].ID != first.ID {
		t.Errorf("links %+v", all)
	}
	graph := must(b.Collections.Lineage(ctx, domain.System, collections.LineageQuery{NodeRef: collections.NodeRef{Kind: collections.VersionNode, ID: first.ID}}))(t)
	if !slices.Contains(graph.Edges, collections.Edge{From: graph.Root, To: collections.NodeRef{Kind: collections.ModelVersionNode, ID: one.LinkID}, Role: collections.Registered}) {
		t.Errorf("lineage %+v", graph.Edges)
	}
	up := must(b.Collections.Lineage(ctx, domain.System, collections.LineageQuery{NodeRef: collections.NodeRef{Kind: collections.ModelVersionNode, ID: one.LinkID}}))(t)
	if len(up.Nodes) < 3 || !slices.Contains(up.Edges, collections.Edge{From: graph.Root, To: up.Root, Role: collections.Registered}) {
		t.Errorf("lineage %+v", up)
	}

	_, err := b.Collections.DeleteVersion(ctx, domain.System, first.ID, true)
	wantCode(t, err, domain.CodeConflict)
	wantCode(t, b.Collections.DeleteCollection(ctx, domain.System, b.Experiment, "net"), domain.CodeConflict)
	wantCode(t, b.Runs.DeleteIteration(ctx, domain.System, b.Iteration), domain.CodeConflict)
	wantCode(t, b.Projects.DeleteExperiment(ctx, domain.System, b.Experiment), domain.CodeConflict)
	wantCode(t, b.Projects.DeleteProject(ctx, domain.System, b.Project), domain.CodeConflict)
	for _, l := range all {
		wantOK(t, b.Models.DeleteModelVersion(ctx, domain.System, l.LinkID))
	}
	wantOK(t, b.Collections.DeleteCollection(ctx, domain.System, b.Experiment, "net"))
	if left := must(b.Collections.AllCollections(ctx, domain.System, b.Project, ""))(t); len(left) != 0 {
		t.Errorf("collections %+v", left)
	}
}

// A link is visible only to users who may read both projects. Linking requires the right to read the
// version and to create in the project of the model, and an alias of an existing link the right to
// update.
func TestRightsOfLinks(t *testing.T) {
	b := newBed(t)
	a := b.log(t, b.Iteration, "net", "model", "1")
	home := must(b.Projects.CreateProject(ctx, domain.System, domain.NewProject{Name: "registry"}))(t).ID
	ada := must(b.Users.CreateUser(ctx, domain.System, users.NewUser{Username: "ada", Password: "correct horse battery"}))(t).ID
	actor := domain.Actor{UserID: ada}
	source := must(b.Users.CreateUserPermission(ctx, domain.System, ada, b.Project, users.PermissionPatch{Create: new(true), Update: new(true)}))(t).ID
	target := must(b.Users.CreateUserPermission(ctx, domain.System, ada, home, users.PermissionPatch{Read: new(true), Update: new(true)}))(t).ID
	link := func(aliases ...string) error {
		_, err := b.Collections.LinkVersion(ctx, actor, a.ID, home, "m", aliases)
		return err
	}
	wantCode(t, link(), domain.CodeProjectPermissionRequired)
	wantOK(t, b.Users.UpdateUserPermission(ctx, domain.System, source, users.PermissionPatch{Create: new(false), Update: new(false), Read: new(true)}))
	wantCode(t, link(), domain.CodeProjectPermissionRequired)
	wantOK(t, b.Users.UpdateUserPermission(ctx, domain.System, target, users.PermissionPatch{Create: new(true), Read: new(false), Update: new(false)}))
	wantOK(t, link("first"))
	wantOK(t, link())
	wantCode(t, link("second"), domain.CodeProjectPermissionRequired)
	wantOK(t, b.Users.UpdateUserPermission(ctx, domain.System, target, users.PermissionPatch{Update: new(true)}))
	wantOK(t, link("second"))

	if found := must(b.Collections.Links(ctx, actor, collections.LinkSearch{VersionID: a.ID}))(t); len(found) != 0 {
		t.Errorf("a user who can't read the model's project sees %+v", found)
	}
	wantOK(t, b.Users.UpdateUserPermission(ctx, domain.System, target, users.PermissionPatch{Read: new(true)}))
	for _, q := range []collections.LinkSearch{{VersionID: a.ID}, {ProjectID: home, Model: "m"}} {
		if found := must(b.Collections.Links(ctx, actor, q))(t); len(found) != 1 {
			t.Errorf("links %+v", found)
		}
	}
	wantOK(t, b.Users.UpdateUserPermission(ctx, domain.System, source, users.PermissionPatch{Read: new(false), Create: new(true)}))
	if found := must(b.Collections.Links(ctx, actor, collections.LinkSearch{ProjectID: home}))(t); len(found) != 0 {
		t.Errorf("a user who can't read the artifact's project sees %+v", found)
	}
}

// A collection has a description, tags and the type of its versions.
func TestUpdateCollection(t *testing.T) {
	b := newBed(t)
	b.log(t, b.Iteration, "net", "model", "1")
	b.log(t, b.Iteration, "net", "model", "2")
	text, kind := "A net.", "network"
	wantOK(t, b.Collections.UpdateCollection(ctx, domain.System, b.Experiment, "net", collections.CollectionPatch{Description: &text, AddTags: []string{"b", "a", "b"}}))
	wantOK(t, b.Collections.UpdateCollection(ctx, domain.System, b.Experiment, "net", collections.CollectionPatch{Type: &kind, RemoveTags: []string{"b"}, AddTags: []string{"c"}}))
	wantCode(t, b.Collections.UpdateCollection(ctx, domain.System, b.Experiment, "other", collections.CollectionPatch{Description: &text}), domain.CodeNotFound)
	found := must(b.Collections.AllCollections(ctx, domain.System, b.Project, "net"))(t)
	if len(found) != 1 || found[0].Description != text || !slices.Equal(found[0].Tags, []string{"a", "c"}) || found[0].Type != kind || found[0].Versions != 2 {
		t.Errorf("collections %+v", found)
	}
	if got := b.find(t, collections.Search{Type: kind}); got != "net:v1 net:v0" {
		t.Errorf("versions of the type: %s", got)
	}
	wantOK(t, b.Collections.DeleteCollection(ctx, domain.System, b.Experiment, "net"))
	b.log(t, b.Iteration, "net", "model", "3")
	if found := must(b.Collections.AllCollections(ctx, domain.System, b.Project, "net"))(t); len(found) != 1 || found[0].Description != "" || len(found[0].Tags) != 0 {
		t.Errorf("collections %+v", found)
	}
}

// A version is deleted when its time to live has passed, unless it is linked.
func TestDeleteExpired(t *testing.T) {
	b := newBed(t)
	var all []collections.Version
	for i, content := range []string{"1", "2", "3"} {
		a := b.log(t, b.Iteration, "net", "model", content)
		if i < 2 {
			must(b.Collections.UpdateVersion(ctx, domain.System, a.ID, collections.Patch{TTL: new(int64(60))}))(t)
		}
		all = append(all, a)
	}
	must(b.Collections.LinkVersion(ctx, domain.System, all[0].ID, b.Project, "m", nil))(t)
	expire := func(want string) {
		t.Helper()
		wantOK(t, b.Collections.DeleteExpired(ctx))
		if got := b.find(t, collections.Search{}); got != want {
			t.Errorf("versions %q, want %q", got, want)
		}
	}
	expire("net:v2 net:v1 net:v0")
	b.Clock.Add(59 * time.Second)
	expire("net:v2 net:v1 net:v0")
	b.Clock.Add(time.Second)
	expire("net:v2 net:v0")
	for _, seconds := range []int64{-1, 1 << 40} {
		_, err := b.Collections.UpdateVersion(ctx, domain.System, all[2].ID, collections.Patch{TTL: &seconds})
		wantCode(t, err, domain.CodeInvalidPayload)
	}
}
