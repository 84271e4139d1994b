package wandb_test

import (
	"fmt"
	"strings"
	"testing"

	"tracker/store"
)

// The files of a run are listed without those of the versions that it has logged, however
// much the versions say about themselves.
func TestFilesOfRunLeaveOutVersions(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	b.run("p", "r")
	long := strings.Repeat("x", store.MaxText)
	for i := range 35 {
		a, err := b.db.CreateWandbArtifact(t.Context(), store.System, store.NewWandbArtifact{IterationID: b.id("p", "r"),
			Collection: "c", Type: "t", Digest: fmt.Sprint(i), Description: long, Metadata: `"` + long[2:] + `"`})
		b.must(err)
		b.send("PUT", "/artifacts/"+a.ID+"/wandb_manifest.json", `{"contents":{}}`).wants(200)
		_, err = b.db.CommitWandbArtifact(t.Context(), store.System, a.ID, nil)
		b.must(err)
	}
	// The last three are no versions.
	for _, name := range []string{"c:v0/in", "c:v34/in/it", "c:v100/a.txt", "c:v9", "wc:v9/b.txt"} {
		b.send("PUT", "/files/me/p/r/"+name, "x").wants(200)
	}
	b.query(`{ project(name: "p") { run(name: "r") { fileCount files { edges { node { name } } } } } }`, nil).
		is(`{"data":{"project":{"run":{"fileCount":3,"files":{"edges":[
			{"node":{"name":"c:v100/a.txt"}},{"node":{"name":"c:v9"}},{"node":{"name":"wc:v9/b.txt"}}]}}}}}`)
}
