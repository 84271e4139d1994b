package wandb_test

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tracker/server/wandb"
	"tracker/store/audit"
	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/users"
)

func TestGraphQL(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	// The server resolves the fields of a document, whatever its name, with aliases, fragments and
	// default values.
	b.query(`query Anything($n: String = "x") { me: viewer { ...F ... on User { entity } ... on Nothing { id: username } } `+
		`__typename e: entity(name: $n) { name nothing { deep } } } fragment F on User { username flags }`, nil).
		is(`{"data":{"__typename":"Query","e":{"name":"x","nothing":null},"me":{"entity":"default","flags":"{}","id":"default","username":"default"}}}`)
	b.query(`query ($yes: Boolean!) { viewer { a: username @include(if: $yes) b: username @skip(if: $yes) c: username @include(if: false) } }`,
		map[string]any{"yes": true}).is(`{"data":{"viewer":{"a":"default"}}}`)
	b.query(`{ serverInfo { cliVersionInfo latestLocalVersionInfo { x } features { name } } }`, nil).
		is(`{"data":{"serverInfo":{"cliVersionInfo":{"max_cli_version":"9.9.9"},"features":[{"name":"TOTAL_COUNT_IN_FILE_CONNECTION"},{"name":"ARTIFACT_TAGS"},` +
			`{"name":"ARTIFACT_REGISTRY_SEARCH"},{"name":"INCLUDE_ARTIFACT_TYPES_IN_REGISTRY_CREATION"},{"name":"PROJECT_ARTIFACT_COLLECTION_MEMBERSHIP"},` +
			`{"name":"ARTIFACT_MEMBERSHIP_IN_LINK_ARTIFACT_RESPONSE"},{"name":"ARTIFACT_COLLECTION_MEMBERSHIP_FILES"},` +
			`{"name":"ARTIFACT_COLLECTIONS_FILTERING_SORTING"}],"latestLocalVersionInfo":null}}}`)
	b.query(`{ __type(name: "ServerSettings") { fields { name } } none: __type(name: "Nope") { name } }`, nil).
		is(`{"data":{"__type":{"fields":[{"name":"serverMessages"}]},"none":null}}`)
	b.query(`{ project(name: "nothing") { id } unknown { field } }`, nil).is(`{"data":{"project":null,"unknown":null}}`)

	for _, c := range []struct{ document, want string }{
		{`mutation { launchRocket(input: {}) { id } }`, "launchRocket"},
		{`query {`, "can't be read"},
		{`fragment F on User { id }`, "no operation"},
		{`{ viewer { ...Nope } }`, "Nope"},
		{`{ viewer { ...A } } fragment A on User { ...B } fragment B on User { ...A }`, "includes itself"},
		{`{ ` + strings.Repeat(`viewer { `, 60) + `id` + strings.Repeat(` }`, 60) + ` }`, ""},
		{`{` + strings.Repeat(` viewer { id }`, 20_000) + `}`, "can't be read"},
	} {
		a := b.query(c.document, nil)
		if c.want == "" {
			a.wants(200) // viewer does not have this field
			continue
		}
		if a.status != 400 || !strings.Contains(a.body, c.want) {
			t.Errorf("%.80s: %d %.300s", c.document, a.status, a.body)
		}
	}
	b.send("POST", "/graphql", `[]`).wants(400)
	b.send("POST", "/graphql", `{`).wants(400)
	b.send("GET", "/graphql", ``).wants(405)
	b.send("POST", "/sdk/otel/v1/metrics", `{}`).wants(404)
}

