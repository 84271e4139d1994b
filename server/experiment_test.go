package server_test

import (
	"fmt"
	"testing"
	"time"
)

func experimentJSON(id, project, name, description, status, end string, iterations int) string {
	return fmt.Sprintf(`{"id":%q,"project_id":%q,"name":%q,"description":%q,"status":%q,"created_by":"default","created_key":null,"created_date":%q,"end_date":%s,"iteration_count":%d}`,
		id, project, name, description, status, nowText, end, iterations)
}

func TestExperimentHappyPath(t *testing.T) {
	a := start(t)
	project := a.project(a.root)
	created := a.do("POST", "/experiment/project/"+project, `{"name":"sweep","description":"Does it converge?","status":"IN_PROGRESS"}`)
	id := created.id()
	created.located("/experiment/" + id).is(`{"id":"` + id + `"}`)
	a.get("/experiment/" + id).is(experimentJSON(id, project, "sweep", "Does it converge?", "IN_PROGRESS", "null", 0))
	a.iteration(id)
	a.do("PATCH", "/experiment/"+id, `{"name":"sweep 2","description":""}`).wants(204)
	a.get("/experiment/" + id).is(experimentJSON(id, project, "sweep 2", "", "IN_PROGRESS", "null", 1))
	a.unchanged(func() {
		for _, same := range []string{`{}`, `{"name":null,"description":null,"status":null,"end_date":null}`, `{"status":"IN_PROGRESS"}`} {
			a.do("PATCH", "/experiment/"+id, same).wants(204)
		}
	})
	a.do("DELETE", "/experiment/"+id, "").wants(204)
	a.get("/experiment/"+id).fails(404, "NOT_FOUND", "")
	a.do("DELETE", "/experiment/"+id, "").fails(404, "NOT_FOUND", "")
	a.do("PATCH", "/experiment/"+id, `{"name":"x"}`).fails(404, "NOT_FOUND", "")
}

func TestNewExperimentIsInProgress(t *testing.T) {
	a := start(t)
	path := "/experiment/project/" + a.project(a.root)
	for _, body := range []string{`{"name":"n"}`, `{"name":"n","status":null}`, `{"name":"n","status":"IN_PROGRESS"}`} {
		a.get("/experiment/" + a.do("POST", path, body).id()).has(`{"status":"IN_PROGRESS","end_date":null}`)
	}
	for _, status := range []string{"STOPPED", "FINISHED", "in_progress", "RUNNING", ""} {
		a.do("POST", path, fmt.Sprintf(`{"name":"n","status":%q}`, status)).fails(422, "INVALID_PAYLOAD", "status")
	}
}

// The steps run in order; a minute passes before each step.
func TestExperimentStates(t *testing.T) {
	t.Parallel()
	const t1, t3, given = "2026-11-21T09:31:00.123Z", "2026-11-21T09:33:00.123Z", "2026-11-20T12:00:00.000Z"
	type step struct {
		body   string
		refuse string // field named by a 422 error
		status string
		end    string // "" for none
	}
	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{"finishing sets the end", []step{{body: `{"status":"FINISHED"}`, status: "FINISHED", end: t1}}},
		{"stopping sets the end", []step{{body: `{"status":"STOPPED"}`, status: "STOPPED", end: t1}}},
		{"a given end is kept", []step{{body: `{"status":"STOPPED","end_date":"` + given + `"}`, status: "STOPPED", end: given}}},
		{"repeating changes nothing", []step{
			{body: `{"status":"FINISHED"}`, status: "FINISHED", end: t1},
			{body: `{"status":"FINISHED"}`, status: "FINISHED", end: t1}}},
		{"reopening clears the end", []step{
			{body: `{"status":"FINISHED"}`, status: "FINISHED", end: t1},
			{body: `{"status":"IN_PROGRESS"}`, status: "IN_PROGRESS"},
			{body: `{"status":"STOPPED"}`, status: "STOPPED", end: t3}}},
		{"another end sets its own date", []step{
			{body: `{"status":"FINISHED","end_date":"` + given + `"}`, status: "FINISHED", end: given},
			{body: `{}`, status: "FINISHED", end: given},
			{body: `{"status":"STOPPED"}`, status: "STOPPED", end: t3}}},
		{"the end can be corrected", []step{
			{body: `{"status":"FINISHED"}`, status: "FINISHED", end: t1},
			{body: `{"end_date":"` + given + `"}`, status: "FINISHED", end: given}}},
		{"no end while in progress", []step{
			{body: `{"end_date":"` + given + `"}`, refuse: "end_date", status: "IN_PROGRESS"},
			{body: `{"status":"IN_PROGRESS","end_date":"` + given + `"}`, refuse: "end_date", status: "IN_PROGRESS"}}},
		{"no end when reopened", []step{
			{body: `{"status":"FINISHED"}`, status: "FINISHED", end: t1},
			{body: `{"status":"IN_PROGRESS","end_date":"` + given + `"}`, refuse: "end_date", status: "FINISHED", end: t1}}},
		{"unknown status", []step{{body: `{"status":"DONE"}`, refuse: "status", status: "IN_PROGRESS"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := start(t)
			path := "/experiment/" + a.experiment(a.project(a.root))
			for _, s := range tt.steps {
				a.clock.move(time.Minute)
				got := a.do("PATCH", path, s.body)
				if s.refuse != "" {
					got.fails(422, "INVALID_PAYLOAD", s.refuse)
				} else {
					got.wants(204)
				}
				end := "null"
				if s.end != "" {
					end = quote(s.end)
				}
				a.get(path).has(fmt.Sprintf(`{"status":%q,"end_date":%s}`, s.status, end))
			}
		})
	}
}

