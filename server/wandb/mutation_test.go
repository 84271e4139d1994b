package wandb_test

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	protocol "tracker/server/wandb"
	"tracker/store/collections"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/projects"
	"tracker/store/registry"
	"tracker/store/users"
	"tracker/store/wandb"
)

// mutationLine is a mutation that succeeds for a caller with the needed rights. Names that begin
// with $ in the input stand for records of the world.
type mutationLine struct{ name, needs, input string }

// mutationLines has at least one line for every mutation. All lines succeed in this order.
var mutationLines = []mutationLine{
	{"upsertBucket", "create", `modelName: "$project", name: "run", config: "{\"new\":{\"value\":1}}"`},
	{"upsertBucket", "update", `id: "$run", displayName: "n"`},
	{"upsertModel", "read", `name: "$project"`},
	{"upsertModel", "read update", `name: "$project", description: "d"`},
	{"createRunFiles", "", `projectName: "$project", runName: "run", files: ["a.txt"]`}, // the returned address alone grants no permission
	{"markRunFilesUploaded", "", `projectName: "$project"`},                             // this mutation does nothing
	{"notifyScriptableRunAlert", "read update", `projectName: "$project", runName: "run", title: "t", text: "x"`},
	{"deleteFiles", "delete", `files: ["$file"]`},
	{"deleteRun", "delete", `id: "$other"`},
	{"createArtifact", "create", `projectName: "$project", runName: "run", artifactTypeName: "t", artifactCollectionName: "c", digest: "new"`},
	{"createArtifactManifest", "create", `artifactID: "$pending"`},
	{"createArtifactManifest", "read", `artifactID: "$artifact"`},
	{"updateArtifactManifest", "create", `artifactManifestID: "$pending"`},
	{"createArtifactFiles", "create", `artifactFiles: [{artifactID: "$pending", name: "f"}]`},
	{"commitArtifact", "create read", `artifactID: "$pending"`},
	{"updateArtifact", "update", `artifactID: "$artifact", description: "x"`},
	{"addAliases", "update", `artifactID: "$artifact", aliases: [{alias: "best"}]`},
	{"deleteAliases", "update", `artifactID: "$artifact", aliases: [{alias: "best"}]`},
	{"useArtifact", "create read", `artifactID: "$artifact", projectName: "$project", runName: "run"`},
	{"deleteArtifact", "delete", `artifactID: "$artifact"`},
	{"linkArtifact", "create read", `artifactID: "$linked", projectName: "$project", artifactPortfolioName: "m"`},
	{"addAliases", "read update", `artifactID: "$linked", aliases: [{alias: "best", projectName: "p", artifactCollectionName: "m"}]`},
	{"deleteAliases", "read update", `artifactID: "$linked", aliases: [{alias: "best", projectName: "p", artifactCollectionName: "m"}]`},
	{"updateArtifactSequence", "read update", `artifactSequenceID: "$sequence", description: "x"`},
	{"updateArtifactPortfolio", "read update", `artifactPortfolioID: "$model", description: "x"`},
	{"moveArtifactSequence", "read update", `artifactSequenceID: "$sequence", destinationArtifactTypeName: "new"`},
	{"createArtifactCollectionTagAssignments", "read update", `projectName: "$project", artifactCollectionName: "linked", tags: [{tagName: "a"}]`},
	{"deleteArtifactCollectionTagAssignments", "read update", `projectName: "$project", artifactCollectionName: "linked", tags: [{tagName: "a"}]`},
	{"unlinkArtifact", "read delete", `artifactID: "$linked", artifactPortfolioID: "$model"`},
	{"deleteArtifactPortfolio", "delete", `artifactPortfolioID: "$other model"`},
	{"deleteArtifactSequence", "delete", `artifactSequenceID: "$other sequence"`},
	{"stopRun", "update", `id: "$run"`},
	{"updateRunState", "update", `id: "$run", state: "failed"`},
	{"renameProject", "update", `oldProjectName: "$project", newProjectName: "renamed"`},
	{"upsertSweep", "create", `projectName: "$project", config: "{method: random, parameters: {x: {value: 1}}}"`},
	{"createAgent", "create", `sweep: "$sweep"`},
	{"agentHeartbeat", "create", `id: "$agent"`},
	{"upsertSweep", "update", `id: "$sweep", state: "PAUSED"`},
	{"upsertView", "create read", `projectName: "$project", type: "runs", name: "n", spec: "{}"`},
	{"upsertView", "create read", `projectName: "$project", type: "project-view", name: "nw-a-v", spec: "{}"`},
	{"upsertView", "read update", `id: "$view", projectName: "$project", type: "runs", spec: "{}"`},
	{"deleteView", "delete", `id: "$view"`},
	{"deleteModel", "delete", `id: "$project"`},
}

