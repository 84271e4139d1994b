package wandb_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"tracker/store/domain"
	"tracker/store/users"
)

const upsertView = `mutation ($i: ID, $t: String, $n: String, $d: String, $s: String!) {
	upsertView(input: {id: $i, projectName: "p", type: $t, name: $n, displayName: $d, spec: $s}) { inserted view { id name displayName spec } } }`

// viewID returns the id of the only view of a type in the project p.
func (b bed) viewID(kind string, as opt) string {
	b.Helper()
	var found struct {
		Data struct {
			Project struct {
				AllViews struct {
					Edges []struct{ Node struct{ ID string } }
				}
			}
		}
	}
	a := b.query(fmt.Sprintf(`{ project(name: "p") { allViews(viewType: %q) { edges { node { id } } } } }`, kind), nil, as).wants(200)
	b.must(json.Unmarshal([]byte(a.body), &found))
	if len(found.Data.Project.AllViews.Edges) != 1 {
		b.Fatal(a.body)
	}
	return found.Data.Project.AllViews.Edges[0].Node.ID
}

// Workspaces and reports can be saved, read, changed and deleted by users with the rights for it.
func TestViewRights(t *testing.T) {
	t.Parallel()
	b := start(t, true)
	projectID, err := b.db.Projects.CreateProject(t.Context(), domain.System, domain.NewProject{Name: "p"})
	b.must(err)
	user := func(name string, p *users.PermissionPatch) opt {
		made, err := b.db.Users.CreateUser(t.Context(), domain.System, users.NewUser{Username: name, Password: password})
		b.must(err)
		if p != nil {
			_, err = b.db.Users.CreateUserPermission(t.Context(), domain.System, made.ID, projectID.ID, *p)
			b.must(err)
		}
		k, err := b.db.Users.CreateAPIKey(t.Context(), domain.System, made.ID, users.NewAPIKey{Name: "k"})
		b.must(err)
		return key(k.Key)
	}
	nobody, reader := user("nobody", nil), user("reader", &users.PermissionPatch{})
	writer := user("writer", &users.PermissionPatch{Create: new(true), Update: new(true), Delete: new(true)})
	for _, kind := range []string{"project-view", "runs"} {
		v := map[string]any{"t": kind, "n": "nw-abc-v", "d": "Mine", "s": `{"blocks":[]}`}
		b.query(upsertView, v, reader).wants(403)
		b.query(upsertView, v, writer).has(`"inserted":true`)
		all := fmt.Sprintf(`{ project(name: "p") { allViews(viewType: %q, viewName: "nw-abc-v") { edges { node { id spec } } } } }`, kind)
		b.query(all, nil, reader).has(`"spec":"{\"blocks\":[]}"`)
		b.query(all, nil, nobody).is(`{"data":{"project":null}}`)
		id := b.viewID(kind, writer)
		one := fmt.Sprintf(`{ view(id: %q) { displayName spec } }`, id)
		b.query(one, nil, reader).is(`{"data":{"view":{"displayName":"Mine","spec":"{\"blocks\":[]}"}}}`)
		b.query(one, nil, nobody).wants(403)
		v["i"], v["d"] = id, "Better"
		b.query(upsertView, v, reader).wants(403)
		b.query(upsertView, v, writer).has(`"displayName":"Better","id":"` + id + `"`)
		remove := fmt.Sprintf(`mutation { deleteView(input: {id: %q, deleteDrafts: true}) { success } }`, id)
		b.query(remove, nil, reader).wants(403)
		b.query(remove, nil, writer).is(`{"data":{"deleteView":{"success":true}}}`)
		b.query(one, nil, reader).is(`{"data":{"view":null}}`)
	}
	for _, bad := range []map[string]any{{"t": "odd", "s": "{}"}, {"t": "runs", "s": "nonsense"}, {"t": "runs", "s": "{}", "i": "odd"},
		{"t": "project-view", "s": "[]"}} {
		if a := b.query(upsertView, bad, writer); a.status < 400 || a.status >= 500 {
			t.Errorf("%v: %d %s", bad, a.status, a.body)
		}
	}
	b.query(`{ view(id: "odd") { id } }`, nil, reader).is(`{"data":{"view":null}}`)
}