func TestExperimentsAreListedNewestFirst(t *testing.T) {
	a := start(t)
	project := a.project(a.root)
	old := a.do("POST", "/experiment/project/"+project, `{"name":"Iris old"}`).id()
	a.experiment(a.project(a.root)) // in another project
	mid := a.do("POST", "/experiment/project/"+project, `{"name":"mnist"}`).id()
	a.do("PATCH", "/experiment/"+mid, `{"status":"STOPPED"}`).wants(204)
	young := a.do("POST", "/experiment/project/"+project, `{"name":"iris young"}`).id()
	oldJSON := experimentJSON(old, project, "Iris old", "", "IN_PROGRESS", "null", 0)
	midJSON := experimentJSON(mid, project, "mnist", "", "STOPPED", quote(nowText), 0)
	youngJSON := experimentJSON(young, project, "iris young", "", "IN_PROGRESS", "null", 0)
	path := "/experiment/project/" + project
	run(a, []row{
		{method: "GET", path: path, status: 200, is: pageJSON(3, youngJSON, midJSON, oldJSON)},
		{method: "GET", path: path + "?name=IRIS", status: 200, is: pageJSON(2, youngJSON, oldJSON)},
		{method: "GET", path: path + "?status=STOPPED", status: 200, is: pageJSON(1, midJSON)},
		{method: "GET", path: path + "?status=FINISHED", status: 200, is: pageJSON(0)},
		{method: "GET", path: path + "?name=iris&status=IN_PROGRESS&limit=1&offset=1", status: 200,
			is: `{"data":[` + oldJSON + `],"total":2,"limit":1,"offset":1}`},
		{method: "GET", path: path + "?status=stopped", status: 422, code: "INVALID_PAYLOAD", field: "status"},
		{method: "GET", path: path + "?status=", status: 422, code: "INVALID_PAYLOAD", field: "status"},
		{method: "GET", path: "/experiment/project/" + nobody, status: 404, code: "NOT_FOUND"},
	})
}

func TestExperimentObjective(t *testing.T) {
	a := start(t)
	path := "/experiment/" + a.experiment(a.project(a.root))
	set := func(objective string) string { return fmt.Sprintf(`{"objective":%q}`, objective) }
	for _, objective := range []string{"minimize val/loss", "maximize two words", "none"} {
		a.do("PATCH", path, set(objective)).wants(204)
		a.get(path).has(set(objective))
	}
	a.unchanged(func() {
		a.do("PATCH", path, `{"objective":null}`).wants(204)
		for _, wrong := range []string{"minimize", "minimize ", "least loss", "val/loss", "None"} {
			a.do("PATCH", path, set(wrong)).fails(422, "INVALID_PAYLOAD", "objective")
		}
	})
}
