package server_test

import (
	"strings"
	"testing"
)

func TestPropertyHappyPath(t *testing.T) {
	a := start(t)
	w := a.world()
	for kind, id := range map[string]string{"experiment": w["experiment"], "iteration": w["iteration"], "model": w["model"], "modelversion": w["version"]} {
		t.Run(kind, func(t *testing.T) {
			a := a.on(t)
			path := "/property/" + kind + "/" + id
			a.get(path).is(pageJSON(1, `{"key":"old","value":"value"}`))
			a.do("PATCH", path, `{"properties":{"old":"new","a/b":"線","n":1.50,"yes":true,"":""}}`).fails(422, "INVALID_PAYLOAD", "key")
			a.do("PATCH", path, `{"properties":{"old":"new","a/b":"線","n":1.50,"yes":true,"empty":""}}`).wants(204)
			a.get(path).is(pageJSON(5, `{"key":"a/b","value":"線"}`, `{"key":"empty","value":""}`, `{"key":"n","value":"1.50"}`,
				`{"key":"old","value":"new"}`, `{"key":"yes","value":"true"}`))
			a.do("DELETE", path+"/a%2Fb", "").wants(204)
			a.do("DELETE", path+"/a%2Fb", "").fails(404, "NOT_FOUND", "")
			a.get(path).has(`{"total":4}`)
		})
	}
	a.get("/property/project/"+w["project"]).fails(404, "NOT_FOUND", "")
	a.unchanged(func() { a.do("PATCH", "/property/iteration/"+w["iteration"], `{}`).wants(204) })
	a.do("PATCH", "/property/iteration/"+w["iteration"], `{"properties":{"k":"`+strings.Repeat("x", 1<<20+1)+`"}}`).fails(422, "INVALID_PAYLOAD", "value")
}

// A user with only the create permission can add a property but not replace one.
func TestPropertyNeedsUpdateToBeReplaced(t *testing.T) {
	a := start(t)
	w := a.world()
	ada := a.user("ada")
	path := "/property/iteration/" + w["iteration"]
	a.permit(ada, w["project"], "create")
	a.do("PATCH", path, `{"properties":{"k":"v"}}`, as(ada)).wants(204)
	a.do("PATCH", path, `{"properties":{"k":"v"}}`, as(ada)).wants(204)
	a.unchanged(func() {
		a.do("PATCH", path, `{"properties":{"l":"v","k":"w"}}`, as(ada)).fails(403, "PROJECT_PERMISSION_REQUIRED", "")
	})
	a.permit(ada, w["project"], "create update")
	a.do("PATCH", path, `{"properties":{"k":"w"}}`, as(ada)).wants(204)
}

// A run can be recorded after it has ended, with its start time.
func TestIterationBegunBefore(t *testing.T) {
	a := start(t)
	w := a.world()
	path := "/iteration/experiment/" + w["experiment"]
	id := a.do("POST", path, `{"created_date":"2020-02-03T04:05:06.789Z"}`).id()
	a.do("PATCH", "/iteration/"+id, `{"end_date":"2020-02-03T05:05:06.789Z"}`).wants(204)
	a.get("/iteration/" + id).has(`{"created_date":"2020-02-03T04:05:06.789Z","end_date":"2020-02-03T05:05:06.789Z","status":"SUCCEEDED"}`)
	a.do("POST", path, `{"created_date":"2026-11-21T09:35:00.123Z"}`).wants(201) // five minutes in the future
	a.unchanged(func() {
		a.do("POST", path, `{"created_date":"2026-11-21T09:35:00.124Z"}`).fails(422, "INVALID_PAYLOAD", "created_date")
		a.do("POST", path, `{"created_date":"1969-12-31T23:59:59.999Z"}`).fails(422, "INVALID_PAYLOAD", "created_date")
		a.do("POST", path, `{"created_date":5}`).fails(422, "INVALID_PAYLOAD", "created_date")
	})
	a.get("/iteration/" + a.do("POST", path, `{"created_date":null}`).id()).has(`{"created_date":"` + nowText + `"}`)
}