// Every mutation requires exactly the rights that its lines name. The callers are users with each
// set of rights, a user with none, and a caller without a token. The test fails for a mutation
// without a line.
func TestMutationsByIdentity(t *testing.T) {
	t.Parallel()
	b := start(t, true)
	admin, err := b.db.Users.DefaultUser(t.Context())
	b.must(err)
	user := func(name string) (string, opt) {
		t.Helper()
		made, err := b.db.Users.CreateUser(t.Context(), domain.System, users.NewUser{Username: name, Password: password})
		b.must(err)
		k, err := b.db.Users.CreateAPIKey(t.Context(), domain.System, made.ID, users.NewAPIKey{Name: "k"})
		b.must(err)
		return made.ID, key(k.Key)
	}
	roots, err := b.db.Users.CreateAPIKey(t.Context(), domain.System, admin.ID, users.NewAPIKey{Name: "k"})
	b.must(err)
	root := key(roots.Key)
	ada, asAda := user("ada")
	_, stranger := user("stranger")
	w := b.mutationWorld(root)
	granted, err := b.db.Users.CreateUserPermission(t.Context(), domain.System, ada, w["project"], users.PermissionPatch{})
	b.must(err)

	asked := map[string]bool{}
	for _, line := range mutationLines {
		asked[line.name] = true
		document := `mutation { ` + line.name + `(input: {` + expand(line.input, w) + `}) { __typename } }`
		needs := strings.Fields(line.needs)
		b.query(document, nil).wants(401)
		b.query(document, nil, key(strings.Repeat("x", 40))).wants(401)
		// These mutations create a new project if the caller can't use the named one.
		if makesOwn := slices.Contains([]string{"upsertBucket", "upsertSweep"}, line.name) && line.needs == "create"; len(needs) > 0 && !makesOwn {
			b.query(document, nil, stranger).wants(403)
		}
		exact := 0
		rights := []string{"create", "read", "update", "delete"}
		grant := func(set int) {
			has := func(i int) *bool { return new(set&(1<<i) != 0) }
			b.must(b.db.Users.UpdateUserPermission(t.Context(), domain.System, granted.ID,
				users.PermissionPatch{Create: has(0), Read: has(1), Update: has(2), Delete: has(3)}))
		}
		for set := range 1 << len(rights) {
			var has []string
			for i, r := range rights {
				if set&(1<<i) != 0 {
					has = append(has, r)
				}
			}
			missing := slices.ContainsFunc(needs, func(n string) bool { return !slices.Contains(has, n) })
			if !missing && len(has) == len(needs) {
				exact = set
			}
			if missing && !(slices.Contains([]string{"upsertBucket", "upsertSweep"}, line.name) && line.needs == "create") {
				grant(set)
				b.query(document, nil, asAda).wants(403)
			}
		}
		grant(exact)
		b.query(document, nil, asAda).wants(200)
	}
	for _, name := range protocol.Mutations() {
		if !asked[name] {
			t.Errorf("no line for the mutation %s: say what it needs", name)
		}
	}
}