func TestHistoryIsWrittenOnce(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	b.run("p", "r")
	rows := []string{`{"_step":0,"_timestamp":1.5,"_runtime":1,"loss":2,"n":{"a":1}}`, `{"loss":1,"_step":1,"_timestamp":2.5}`, `{"_step":3,"loss":NaN,"_timestamp":3.5}`}
	const want = "loss 0 2, loss 1 1, loss 3 NaN, n/a 0 1"
	check := func(want string) {
		t.Helper()
		if got := b.points("p", "r"); got != want {
			t.Errorf("the points are %s, want %s", got, want)
		}
	}
	b.history("p", "r", 0, rows...).is(`{"exitcode":null,"limits":{},"stopped":false}`)
	check(want)
	b.history("p", "r", 0, rows...).wants(200) // repeated after a lost response
	check(want)
	b.history("p", "r", 0, rows[:2]...).wants(200) // repeated by an interrupted wandb sync
	b.history("p", "r", 2, `{"_timestamp":3.5,"loss":NaN,"_step":3}`, `{"_step":2,"loss":5,"_timestamp":9}`, `{"_step":4,"loss":6,"_timestamp":9}`).wants(200)
	check("loss 0 2, loss 1 1, loss 2 5, loss 3 NaN, loss 4 6, n/a 0 1")
	// The run id is reused: the same steps come with other values.
	b.history("p", "r", 0, `{"_step":0,"loss":7,"_timestamp":20}`, `{"_step":3,"loss":8,"_timestamp":20}`, `{"_step":3,"loss":9,"_timestamp":21}`).wants(200)
	check("loss 0 7, loss 1 1, loss 2 5, loss 3 9, loss 4 6, n/a 0 1")
	found, err := b.db.Check(t.Context(), false)
	if b.must(err); len(found) > 0 {
		t.Errorf("the database has %v", found)
	}
}

// A stream part is accepted in every state of its run, because a 4xx status would end the client's
// upload.
func TestStreamIsAccepted(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	const going, stopped = `{"exitcode":null,"limits":{},"stopped":false}`, `{"exitcode":null,"limits":{},"stopped":true}`
	b.run("p", "r")
	b.stream("p", "r", `{}`).is(going)
	b.stream("p", "r", ``).is(going)
	b.history("p", "r", 0, `nonsense`, `{"_step":1,"ok":1,"`+strings.Repeat("k", 300)+`":1}`, `{"_step":2,"text":"t","list":[1,{"x":NaN}],"big":1e999}`, `{"no":1}`).is(going)
	if got := b.points("p", "r"); !strings.Contains(got, "ok 1 1") || !strings.Contains(got, "big 2 +Inf") || !strings.Contains(got, "no 3 1") {
		t.Errorf("the points are %s", got)
	}
	w, err := b.db.Wandb.Record(t.Context(), domain.System, "p", "r")
	if b.must(err); len(w.Lost) != 2 {
		t.Errorf("what was lost is %q", w.Lost)
	}
	// If the run is ended on the server, its script is told to stop, and its rows are still stored.
	id := b.id("p", "r")
	b.must(b.db.Runs.UpdateIteration(t.Context(), domain.System, id, runs.IterationPatch{Status: new(domain.Killed)}))
	b.history("p", "r", 4, `{"_step":9,"ok":9}`).is(stopped)
	b.query(`mutation { upsertBucket(input: {modelName: "p", name: "r", config: "{\"a\":{\"value\":1}}"}) { inserted } }`, nil).wants(200)
	b.stream("p", "r", `{"complete":true,"exitcode":255}`).is(stopped)
	if it, err := b.db.Runs.Iteration(t.Context(), domain.System, id); err != nil || it.Status != domain.Killed || !strings.Contains(b.points("p", "r"), "ok 9 9") {
		t.Errorf("%v %v, %s", it.Status, err, b.points("p", "r"))
	}
	// A stopped experiment accepts no new run, so it is reopened.
	e, err := b.db.Runs.Iteration(t.Context(), domain.System, id)
	b.must(err)
	b.must(b.db.Projects.UpdateExperiment(t.Context(), domain.System, e.ExperimentID, projects.ExperimentPatch{Status: new(domain.Stopped)}))
	b.history("p", "r", 5, `{"_step":10,"ok":1}`).wants(200)
	b.run("p", "second")
	// The run is in the trash.
	b.must(b.db.Runs.DeleteIteration(t.Context(), domain.System, id))
	b.history("p", "r", 6, `{"_step":11,"ok":1}`).is(stopped)
	b.query(`mutation { upsertBucket(input: {modelName: "p", name: "r"}) { inserted } }`, nil).wants(409)
	b.history("p", "never", 0, `{"_step":11,"ok":1}`).wants(404)
}

