package server_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"tracker/store/registry"
)

func modelJSON(id, project, name, description, updated string) string {
	return fmt.Sprintf(`{"id":%q,"project_id":%q,"name":%q,"description":%q,"created_by":"default","created_key":null,"created_date":%q,"updated_date":%q}`,
		id, project, name, description, nowText, updated)
}

func versionJSON(id, model string, version int, iteration, resource, stage, description, updated string) string {
	return fmt.Sprintf(`{"id":%q,"model_id":%q,"version":%d,"iteration_id":%q,"resource_id":%s,"source":"","stage":%q,"aliases":[],"description":%q,
		"created_by":"default","created_key":null,"created_date":%q,"updated_date":%q}`, id, model, version, iteration, resource, stage, description, nowText, updated)
}

const laterText = "2026-11-21T09:31:00.123Z" // a minute after nowText

func TestModelHappyPath(t *testing.T) {
	a := start(t)
	project := a.project(a.root)
	created := a.do("POST", "/model/project/"+project, `{"name":"fraud","description":"Stolen cards"}`)
	id := created.id()
	created.located("/model/" + id).is(`{"id":"` + id + `"}`)
	a.get("/model/" + id).is(modelJSON(id, project, "fraud", "Stolen cards", nowText))
	a.clock.move(time.Minute)
	a.unchanged(func() {
		for _, same := range []string{`{}`, `{"name":null,"description":null}`, `{"name":"fraud","description":"Stolen cards"}`} {
			a.do("PATCH", "/model/"+id, same).wants(204)
		}
	})
	a.do("PATCH", "/model/"+id, `{"name":"card fraud","description":""}`).wants(204)
	a.get("/model/" + id).is(modelJSON(id, project, "card fraud", "", laterText))
	a.do("DELETE", "/model/"+id, "").wants(204)
	a.get("/model/"+id).fails(404, "NOT_FOUND", "")
	a.do("DELETE", "/model/"+id, "").fails(404, "NOT_FOUND", "")
	a.do("PATCH", "/model/"+id, `{"name":"x"}`).fails(404, "NOT_FOUND", "")
}

func TestModelVersionHappyPath(t *testing.T) {
	a := start(t)
	w := a.world()
	model, artifact := a.model(w["project"], "spam"), a.artifact(w["experiment"], "weights.bin", "the weights")
	path := "/modelversion/model/" + model
	created := a.do("POST", path, fmt.Sprintf(`{"iteration_id":%q}`, w["iteration"]))
	id := created.id()
	created.located("/modelversion/" + id).is(`{"id":"` + id + `"}`)
	a.get("/modelversion/" + id).is(versionJSON(id, model, 1, w["iteration"], "null", "NONE", "", nowText))
	second := a.do("POST", path, fmt.Sprintf(`{"iteration_id":%q,"resource_id":%q,"description":"smaller"}`, w["iteration"], artifact)).id()
	a.get("/modelversion/" + second).is(versionJSON(second, model, 2, w["iteration"], quote(artifact), "NONE", "smaller", nowText))

	a.clock.move(time.Minute)
	a.unchanged(func() {
		for _, same := range []string{`{}`, `{"stage":null,"description":null,"resource_id":null}`, `{"stage":"NONE","description":"smaller"}`} {
			a.do("PATCH", "/modelversion/"+second, same).wants(204)
		}
	})
	a.do("PATCH", "/modelversion/"+id, fmt.Sprintf(`{"stage":"STAGING","description":"first","resource_id":%q}`, artifact)).wants(204)
	a.get("/modelversion/" + id).is(versionJSON(id, model, 1, w["iteration"], quote(artifact), "STAGING", "first", laterText))
	a.do("DELETE", "/modelversion/"+id, "").wants(204)
	a.get("/modelversion/"+id).fails(404, "NOT_FOUND", "")
	a.do("DELETE", "/modelversion/"+id, "").fails(404, "NOT_FOUND", "")
	a.do("PATCH", "/modelversion/"+id, `{"stage":"NONE"}`).fails(404, "NOT_FOUND", "")
	// The artifact still exists.
	a.get("/iteration/" + w["iteration"]).wants(200)
}

