package server_test

import (
	"fmt"
	"testing"
)

func TestArtifactVersionHappyPath(t *testing.T) {
	a := start(t)
	w := a.world()
	path := "/artifactversion/iteration/" + w["maker"]
	made := a.do("POST", path, `{"name":"flowers","type":"dataset","path":"more","aliases":["clean"],"tags":["t"],"metadata":{"rows":150,"from":{"a":null}}}`)
	id := made.id()
	made.located("/artifactversion/" + id).is(`{"id":"` + id + `"}`)
	a.do("POST", path, `{"name":"flowers","type":"dataset","path":"more/rows.csv","aliases":["again"]}`).wants(200).is(`{"id":"` + id + `"}`)
	version := fmt.Sprintf(`"id":%q,"project_id":%q,"experiment_id":%q,"iteration_id":%q,"name":"flowers","version":1,"type":"dataset",
		"state":"COMMITTED","size_bytes":13,"files":1`, id, w["project"], w["experiment"], w["maker"])
	a.get("/artifactversion/" + id).has(`{` + version + `,"aliases":["again","clean","latest"],"tags":["t"],"description":"","metadata":{"rows":150,"from":{"a":null}}}`)
	list := "/artifactversion/project/" + w["project"]
	for query, want := range map[string]string{
		"": `{"total":2}`, "?name=flowers&alias=v0": `{"total":1}`, "?metadata=rows=150&tag=t&type=dataset": `{"total":1}`,
		"?metadata=rows=151": `{"total":0}`, "?experiment_id=" + w["experiment"]: `{"total":2}`,
	} {
		a.get(list + query).has(want)
	}
	a.get(list + "/flowers:clean").has(`{` + version + `}`)
	a.get(list + "/flowers").has(`{` + version + `}`)
	a.get(list+"/flowers:none").fails(404, "NOT_FOUND", "")
	a.get(list+"?metadata=rows").fails(422, "INVALID_PAYLOAD", "metadata")

	change := "/artifactversion/" + id
	a.do("PATCH", change, `{"aliases":["best"],"add_tags":["u"],"remove_tags":["t"],"description":"d","metadata":{"n":1}}`).wants(204)
	a.get(change).has(`{"aliases":["best","latest"],"tags":["u"],"description":"d","metadata":{"n":1}}`)
	a.do("PATCH", change, `{"add_aliases":["v1"]}`).fails(422, "INVALID_PAYLOAD", "aliases")
	a.do("PATCH", change, `{"metadata":[]}`).fails(422, "INVALID_PAYLOAD", "metadata")
	a.get(change + "/files").has(`{"total":1}`)
	a.do("POST", "/artifactversion/iteration/"+w["iteration"]+"/use", fmt.Sprintf(`{"artifactversion_id":%q}`, id)).wants(204)
	a.get("/artifactversion/iteration/" + w["iteration"] + "?role=used").has(`{"total":1}`)
	a.get("/artifactversion/iteration/"+w["iteration"]+"?role=made").fails(422, "INVALID_PAYLOAD", "role")
	a.get("/lineage/artifactversion/" + id + "?depth=1").has(fmt.Sprintf(`{"edges":[
		{"from":{"kind":"iteration","id":%q},"to":{"kind":"artifactversion","id":%q},"role":"logged"},
		{"from":{"kind":"artifactversion","id":%q},"to":{"kind":"iteration","id":%q},"role":"used"}],"cut":false}`, w["maker"], id, id, w["iteration"]))
	a.get("/lineage/artifactversion/"+id+"?depth=0").fails(422, "INVALID_PAYLOAD", "depth")
	a.get("/lineage/run/"+id).fails(404, "NOT_FOUND", "")
	a.do("DELETE", change, "").fails(409, "CONFLICT", "")
	a.do("DELETE", change+"?aliases=true", "").wants(204)
	a.get(change).fails(404, "NOT_FOUND", "")
	a.get(list + "/flowers").has(`{"version":0,"aliases":["latest"]}`)
	a.do("POST", path, `{"name":"a/b","type":"dataset","path":"more"}`).fails(422, "INVALID_PAYLOAD", "name")
	a.do("POST", path, `{"name":"flowers","type":"","path":"more"}`).fails(422, "INVALID_PAYLOAD", "type")
	a.do("POST", path, `{"name":"flowers","type":"dataset","path":"none"}`).fails(422, "INVALID_PAYLOAD", "path")
}
