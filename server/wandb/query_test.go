package wandb_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tracker/server/wandb"
	"tracker/store/console"
	"tracker/store/domain"
	"tracker/store/users"
)

// queryLines has a document for every query field, and a string that it must return to callers who
// may read the records, or "".
var queryLines = []struct{ name, document, shows string }{
	{"viewer", `viewer { projects { edges { node { id } } } }`, "project"},
	{"entity", `entity(name: "me") { projects { edges { node { id } } } }`, "project"},
	{"models", `models { edges { node { id } } }`, "project"},
	{"projects", `projects { edges { node { id } } }`, "project"},
	{"model", `model(name: "$project") { id }`, "project"},
	{"project", `project(name: "$project") { id runs { edges { node { id } } } }`, "run"},
	{"artifact", `artifact(id: "$artifact") { id }`, "artifact"},
	{"clientIDMapping", `clientIDMapping(clientID: "$artifact") { serverID }`, "artifact"},
	{"artifactCollection", `artifactCollection(id: "$model") { id }`, "model"},
	{"organization", `organization(name: "me") { orgEntity { artifactMemberships { edges { node { id } } } } }`, ""},
	{"users", `users(query: "ada") { edges { node { username } } }`, ""},
	{"view", `view(id: "$view") { id }`, "view"},
	{"serverInfo", `serverInfo { features { name } }`, ""},
	{"__type", `__type(name: "ServerSettings") { name }`, ""},
}

// Every query field shows the records of a project only to callers who may read the project. The
// test fails for a field without a line.
func TestQueriesByIdentity(t *testing.T) {
	t.Parallel()
	b := start(t, true)
	apiKey := func(id string) opt {
		k, err := b.db.Users.CreateAPIKey(t.Context(), domain.System, id, users.NewAPIKey{Name: "k"})
		b.must(err)
		return key(k.Key)
	}
	admin, err := b.db.Users.DefaultUser(t.Context())
	b.must(err)
	w := b.mutationWorld(apiKey(admin.ID))
	ada, err := b.db.Users.CreateUser(t.Context(), domain.System, users.NewUser{Username: "ada", Password: password})
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
	granted, err := b.db.Users.CreateUserPermission(t.Context(), domain.System, ada.ID, w["project"],
		users.PermissionPatch{Create: new(true), Read: new(false), Update: new(true), Delete: new(true)})
	b.must(err)
	each(false)
	b.must(b.db.Users.UpdateUserPermission(t.Context(), domain.System, granted.ID,
		users.PermissionPatch{Create: new(false), Read: new(true), Update: new(false), Delete: new(false)}))
	each(true)
	for _, name := range wandb.Queries() {
		if !asked[name] {
			t.Errorf("no line for the field %s of a query: say what it shows", name)
		}
	}
}

// The console can be read in pages from the first line, or from the end.
func TestLogLines(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	b.run("p", "r")
	const lines = 12_000
	content := make([]string, lines)
	for i := range content {
		content[i] = fmt.Sprintf("line %d", i)
	}
	body, err := json.Marshal(map[string]any{"files": map[string]any{"output.log": map[string]any{"offset": 0, "content": content}}})
	b.must(err)
	b.stream("p", "r", string(body)).wants(200)
	type page struct {
		Edges []struct {
			Node struct {
				Line   string `json:"line"`
				Number int    `json:"number"`
			} `json:"node"`
		} `json:"edges"`
		PageInfo struct {
			EndCursor   string `json:"endCursor"`
			HasNextPage bool   `json:"hasNextPage"`
		} `json:"pageInfo"`
	}
	read := func(arguments string) page {
		t.Helper()
		var out struct {
			Data struct {
				Project struct {
					Run struct {
						LogLines page `json:"logLines"`
					} `json:"run"`
				} `json:"project"`
			} `json:"data"`
		}
		a := b.query(`{ project(name: "p") { run(name: "r") { logLines`+arguments+` { edges { node { line number } } pageInfo { endCursor hasNextPage } } } } }`, nil).wants(200)
		b.must(json.Unmarshal([]byte(a.body), &out))
		return out.Data.Project.Run.LogLines
	}
	next, after := 0, ""
	for more := true; more; {
		p := read(`(first: 5000` + after + `)`)
		for _, e := range p.Edges {
			if e.Node.Number != next || e.Node.Line != content[next] {
				t.Fatalf("line %d is number %d, %q", next, e.Node.Number, e.Node.Line)
			}
			next++
		}
		after, more = `, after: "`+p.PageInfo.EndCursor+`"`, p.PageInfo.HasNextPage
	}
	if next != lines {
		t.Errorf("there are %d lines, want %d", next, lines)
	}
	if p := read(`(last: 2)`); len(p.Edges) != 2 || p.Edges[0].Node.Number != lines-2 || p.PageInfo.HasNextPage {
		t.Errorf("the last two lines are %+v", p)
	}
	b.query(`{ project(name: "p") { run(name: "r") { logLines(first: 5, after: "x") { edges { node { line } } } } } }`, nil).wants(400)
}

// If a request has too many console lines, the stored console begins with a line that reports the
// omitted lines.
func TestLogLinesDropped(t *testing.T) {
	t.Parallel()
	for _, lines := range []int{console.MaxLines + 1, 2 * console.MaxLines, 2*console.MaxLines + 1} {
		b := start(t, false)
		b.run("p", "r")
		body, err := json.Marshal(map[string]any{"files": map[string]any{"output.log": map[string]any{"offset": 0, "content": make([]string, lines)}}})
		b.must(err)
		b.stream("p", "r", string(body)).wants(200)
		b.query(`{ project(name: "p") { run(name: "r") { logLines(first: 1) { edges { node { line } } } } } }`, nil).
			has(fmt.Sprintf("… earlier lines, up to number %d, were dropped", lines-console.MaxLines))
	}
}
