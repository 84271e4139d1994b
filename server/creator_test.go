package server_test

import (
	"fmt"
	"testing"

	"tracker/store/domain"
	"tracker/store/users"
)

// TestCreators checks that each record names the account and the API key that created it, also after
// both were deleted, and in a copy on another server.
func TestCreators(t *testing.T) {
	a := start(t)
	ada := a.user("ada")
	key, err := a.db.Users.CreateAPIKey(t.Context(), domain.System, ada.id, users.NewAPIKey{Name: "cluster"})
	a.must(err)
	by := person{id: ada.id, token: key.Key}

	create := func(path, body string, o ...opt) string {
		return a.do("POST", path, body, append(o, as(by))...).wants(201).id()
	}
	project := create("/project", `{"name":"iris"}`)
	experiment := create("/experiment/project/"+project, `{"name":"sweep"}`)
	run := create("/iteration/experiment/"+experiment, `{"name":"first"}`)
	file := create("/resource/experiment/"+experiment, multi(part("name", "model.pt"), part("iteration_id", run), part("data", "weights")), asForm)
	model := create("/model/project/"+project, `{"name":"flowers"}`)
	version := create("/modelversion/model/"+model, fmt.Sprintf(`{"iteration_id":%q,"resource_id":%q}`, run, file))
	report := create("/report/project/"+project, `{"name":"Result","text":"Good."}`)
	set := create("/artifactversion/iteration/"+run, `{"name":"set","type":"dataset","path":"model.pt"}`)
	other := a.do("POST", "/iteration/experiment/"+experiment, `{"name":"second"}`).wants(201).id()

	records := []string{"/project/" + project, "/experiment/" + experiment, "/iteration/" + run, "/resource/" + file, "/model/" + model,
		"/modelversion/" + version, "/report/" + report, "/artifactversion/" + set}
	named := func(a api) {
		t.Helper()
		for _, path := range records {
			a.get(path).has(`{"created_by":"ada","created_key":"cluster"}`)
		}
		a.get("/iteration/" + other).has(`{"created_by":"default","created_key":null}`)
	}
	named(a)
	runs := "/iteration/experiment/" + experiment
	a.get(runs + "?filter=created_by%3D%27ada%27").has(`{"total":1,"data":[{"id":"` + run + `"}]}`)
	a.get(runs + "?sort=-created_by").has(`{"data":[{"id":"` + other + `"},{"id":"` + run + `"}]}`)

	a.must(a.db.Users.DeleteUser(t.Context(), domain.System, ada.id))
	named(a)

	b := start(t)
	b.do("POST", "/archive", a.get("/project/"+project+"/archive").wants(200).body, header("Content-Type", "application/zip")).wants(200)
	named(b)
}

// TestNoCreatorWithoutSignIn checks that a record names no account if sign-in is off.
func TestNoCreatorWithoutSignIn(t *testing.T) {
	a := startWith(t, setup{open: true})
	project := a.do("POST", "/project", `{"name":"iris"}`).wants(201).id()
	a.get("/project/" + project).has(`{"created_by":null,"created_key":null}`)
}
