package wandb_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tracker/store/collections"
	"tracker/store/domain"
)

// The files of a run do not include the files of artifact versions that the run has logged,
// whatever the size of the versions' metadata.
func TestFilesOfRunLeaveOutVersions(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	b.run("p", "r")
	long := strings.Repeat("x", domain.MaxText)
	for i := range 35 {
		a, err := b.db.Collections.CreateVersion(t.Context(), domain.System, collections.NewVersion{IterationID: b.id("p", "r"),
			Collection: "c", Type: "t", Digest: fmt.Sprint(i), Description: long, Metadata: `"` + long[2:] + `"`})
		b.must(err)
		b.send("PUT", "/artifacts/"+a.ID+"/wandb_manifest.json", `{"contents":{}}`).wants(200)
		_, err = b.db.Collections.CommitVersion(t.Context(), domain.System, a.ID, nil)
		b.must(err)
	}
	// The last three names do not belong to versions.
	for _, name := range []string{"c:v0/in", "c:v34/in/it", "c:v100/a.txt", "c:v9", "wc:v9/b.txt"} {
		b.send("PUT", "/files/me/p/r/"+name, "x").wants(200)
	}
	b.query(`{ project(name: "p") { run(name: "r") { fileCount files { edges { node { name } } } } } }`, nil).
		is(`{"data":{"project":{"run":{"fileCount":3,"files":{"edges":[
			{"node":{"name":"c:v100/a.txt"}},{"node":{"name":"c:v9"}},{"node":{"name":"wc:v9/b.txt"}}]}}}}}`)
}

// Tags and the time to live of an artifact are not stored. If they are logged, logging succeeds and
// the run records the loss. Changing them later is rejected.
func TestTagsOfArtifacts(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	b.run("p", "r")
	const input = `projectName: "p", runName: "r", artifactTypeName: "t", artifactCollectionName: "c"`
	lost := func() string {
		t.Helper()
		r, err := b.db.Wandb.Record(t.Context(), domain.System, "p", "r")
		b.must(err)
		return strings.Join(r.Lost, "\n")
	}
	create := func(more string) {
		t.Helper()
		b.query(`mutation { createArtifact(input: {`+input+more+`}) { artifact { state } } }`, nil).wants(200)
	}
	create(`, digest: "0", tags: [], ttlDurationSeconds: -1`)
	if got := lost(); got != "" {
		t.Errorf("lost %q", got)
	}
	for range 2 {
		create(`, digest: "1", clientID: "1", tags: [{tagName: "a"}], ttlDurationSeconds: 60`)
	}
	if got := lost(); got != "" {
		t.Errorf("lost %q", got)
	}
	a, err := b.db.Collections.CreateVersion(t.Context(), domain.System, collections.NewVersion{IterationID: b.id("p", "r"), Collection: "c", Type: "t", Digest: "2"})
	b.must(err)
	change := func(more string) answer {
		t.Helper()
		return b.query(`mutation { updateArtifact(input: {artifactID: "`+a.ID+`", description: "new", `+more+`}) { artifact { description } } }`, nil)
	}
	change(`ttlDurationSeconds: 60`).wants(200)
	if changed, err := b.db.Collections.Version(t.Context(), domain.System, a.ID); err != nil || changed.TTL == nil || *changed.TTL != 60 {
		t.Errorf("%v %v", err, changed.TTL)
	}
	change(`ttlDurationSeconds: -2`).wants(200)
	if changed, err := b.db.Collections.Version(t.Context(), domain.System, a.ID); err != nil || changed.TTL != nil {
		t.Errorf("%v %v", err, changed.TTL)
	}
	change(`tagsToAdd: [], tagsToDelete: [], ttlDurationSeconds: null`).wants(200)
	change(`tagsToAdd: [{tagName: "b"}, {tagName: "a"}], tagsToDelete: []`).wants(200)
	change(`tagsToAdd: [{tagName: "c"}], tagsToDelete: [{tagName: "a"}]`).wants(200)
	changed, err := b.db.Collections.Version(t.Context(), domain.System, a.ID)
	b.must(err)
	if want := []string{"b", "c"}; !slices.Equal(changed.Tags, want) {
		t.Errorf("tags %q, want %q", changed.Tags, want)
	}
}

// If a client requests a missing file by name, the response lists the file with the hash 0, which
// clients recognize. Requests for all files or for a pattern do not list it.
func TestFileThatDoesNotExist(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	b.run("p", "r")
	for _, name := range []string{"a.txt", "b.txt"} {
		b.send("PUT", "/files/me/p/r/"+name, "x").wants(200)
	}
	files := func(of, nodes string) {
		t.Helper()
		b.query(`{ project(name: "p") { run(name: "r") { files`+of+` { edges { node { md5 name sizeBytes } } } } } }`, nil).
			is(`{"data":{"project":{"run":{"files":{"edges":[` + nodes + `]}}}}}`)
	}
	const there, none = `{"node":{"md5":null,"name":"b.txt","sizeBytes":"1"}}`, `{"node":{"md5":"0","name":"none","sizeBytes":"0"}}`
	files(`(names: ["none", "./none", "b.txt"])`, there+","+none)
	files(`(names: ["none"], first: 1)`, none)
	files(`(names: ["b.txt", "none"], first: 1)`, there+","+none)
	files(`(names: ["none"], after: "2")`, "")
	files(`(pattern: "b%")`, there)
	b.send("GET", "/files/me/p/r/none", "").wants(404)
}
