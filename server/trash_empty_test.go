package server_test

import "testing"

func TestEmptyTrash(t *testing.T) {
	a := start(t)
	w := a.world()
	a.do("DELETE", "/trash", "").wants(200)
	second := a.do("POST", "/experiment/project/"+w["project"], `{"name":"second"}`).id()
	first := a.do("POST", "/experiment/project/"+w["project"], `{"name":"first"}`).id()
	a.do("DELETE", "/experiment/"+first, "").wants(204)
	a.do("DELETE", "/experiment/"+second, "").wants(204)

	a.do("DELETE", "/trash?until=yesterday", "").fails(422, "INVALID_PAYLOAD", "until")
	a.do("DELETE", "/trash?older=1", "").wants(422)
	a.do("DELETE", "/trash?until=2001-01-01T00:00:00Z", "").is(`{"purged":0,"kept":0}`)
	a.get("/trash").has(`{"total":2}`)
	a.do("DELETE", "/trash?until=2100-01-01T00:00:00Z", "").is(`{"purged":2,"kept":0}`)
	a.get("/trash").has(`{"total":0}`)
	a.do("POST", "/trash/"+first+"/restore", "").fails(404, "NOT_FOUND", "")
}
