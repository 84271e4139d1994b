package server_test

import (
	"fmt"
	"testing"
	"time"
)

func TestStopRequest(t *testing.T) {
	a := start(t)
	ada := a.user("ada")
	project := a.project(a.root)
	a.permit(ada, project, "read update")
	id := a.iteration(a.experiment(project))
	path := "/iteration/" + id
	none := `{"status":"RUNNING","stop_requested":null,"stop_requested_by":null}`
	requested := fmt.Sprintf(`{"status":"RUNNING","stop_requested":%q,"stop_requested_by":"ada"}`, nowText)
	a.get(path).has(none)
	a.do("POST", path+"/stop", "", as(a.user("bob"))).wants(403)
	a.get(path).has(none)
	a.do("POST", path+"/stop", "", as(ada)).wants(204)
	a.get(path).has(requested)

	// Neither a second stop request nor a change of other fields changes the stop request.
	a.clock.move(time.Minute)
	a.unchanged(func() { a.do("POST", path+"/stop", "").wants(204) })
	for _, body := range []string{`{"name":"renamed"}`, `{"notes":"slow"}`, `{"error_message":"slow"}`, `{}`} {
		a.do("PATCH", path, body).wants(204)
		a.get(path).has(requested)
	}
	a.get("/iteration/experiment/" + parse(t, a.get(path).body).(map[string]any)["experiment_id"].(string)).has(`{"data":[` + requested + `]}`)

	// The stop request is removed when the run ends or its status is set to RUNNING.
	for _, c := range []struct{ body, status string }{
		{`{"status":"RUNNING"}`, "RUNNING"}, {`{"status":"KILLED"}`, "KILLED"}, {`{"end_date":"2026-11-21T10:00:00Z"}`, "SUCCEEDED"},
	} {
		a.do("PATCH", path, `{"status":"RUNNING"}`).wants(204)
		a.do("POST", path+"/stop", "").wants(204)
		a.do("PATCH", path, c.body).wants(204)
		a.get(path).has(fmt.Sprintf(`{"status":%q,"stop_requested":null,"stop_requested_by":null}`, c.status))
	}
	a.do("POST", path+"/stop", "").fails(422, "ITERATION_ENDED", "")
	a.do("PATCH", path, `{"status":"RUNNING"}`).wants(204)
	a.get(path).has(none)

	// The default user is not named, because on a server without sign-in every caller is this user.
	a.do("POST", path+"/stop", "").wants(204)
	a.get(path).has(`{"stop_requested_by":null}`)
}

// A stop request is rejected if the run's client would never read it.
func TestStopIsRefused(t *testing.T) {
	a := start(t)
	e := a.experiment(a.project(a.root))
	lost := a.iteration(e)
	a.clock.move(5*time.Minute + time.Millisecond)
	logged := a.iteration(e)
	a.do("PATCH", "/property/iteration/"+logged, `{"properties":{"mlflow.user":"ada"}}`).wants(204)
	a.unchanged(func() {
		a.do("POST", "/iteration/"+lost+"/stop", "").fails(409, "CONFLICT", "")
		a.do("POST", "/iteration/"+logged+"/stop", "").fails(409, "CONFLICT", "")
		a.do("POST", "/iteration/"+nobody+"/stop", "").fails(404, "NOT_FOUND", "")
	})
	a.do("POST", "/iteration/"+lost+"/heartbeat", "").wants(204)
	a.do("POST", "/iteration/"+lost+"/stop", "").wants(204)
}
