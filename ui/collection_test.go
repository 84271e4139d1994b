package ui_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"tracker/store/collections"
	"tracker/store/files"
)

// logVersion creates a version from a file or folder of a run and returns its id.
func (s *site) logVersion(run, name, kind, path string, aliases ...string) string {
	s.t.Helper()
	made, err := s.db.Collections.LogVersion(s.t.Context(), s.actor("alice"), collections.NewVersion{IterationID: run, Collection: name, Type: kind,
		Aliases: aliases, Tags: []string{"small"}, Metadata: fmt.Sprintf(`{"path": %q, "rows": [1, 2]}`, path)}, path)
	if err != nil {
		s.t.Fatal(err)
	}
	return made.ID
}

// versions creates two versions of a dataset, which all runs after the second use, and a model. It
// returns the id of the second version.
func (s *site) versions(experiment string, all []string) (second string) {
	s.t.Helper()
	for i, names := range [][]string{{"a.csv", "b.csv"}, {"b.csv", "c.csv", strings.Repeat("long", 40) + ".csv"}} {
		for _, name := range names {
			s.keep(experiment, files.NewArtifact{Name: fmt.Sprint("data", i, "/", name), IterationID: all[0]}, fmt.Sprint("x,y\n1,", i))
		}
		second = s.logVersion(all[0], "flowers", "dataset", fmt.Sprint("data", i), "clean")
	}
	for _, run := range all[2:] {
		if _, err := s.db.Collections.UseVersion(s.t.Context(), s.actor("alice"), second, run); err != nil {
			s.t.Fatal(err)
		}
	}
	s.keep(experiment, files.NewArtifact{Name: "net/last.safetensors", IterationID: all[2]}, "weights")
	s.logVersion(all[2], "net", "model", "net")
	return second
}

func TestCollectionPages(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(4, 1)
	id := s.versions(w.experiment, w.runs)
	list := s.get("/experiment/" + w.experiment + "/collections")
	list.wants(t, 200, "flowers", "net", "/collection/"+id, ">dataset<", ">model<")
	s.get("/project/"+w.project+"/collections").wants(t, 200, "flowers", "/collection/"+id)
	page := s.get("/collection/" + id)
	page.wants(t, 200, "flowers:v1", ">clean<", ">latest<", ">small<", "/iteration/"+w.runs[0], "Changes since", "a.csv", "net:v0",
		`tracker.Api(`, `aria-current="true"`, "/iteration/"+w.runs[3])
	s.get("/lineage/iteration/"+w.runs[2]).wants(t, 200, "flowers:v1", "net:v0")
	s.get("/iteration/"+w.runs[2]).wants(t, 200, "Inputs and outputs", "/collection/"+id, "net:v0", "last.safetensors", "?register")

	s.get("/data/find?q=flowers:clean").wants(t, 200, `"kind":"collection"`, id, "flowers:v1")
	s.post("/collection/"+id, url.Values{"part": {"aliases"}, "aliases": {"best, , best,old"}, "tags": {""}})
	a := s.get("/collection/" + id)
	a.wants(t, 200, ">best<", ">old<", ">latest<")
	a.lacks(t, ">clean<", ">small<")
	s.post("/collection/"+id, url.Values{"part": {"aliases"}, "aliases": {"v7"}}).wants(t, 422, "is the number of a version", `value="v7"`)
	s.post("/collection/"+id, url.Values{"part": {"text"}, "description": {"words"}, "metadata": {"[1]"}}).wants(t, 422, "metadata must be a JSON object", "[1]")
	s.post("/collection/"+id, url.Values{"part": {"text"}, "description": {"words"}, "metadata": {`{"a": 1}`}})
	s.get("/collection/"+id).wants(t, 200, "words", `&#34;a&#34;: 1`, ">best<")
	s.post("/collection/"+id+"/delete", url.Values{"x": {"y"}})
	if a := s.get("/collection/" + id); a.StatusCode != 404 {
		t.Errorf("a deleted version has the status %s", a.Status)
	}
}