// mutationWorld creates the records that the lines name.
func (b bed) mutationWorld(root opt) map[string]string {
	b.Helper()
	b.run("p", "run", root)
	b.run("p", "other", root)
	w := map[string]string{"run": b.id("p", "run"), "other": b.id("p", "other")}
	it, err := b.db.Runs.Iteration(b.Context(), domain.System, w["run"])
	b.must(err)
	e, err := b.db.Projects.Experiment(b.Context(), domain.System, it.ExperimentID)
	b.must(err)
	w["project"] = e.ProjectID
	searched := "method: random\nparameters: {x: {value: 1}}"
	_, err = b.db.Wandb.SaveSweep(b.Context(), domain.System, wandb.SweepChange{NewID: "abcdefgh", Project: e.ProjectID, Config: &searched})
	b.must(err)
	w["sweep"], w["agent"] = "abcdefgh", "abcdefgh-agent"
	b.send("PUT", "/files/me/p/run/there.txt", "x", root).wants(200)
	files, err := b.db.Files.Artifacts(b.Context(), domain.System, e.ID, files.ArtifactQuery{Page: domain.FirstPage})
	b.must(err)
	w["file"] = files.Data[0].ID
	report, err := b.db.Projects.CreateReport(b.Context(), domain.System, e.ProjectID, projects.NewReport{Name: "r"})
	b.must(err)
	w["view"] = base64.StdEncoding.EncodeToString([]byte("View:" + report.ID))
	for _, name := range []string{"pending", "artifact"} {
		var made struct {
			Data struct {
				CreateArtifact struct {
					Artifact struct {
						ID string `json:"id"`
					} `json:"artifact"`
				} `json:"createArtifact"`
			} `json:"data"`
		}
		a := b.query(`mutation { createArtifact(input: {projectName: "p", runName: "run", artifactTypeName: "t", artifactCollectionName: "c", digest: "`+
			name+`"}) { artifact { id } } }`, nil, root).wants(200)
		b.must(json.Unmarshal([]byte(a.body), &made))
		w[name] = made.Data.CreateArtifact.Artifact.ID
		b.send("PUT", "/artifacts/"+w[name]+"/wandb_manifest.json", `{"contents":{}}`, root).wants(200)
	}
	b.query(`mutation { commitArtifact(input: {artifactID: "`+w["artifact"]+`"}) { artifact { id } } }`, nil, root).wants(200)
	logged := func(name string) string {
		b.Helper()
		a, err := b.db.Collections.CreateVersion(b.Context(), domain.System, collections.NewVersion{IterationID: w["run"], Collection: name, Type: "t", Digest: "d"})
		b.must(err)
		_, err = b.db.Collections.CommitVersion(b.Context(), domain.System, a.ID, nil)
		b.must(err)
		return a.ID
	}
	w["linked"], w["sequence"], w["other sequence"] = logged("linked"), e.ID+"/linked", e.ID+"/other"
	logged("other")
	link, err := b.db.Collections.LinkVersion(b.Context(), domain.System, w["linked"], e.ProjectID, "m", nil)
	b.must(err)
	w["model"] = link.ModelID
	other, err := b.db.Models.CreateModel(b.Context(), domain.System, e.ProjectID, registry.NewModel{Name: "other"})
	b.must(err)
	w["other model"] = other.ID
	return w
}

func expand(text string, w map[string]string) string {
	for name, value := range w {
		text = strings.ReplaceAll(text, `"$`+name+`"`, `"`+value+`"`)
	}
	return text
}

// Forking a run is rejected before the new run is created.
func TestForkIsRefused(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	a := b.query(`mutation ($c: JSONString) { upsertBucket(input: {modelName: "p", name: "r", config: $c}) { inserted } }`,
		map[string]any{"c": `{"_wandb":{"value":{"branch_point":{"run_id":"first","step":3}}}}`})
	if a.status != 400 || !strings.Contains(a.body, "fork_from") {
		t.Errorf("%d %s", a.status, a.body)
	}
	b.query(`{ project(name: "p") { id } }`, nil).is(`{"data":{"project":null}}`)
}