func TestModelsAreListedByName(t *testing.T) {
	a := start(t)
	project, other := a.project(a.root), a.project(a.root)
	spam, fraud, upper := a.model(project, "spam"), a.model(project, "card fraud"), a.model(project, "Fraud")
	a.model(other, "fraud")
	json := func(id, name string) string { return modelJSON(id, project, name, "", nowText) }
	all := pageJSON(3, json(upper, "Fraud"), json(fraud, "card fraud"), json(spam, "spam"))
	path, exact := "/model/project/"+project, "/project/"+project+"/model"
	run(a, []row{
		{method: "GET", path: path, status: 200, is: all},
		{method: "GET", path: path + "?name=", status: 200, is: all},
		{method: "GET", path: path + "?name=FRAUD", status: 200, is: pageJSON(2, json(upper, "Fraud"), json(fraud, "card fraud"))},
		{method: "GET", path: path + "?name=fraud&limit=1&offset=1", status: 200,
			is: `{"data":[` + json(fraud, "card fraud") + `],"total":2,"limit":1,"offset":1}`},
		{method: "GET", path: "/model/project/" + nobody, status: 404, code: "NOT_FOUND"},
		{method: "GET", path: path + "?exact_name=Fraud", status: 200, is: pageJSON(1, json(upper, "Fraud"))},
		{method: "GET", path: path + "?exact_name=fraud", status: 200, is: pageJSON(0)},
		{method: "GET", path: path + "?exact_name=", status: 200, is: pageJSON(0)},
		{method: "GET", path: path + "?exact_name=Fraud&name=card", status: 200, is: pageJSON(0)},
		{method: "GET", path: exact, status: 200, is: all},
		{method: "GET", path: exact + "?name=Fraud", status: 200, is: pageJSON(1, json(upper, "Fraud"))},
		{method: "GET", path: exact + "?name=card%20fraud", status: 200, is: pageJSON(1, json(fraud, "card fraud"))},
		{method: "GET", path: exact + "?name=fraud", status: 200, is: pageJSON(0)},
		{method: "GET", path: exact + "?name=", status: 200, is: pageJSON(0)},
		{method: "GET", path: "/project/" + nobody + "/model?name=Fraud", status: 404, code: "NOT_FOUND"},
	})
}

func TestModelNamesAreUniqueInTheProject(t *testing.T) {
	a := start(t)
	project, other := a.project(a.root), a.project(a.root)
	a.model(project, "fraud")
	spam := a.model(project, "spam")
	a.unchanged(func() {
		a.do("POST", "/model/project/"+project, `{"name":"fraud"}`).fails(409, "CONFLICT", "name")
		a.do("PATCH", "/model/"+spam, `{"name":"fraud"}`).fails(409, "CONFLICT", "name")
	})
	a.do("POST", "/model/project/"+project, `{"name":"Fraud"}`).wants(201)
	a.do("POST", "/model/project/"+other, `{"name":"fraud"}`).wants(201)
	a.do("DELETE", "/model/"+spam, "").wants(204)
	a.do("POST", "/model/project/"+project, `{"name":"spam"}`).wants(201)
}

func TestModelVersionsAreListedNewestFirst(t *testing.T) {
	a := start(t)
	w := a.world()
	model := a.model(w["project"], "spam")
	var json []string
	for n, stage := range []string{"PRODUCTION", "NONE", "ARCHIVED", "NONE"} {
		id := a.version(model, w["iteration"])
		a.promote(id, registry.Stage(stage))
		json = append([]string{versionJSON(id, model, n+1, w["iteration"], "null", stage, "", nowText)}, json...)
	}
	path := "/modelversion/model/" + model
	run(a, []row{
		{method: "GET", path: path, status: 200, is: pageJSON(4, json...)},
		{method: "GET", path: path + "?stage=NONE", status: 200, is: pageJSON(2, json[0], json[2])},
		{method: "GET", path: path + "?stage=PRODUCTION", status: 200, is: pageJSON(1, json[3])},
		{method: "GET", path: path + "?stage=STAGING", status: 200, is: pageJSON(0)},
		{method: "GET", path: path + "?stage=NONE&limit=1&offset=1", status: 200,
			is: `{"data":[` + json[2] + `],"total":2,"limit":1,"offset":1}`},
		{method: "GET", path: path + "?stage=none", status: 422, code: "INVALID_PAYLOAD", field: "stage"},
		{method: "GET", path: "/modelversion/model/" + nobody, status: 404, code: "NOT_FOUND"},
		{method: "GET", path: "/model/" + model + "/production", status: 200, is: json[3]},
	})
}