func TestStates(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	state := func(want string) {
		t.Helper()
		b.query(`{ project(name: "p") { run(name: "r") { state } } }`, nil).has(`"state":"` + want + `"`)
	}
	b.run("p", "r")
	state("running")
	b.now.Add(6 * 60_000)
	state("crashed")
	b.stream("p", "r", `{}`).wants(200)
	state("running")
	for _, c := range []struct{ body, want string }{
		{`{"complete":true,"exitcode":0}`, "finished"},
		{`{"complete":true,"exitcode":1}`, "failed"},
		{`{"complete":true,"exitcode":255}`, "killed"},
		{`{"preempting":true}`, "running"},
		{`{"complete":true,"exitcode":1}`, "preempted"},
	} {
		if c.want != "preempted" {
			b.run("p", "r") // resumes the run
		}
		b.stream("p", "r", c.body).wants(200)
		state(c.want)
	}
	b.run("p", "r")
	b.stream("p", "r", `{"preempting":true}`).wants(200)
	b.now.Add(6 * 60_000)
	state("preempted") // after the run has sent no more requests
	b.run("p", "r")
	state("running")
	b.stream("p", "r", `{"complete":true,"exitcode":1}`).wants(200)
	state("failed")
}

// Every route requires exactly the rights that its row names.
func TestIdentities(t *testing.T) {
	t.Parallel()
	b := start(t, true)
	ada, err := b.db.Users.CreateUser(t.Context(), domain.System, users.NewUser{Username: "ada", Password: password})
	b.must(err)
	adas, err := b.db.Users.CreateAPIKey(t.Context(), domain.System, ada.ID, users.NewAPIKey{Name: "k"})
	b.must(err)
	admin, err := b.db.Users.DefaultUser(t.Context())
	b.must(err)
	roots, err := b.db.Users.CreateAPIKey(t.Context(), domain.System, admin.ID, users.NewAPIKey{Name: "k"})
	b.must(err)
	root, asAda := key(roots.Key), key(adas.Key)

	b.run("p", "r", root)
	b.history("p", "r", 0).wants(401)
	b.stream("p", "r", `{"files":{"wandb-history.jsonl":{"offset":0,"content":["{\"_step\":0,\"x\":1,\"_timestamp\":1}"]}}}`, root).wants(200)
	b.run("p", "ended", root)
	b.stream("p", "ended", `{"complete":true,"exitcode":0}`, root).wants(200)
	id, ended := b.id("p", "r"), b.id("p", "ended")
	upload := func(name string, o opt) string {
		t.Helper()
		a := b.query(`mutation { createRunFiles(input: {projectName: "p", runName: "r", files: ["`+name+`"]}) { files { uploadUrl } } }`, nil, o).wants(200)
		var out struct {
			Data struct {
				CreateRunFiles struct {
					Files []struct {
						UploadURL string `json:"uploadUrl"`
					} `json:"files"`
				} `json:"createRunFiles"`
			} `json:"data"`
		}
		b.must(json.Unmarshal([]byte(a.body), &out))
		return out.Data.CreateRunFiles.Files[0].UploadURL
	}
	b.send("PUT", upload("there.txt", root), "x").wants(200)
	made := b.query(`mutation { createArtifact(input: {projectName: "p", runName: "r", artifactTypeName: "t", artifactCollectionName: "c", digest: "d"}) { artifact { id } } }`, nil, root)
	artifact := made.body[strings.Index(made.body, `"id":"`)+6:]
	artifact = artifact[:strings.IndexByte(artifact, '"')]
	made = b.query(`mutation { createArtifact(input: {projectName: "p", runName: "r", artifactTypeName: "t", artifactCollectionName: "c", digest: "done"}) { artifact { id } } }`, nil, root)
	done := made.body[strings.Index(made.body, `"id":"`)+6:]
	done = done[:strings.IndexByte(done, '"')]
	b.send("PUT", "/artifacts/"+done+"/f", "x", root).wants(200)
	sum := md5.Sum([]byte("x"))
	b.send("PUT", "/artifacts/"+done+"/wandb_manifest.json", `{"contents":{"f":{"digest":"`+base64.StdEncoding.EncodeToString(sum[:])+`","size":1}}}`, root).wants(200)
	b.query(`mutation { commitArtifact(input: {artifactID: "`+done+`"}) { artifact { id } } }`, nil, root).wants(200)
	byMD5 := done + "/" + hex.EncodeToString(sum[:])

	// Invalid and missing credentials are rejected.
	for _, o := range []opt{key(strings.Repeat("x", 40)), func(*http.Request) {}} {
		b.query(`{ viewer { id } }`, nil, o).wants(401)
		b.stream("p", "r", `{}`, o).wants(401)
		b.send("GET", "/files/me/p/r/there.txt", "", o).wants(401)
		b.send("PUT", "/files/me/p/r/there.txt", "", o).wants(401)
		b.send("PUT", "/files/me/p/r/there.txt?token=nonsense", "", o).wants(401)
		b.send("GET", "/artifacts/"+artifact+"/f", "", o).wants(401)
		b.send("PUT", "/artifacts/"+artifact+"/f", "", o).wants(401)
		b.send("GET", "/artifactsV2/default/me/"+byMD5, "", o).wants(401)
	}
	// An upload address is valid only for its own file.
	link := upload("there.txt", root)
	b.send("PUT", strings.Replace(link, "there.txt", "other.txt", 1), "x").wants(401)

	e, err := b.db.Runs.Iteration(t.Context(), domain.System, id)
	b.must(err)
	experiment, err := b.db.Projects.Experiment(t.Context(), domain.System, e.ExperimentID)
	b.must(err)
	granted, err := b.db.Users.CreateUserPermission(t.Context(), domain.System, ada.ID, experiment.ProjectID, users.PermissionPatch{})
	b.must(err)
	row := func(step, value string) string {
		return `{"files":{"wandb-history.jsonl":{"offset":0,"content":["{\"_step\":` + step + `,\"x\":` + value + `,\"_timestamp\":1}"]}}}`
	}
	document := func(s string) string { return `{"query":` + quote(s) + `}` }
	const streamRoute, fileRoute, artifactRoute = "/files/{entity}/{project}/{run}/file_stream", "/files/{entity}/{project}/{run}/{name:.+}", "/artifacts/{artifact}/{name:.+}"
	const shortRoute, longRoute = "/artifactsV2/{region}/{entity}/{artifact}/{md5}", "/artifactsV2/{region}/{entity}/{project}/{collection}/{artifact}/{md5}/{name}"
	asked := map[[2]string]bool{{"POST", "/sdk/otel/{rest:.+}"}: true}
	b.send("POST", "/sdk/otel/v1/traces", "{}").wants(404) // this route needs no credentials
	for _, c := range []struct {
		needs, method, route, path, body string
		refused                          int // expected status if a right is missing
	}{
		{"create", "POST", streamRoute, "/files/me/p/r/file_stream", row("5", "1"), 403},
		{"create update", "POST", streamRoute, "/files/me/p/r/file_stream", row("0", "7"), 403},
		{"create update", "POST", streamRoute, "/files/me/p/ended/file_stream", row("0", "1"), 403},
		{"read", "GET", fileRoute, "/files/me/p/r/there.txt", "", 403},
		{"create", "PUT", fileRoute, "/files/me/p/r/new.txt", "x", 403},
		{"create update", "PUT", fileRoute, "/files/me/p/r/there.txt", "y", 403},
		{"create", "POST", "/graphql", "/graphql", document(`mutation { upsertBucket(input: {modelName: "` + experiment.ProjectID + `", name: "r", config: "{\"new\":{\"value\":1}}"}) { inserted } }`), 0},
		{"update", "POST", "/graphql", "/graphql", document(`mutation { upsertBucket(input: {id: "` + id + `", displayName: "n"}) { inserted } }`), 403},
		{"delete", "POST", "/graphql", "/graphql", document(`mutation { deleteRun(input: {id: "` + ended + `"}) { success } }`), 403},
		{"create", "POST", "/graphql", "/graphql", document(`mutation { createArtifact(input: {projectName: "p", runName: "r", artifactTypeName: "t", artifactCollectionName: "c", digest: "d2"}) { artifact { id } } }`), 403},
		{"create", "PUT", artifactRoute, "/artifacts/" + artifact + "/f", "x", 403},
		{"create read", "GET", artifactRoute, "/artifacts/" + artifact + "/f", "", 403}, // the artifact is pending
		{"read", "GET", shortRoute, "/artifactsV2/default/me/" + byMD5, "", 403},
		{"read", "GET", longRoute, "/artifactsV2/default/me/p/c/" + byMD5 + "/f", "", 403},
		{"update", "POST", "/graphql", "/graphql", document(`mutation { updateArtifact(input: {artifactID: "` + artifact + `", description: "x"}) { artifact { id } } }`), 403},
		{"delete", "POST", "/graphql", "/graphql", document(`mutation { deleteArtifact(input: {artifactID: "` + artifact + `"}) { success } }`), 403},
	} {
		asked[[2]string{c.method, c.route}] = true
		all := []string{"create", "read", "update", "delete"}
		grant := func(rights []string) {
			has := func(name string) *bool { return new(slices.Contains(rights, name)) }
			b.must(b.db.Users.UpdateUserPermission(t.Context(), domain.System, granted.ID, users.PermissionPatch{
				Create: has("create"), Read: has("read"), Update: has("update"), Delete: has("delete")}))
		}
		needs := strings.Fields(c.needs)
		for _, missing := range needs {
			if c.refused == 0 {
				continue // without the right, the run is created in a new project of the caller
			}
			grant(slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == missing }))
			b.send(c.method, c.path, c.body, asAda).wants(c.refused)
		}
		grant(needs)
		b.send(c.method, c.path, c.body, asAda).wants(200)
	}
	for _, rt := range wandb.Routes() {
		if !asked[rt] {
			t.Errorf("no line for %s %s: say what it needs", rt[0], rt[1])
		}
	}
	// A caller without the read permission sees nothing.
	grantNone := users.PermissionPatch{Create: new(false), Read: new(false), Update: new(false), Delete: new(false)}
	b.must(b.db.Users.UpdateUserPermission(t.Context(), domain.System, granted.ID, grantNone))
	b.query(`{ project(name: "`+experiment.ProjectID+`") { runs { edges { node { name } } } } }`, nil, asAda).is(`{"data":{"project":null}}`)
	b.query(`{ artifact(id: "`+artifact+`") { id } }`, nil, asAda).wants(403)
}

