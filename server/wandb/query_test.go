package wandb_test

import (
	"strings"
	"testing"

	"tracker/server/wandb"
	"tracker/store"
)

// queryLines has every field of a query, with what it returns of the world to those who may
// read: "" for nothing.
var queryLines = []struct{ name, document, shows string }{
	{"viewer", `viewer { projects { edges { node { id } } } }`, "project"},
	{"entity", `entity(name: "me") { projects { edges { node { id } } } }`, "project"},
	{"models", `models { edges { node { id } } }`, "project"},
	{"projects", `projects { edges { node { id } } }`, "project"},
	{"model", `model(name: "$project") { id }`, "project"},
	{"project", `project(name: "$project") { id runs { edges { node { id } } } }`, "run"},
	{"artifact", `artifact(id: "$artifact") { id }`, "artifact"},
	{"clientIDMapping", `clientIDMapping(clientID: "$artifact") { serverID }`, "artifact"},
	{"serverInfo", `serverInfo { features { name } }`, ""},
	{"__type", `__type(name: "ServerSettings") { name }`, ""},
}

// Every field of a query shows the records of a project to those who may read it, and to
// nobody else. A new field without a line fails.
func TestQueriesByIdentity(t *testing.T) {
	t.Parallel()
	b := start(t, true)
	apiKey := func(id string) opt {
		k, err := b.db.CreateAPIKey(t.Context(), store.System, id, "k")
		b.must(err)
		return key(k)
	}
	admin, err := b.db.DefaultUser(t.Context())
	b.must(err)
	w := b.mutationWorld(apiKey(admin.ID))
	ada, err := b.db.CreateUser(t.Context(), store.System, store.NewUser{Username: "ada", Password: password})
	b.must(err)
	asAda := apiKey(ada.ID)
	asked := map[string]bool{}
	each := func(allowed bool) {
		t.Helper()
		for _, line := range queryLines {
			asked[line.name] = true
			document := "{ " + expand(line.document, w) + " }"
			b.query(document, nil).wants(401)
			a := b.query(document, nil, asAda)
			if line.shows == "" || allowed {
				a.wants(200)
			}
			if line.shows != "" && strings.Contains(a.body, w[line.shows]) != allowed {
				t.Errorf("allowed %t: %s answers %d %s", allowed, line.name, a.status, a.body)
			}
		}
	}
	each(false)
	granted, err := b.db.CreateUserPermission(t.Context(), store.System, ada.ID, w["project"],
		store.PermissionPatch{Create: new(true), Read: new(false), Update: new(true), Delete: new(true)})
	b.must(err)
	each(false)
	b.must(b.db.UpdateUserPermission(t.Context(), store.System, granted.ID,
		store.PermissionPatch{Create: new(false), Read: new(true), Update: new(false), Delete: new(false)}))
	each(true)
	for _, name := range wandb.Queries() {
		if !asked[name] {
			t.Errorf("no line for the field %s of a query: say what it shows", name)
		}
	}
}