func TestPromotionKeepsOneInProduction(t *testing.T) {
	a := start(t)
	w := a.world()
	model := a.model(w["project"], "spam")
	first, second := a.version(model, w["iteration"]), a.version(model, w["iteration"])
	production := "/model/" + model + "/production"
	a.get(production).fails(404, "NOT_FOUND", "")
	a.do("PATCH", "/modelversion/"+first, `{"stage":"PRODUCTION"}`).wants(204)
	a.get(production).has(`{"id":"` + first + `","version":1}`)
	a.unchanged(func() { a.do("PATCH", "/modelversion/"+first, `{"stage":"PRODUCTION"}`).wants(204) })
	a.clock.move(time.Minute)
	a.do("PATCH", "/modelversion/"+second, `{"stage":"PRODUCTION"}`).wants(204)
	a.get(production).has(`{"id":"` + second + `","version":2}`)
	a.get("/modelversion/" + first).has(`{"stage":"ARCHIVED","updated_date":"` + laterText + `"}`)
	a.get("/modelversion/" + w["version"]).has(`{"stage":"PRODUCTION"}`) // unaffected: a version of another model
	a.unchanged(func() {
		a.do("PATCH", "/modelversion/"+first, `{"stage":"PRODUCTION","resource_id":"`+nobody+`"}`).fails(422, "INVALID_PAYLOAD", "resource_id")
		a.do("PATCH", "/modelversion/"+first, `{"stage":"production"}`).fails(422, "INVALID_PAYLOAD", "stage")
	})
	// Deleting the version in production promotes no other version.
	a.do("DELETE", "/modelversion/"+second, "").wants(204)
	a.get(production).fails(404, "NOT_FOUND", "")
	a.get("/model/"+nobody+"/production").fails(404, "NOT_FOUND", "")
}

func TestModelVersionIsOfTheModelsProject(t *testing.T) {
	a := start(t)
	w := a.world()
	own, foreign, artifact := a.running(), a.iteration(a.experiment(w["other"])), a.artifact(w["experiment"], "weights.bin", "the weights")
	strange := a.artifact(a.experiment(w["other"]), "weights.bin", "other weights")
	path := "/modelversion/model/" + w["model"]
	a.unchanged(func() {
		for _, iteration := range []string{nobody, own, foreign, w["experiment"], strings.ToUpper(w["iteration"]), ""} {
			a.do("POST", path, fmt.Sprintf(`{"iteration_id":%q,"resource_id":%q}`, iteration, artifact)).fails(422, "INVALID_PAYLOAD", "iteration_id")
		}
		for _, resource := range []string{nobody, strange, w["iteration"], strings.ToUpper(artifact), ""} {
			a.do("POST", path, fmt.Sprintf(`{"iteration_id":%q,"resource_id":%q}`, w["iteration"], resource)).fails(422, "INVALID_PAYLOAD", "resource_id")
			a.do("PATCH", "/modelversion/"+w["version"], fmt.Sprintf(`{"resource_id":%q}`, resource)).fails(422, "INVALID_PAYLOAD", "resource_id")
		}
		a.do("POST", path, `{}`).fails(422, "INVALID_PAYLOAD", "iteration_id")
		a.do("PATCH", "/modelversion/"+w["version"], fmt.Sprintf(`{"iteration_id":%q}`, w["iteration"])).fails(422, "INVALID_PAYLOAD", "iteration_id")
		a.do("POST", path, fmt.Sprintf(`{"iteration_id":%q,"stage":"STAGING"}`, w["iteration"])).fails(422, "INVALID_PAYLOAD", "stage")
	})
	// Most versions are created from an ended iteration.
	a.end(w["iteration"])
	a.do("POST", path, fmt.Sprintf(`{"iteration_id":%q,"resource_id":%q}`, w["iteration"], artifact)).wants(201)
}