func quote(s string) string {
	q, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(q)
}

// TestAuditTrail checks that a deletion by W&B's clients has an entry in the audit trail, with the account
// and the API key.
func TestAuditTrail(t *testing.T) {
	b := start(t, true)
	u, err := b.db.Users.UserByName(t.Context(), domain.System, users.DefaultUsername)
	b.must(err)
	secret, err := b.db.Users.CreateAPIKey(t.Context(), domain.System, u.ID, users.NewAPIKey{Name: "laptop"})
	b.must(err)
	b.run("p", "r", key(secret.Key))
	id := b.id("p", "r")
	b.query(`query { model(name: "p") { bucket(name: "r") { id } } }`, nil, key(secret.Key)).wants(200)
	b.query(`mutation { deleteRun(input: {id: "`+id+`"}) { success } }`, nil, key(secret.Key)).wants(200)
	page, err := b.db.Audit.Entries(t.Context(), domain.System, audit.Query{Limit: 10, Record: id})
	b.must(err)
	if len(page.Data) != 1 || page.Data[0].Action != domain.ActionDelete || page.Data[0].Actor != "default" || page.Data[0].Key != "laptop" ||
		page.Data[0].Address != "127.0.0.1" {
		t.Errorf("the entries are %+v", page.Data)
	}
}
