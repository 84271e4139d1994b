package wandb_test

import (
	"crypto/md5"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	protocol "tracker/server/wandb"
	"tracker/store/collections"
	"tracker/store/domain"
	"tracker/store/files"
)

// Two runs write one version. Sending a manifest part again changes nothing, and the parts do not
// affect other versions.
func TestSeveralWriters(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	ids := map[string]string{}
	ask := func(document string, path ...string) string {
		t.Helper()
		var out map[string]any
		b.must(json.Unmarshal([]byte(b.query(document, nil).wants(200).body), &out))
		var at any = out["data"]
		for _, name := range path {
			at = at.(map[string]any)[name]
		}
		return at.(string)
	}
	for i, name := range []string{"one", "two", "three"} {
		b.run("p", name)
		shared := `, distributedID: "d"`
		if name == "three" {
			shared = ""
		}
		ids[name] = ask(fmt.Sprintf(`mutation { createArtifact(input: {projectName: "p", runName: %q, artifactTypeName: "t", artifactCollectionName: "c",
			digest: "%d", clientID: "%s", aliases: [{alias: "a%d"}]%s}) { artifact { id } } }`, name, i, name, i, shared), "createArtifact", "artifact", "id")
	}
	if ids["one"] != ids["two"] || ids["one"] == ids["three"] {
		t.Fatalf("the versions are %v", ids)
	}
	part := func(file, sum string, times int) {
		t.Helper()
		id := ask(`mutation { createArtifactManifest(input: {artifactID: "`+ids["one"]+`", type: PATCH}) { artifactManifest { id } } }`,
			"createArtifactManifest", "artifactManifest", "id")
		link := ask(`mutation { updateArtifactManifest(input: {artifactManifestID: "`+id+`"}) { artifactManifest { file { uploadUrl } } } }`,
			"updateArtifactManifest", "artifactManifest", "file", "uploadUrl")
		for range times {
			b.send("PUT", link, `{"version":1,"contents":{"`+file+`":{"digest":"`+sum+`","ref":"s3://`+sum+`","extra":{"etag":"e"}}}}`).wants(200)
		}
	}
	part("a", "x", 2)
	part("b", "y", 1)
	part("a", "z", 1)
	b.query(`mutation { commitArtifact(input: {artifactID: "`+ids["one"]+`"}) { artifact { state digest fileCount aliases { alias }
		files { edges { node { name directUrl } } } } } }`, nil).is(
		`{"data":{"commitArtifact":{"artifact":{"aliases":[{"alias":"a0"},{"alias":"a1"},{"alias":"latest"},{"alias":"v0"}],` +
			`"digest":"` + fmt.Sprintf("%x", md5.Sum([]byte("wandb-artifact-manifest-v1\na:z\nb:y\n"))) + `","fileCount":2,` +
			`"files":{"edges":[{"node":{"directUrl":"s3://z","name":"a"}},{"node":{"directUrl":"s3://y","name":"b"}}]},"state":"COMMITTED"}}}}`)
	manifest := ask(`{ artifact(id: "`+ids["one"]+`") { currentManifest { file { directUrl } } } }`, "artifact", "currentManifest", "file", "directUrl")
	b.send("GET", manifest, "").is(`{"version":1,"contents":{"a":{"digest":"z","ref":"s3://z","extra":{"etag":"e"}},"b":{"digest":"y","ref":"s3://y","extra":{"etag":"e"}}}}`)
}

// The number of parts is checked when a part is started, so no part is uploaded in vain.
func TestManyWriters(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	b.run("p", "r")
	var out struct {
		Data struct {
			CreateArtifact struct {
				Artifact struct {
					ID string `json:"id"`
				} `json:"artifact"`
			} `json:"createArtifact"`
		} `json:"data"`
	}
	a := b.query(`mutation { createArtifact(input: {projectName: "p", runName: "r", artifactTypeName: "t", artifactCollectionName: "c", digest: "d",
		distributedID: "d"}) { artifact { id } } }`, nil).wants(200)
	b.must(json.Unmarshal([]byte(a.body), &out))
	id := out.Data.CreateArtifact.Artifact.ID
	for i := range protocol.MaxParts {
		data, err := b.db.Files.Receive(t.Context(), strings.NewReader("{}"), "")
		b.must(err)
		b.must(b.db.Files.WriteFile(t.Context(), domain.System, files.Tree{IterationID: b.id("p", "r")}, fmt.Sprintf("c:v0/%s/%d.json", collections.Parts, i), "", data))
		data.Discard()
	}
	got := b.query(`mutation { createArtifactManifest(input: {artifactID: "`+id+`", type: PATCH}) { artifactManifest { id } } }`, nil)
	if !strings.Contains(got.body, "up to 1000 parts") {
		t.Errorf("one part too many: %d %s", got.status, got.body)
	}
}