func TestDeleteOfWhatAVersionPointsAtIsRefused(t *testing.T) {
	a := start(t)
	w := a.world()
	for range 3 {
		a.version(w["model"], w["iteration"])
	}
	a.do("DELETE", "/modelversion/"+a.get("/modelversion/model/" + w["model"] + "?limit=1").ids()[0], "").wants(204)
	for _, path := range []string{"/iteration/" + w["iteration"], "/experiment/" + w["experiment"]} {
		a.unchanged(func() {
			got := a.do("DELETE", path, "").fails(409, "CONFLICT", "")
			if !strings.Contains(got.body, "model fraud, versions 2 and 3;") {
				t.Errorf("%s: %s does not name the versions", path, got.body)
			}
		})
	}
	a.do("DELETE", "/model/"+w["model"], "").wants(204)
	a.do("DELETE", "/iteration/"+w["iteration"], "").wants(204)
	a.do("DELETE", "/experiment/"+w["experiment"], "").wants(204)

	// The models of a project are deleted with it.
	w = a.world()
	a.version(w["model"], w["iteration"])
	a.do("DELETE", "/project/"+w["project"], "").wants(204)
	a.get("/model/"+w["model"]).fails(404, "NOT_FOUND", "")
	a.get("/modelversion/"+w["version"]).fails(404, "NOT_FOUND", "")
}

func TestConcurrentVersionsAndPromotions(t *testing.T) {
	t.Parallel()
	a := start(t)
	w := a.world()
	model := a.model(w["project"], "raced")
	const writers = 32
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			id := a.do("POST", "/modelversion/model/"+model, fmt.Sprintf(`{"iteration_id":%q}`, w["iteration"])).id()
			a.do("PATCH", "/modelversion/"+id, `{"stage":"PRODUCTION"}`).wants(204)
			a.get("/model/" + model + "/production").wants(200)
		})
	}
	all.Wait()
	got := a.get("/modelversion/model/" + model).has(fmt.Sprintf(`{"total":%d}`, writers))
	for i, v := range parse(t, got.body).(map[string]any)["data"].([]any) {
		if n := fmt.Sprint(v.(map[string]any)["version"]); n != fmt.Sprint(writers-i) {
			t.Errorf("number %d is version %s", i, n)
		}
	}
	a.get("/modelversion/model/" + model + "?stage=PRODUCTION").has(`{"total":1}`)
	a.get("/modelversion/model/" + model + "?stage=ARCHIVED").has(fmt.Sprintf(`{"total":%d}`, writers-1))
}

func TestAliasesOfAVersion(t *testing.T) {
	a := start(t)
	w := a.world()
	second := a.do("POST", "/modelversion/model/"+w["model"], fmt.Sprintf(`{"iteration_id":%q}`, w["iteration"])).id()
	a.do("PATCH", "/modelversion/"+w["version"], `{"aliases":["champion","blue"]}`).wants(204)
	a.get("/modelversion/" + w["version"]).has(`{"aliases":["blue","champion"]}`)
	a.do("PATCH", "/modelversion/"+second, `{"aliases":["champion"]}`).wants(204)
	a.get("/modelversion/" + w["version"]).has(`{"aliases":["blue"]}`)
	a.unchanged(func() {
		for _, bad := range []string{`["latest"]`, `["v3"]`, `["a b"]`, `[""]`, `"a"`} {
			a.do("PATCH", "/modelversion/"+second, `{"aliases":`+bad+`}`).fails(422, "INVALID_PAYLOAD", "aliases")
		}
	})
	a.do("PATCH", "/modelversion/"+second, `{"aliases":[]}`).wants(204)
	a.get("/modelversion/" + second).has(`{"aliases":[]}`)
}
