package server_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestIterationHappyPath(t *testing.T) {
	a := start(t)
	e := a.experiment(a.project(a.root))
	created := a.do("POST", "/iteration/experiment/"+e, `{"name":"lr 0.10","notes":"warm-up"}`)
	id := created.id()
	created.located("/iteration/" + id).is(`{"id":"` + id + `"}`)
	want := func(name, notes, errorMessage, seen, tags string) string {
		return fmt.Sprintf(`{"id":%q,"experiment_id":%q,"parent_iteration_id":null,"name":%q,"notes":%q,"status":"RUNNING",
			"error_message":%q,"created_by":"default","created_key":null,"created_date":%q,"end_date":null,"last_seen":%q,"stop_requested":null,"stop_requested_by":null,"tags":%s}`,
			id, e, name, notes, errorMessage, nowText, seen, tags)
	}
	a.get("/iteration/" + id).is(want("lr 0.10", "warm-up", "", nowText, `[]`))

	a.clock.move(time.Minute)
	a.do("PATCH", "/iteration/"+id, `{"name":"lr 0.1","notes":""}`).wants(204)
	a.get("/iteration/" + id).is(want("lr 0.1", "", "", nowText, `[]`))
	a.unchanged(func() {
		for _, same := range []string{`{}`, `{"name":null,"notes":null,"status":null,"error_message":null,"end_date":null}`, `{"name":"lr 0.1"}`} {
			a.do("PATCH", "/iteration/"+id, same).wants(204)
		}
	})
	a.do("PATCH", "/iteration/"+id, `{"error_message":"slow"}`).wants(204)
	for _, tag := range []string{"z", "a", "m"} {
		a.tag("iteration", id, tag)
	}
	a.get("/iteration/" + id).is(want("lr 0.1", "", "slow", "2026-11-21T09:31:00.123Z", `["a","m","z"]`))

	a.do("DELETE", "/iteration/"+id, "").wants(204)
	a.get("/iteration/"+id).fails(404, "NOT_FOUND", "")
	a.do("DELETE", "/iteration/"+id, "").fails(404, "NOT_FOUND", "")
	a.do("PATCH", "/iteration/"+id, `{"name":"x"}`).fails(404, "NOT_FOUND", "")
	a.do("POST", "/iteration/"+id+"/heartbeat", "").fails(404, "NOT_FOUND", "")
}

func TestIterationBodyIsOptional(t *testing.T) {
	a := start(t)
	path := "/iteration/experiment/" + a.experiment(a.project(a.root))
	for _, body := range []string{"", "{}", `{"id":null,"name":null,"notes":null,"parent_iteration_id":null}`} {
		a.get("/iteration/" + a.do("POST", path, body).id()).has(`{"notes":"","parent_iteration_id":null,"status":"RUNNING"}`)
	}
}

func TestIterationGetsReadableUniqueName(t *testing.T) {
	a := start(t)
	e := a.experiment(a.project(a.root))
	for range 30 {
		a.do("POST", "/iteration/experiment/"+e, "").wants(201)
	}
	seen := map[string]bool{}
	data := parse(t, a.get("/iteration/experiment/"+e).body).(map[string]any)["data"].([]any)
	for _, d := range data {
		name := d.(map[string]any)["name"].(string)
		if !regexp.MustCompile(`^[a-z]+-[a-z]+(-[0-9]+)?$`).MatchString(name) || seen[name] {
			t.Errorf("the name is %q", name)
		}
		seen[name] = true
	}
	if len(seen) != 30 {
		t.Errorf("there are %d names, want 30", len(seen))
	}
	// A given name need not be unique.
	for range 2 {
		a.do("POST", "/iteration/experiment/"+e, `{"name":"twice"}`).wants(201)
	}
}

func TestIterationsAreListedOldestFirst(t *testing.T) {
	a := start(t)
	e := a.experiment(a.project(a.root))
	var want []string
	for i := range 3 {
		want = append(want, a.do("POST", "/iteration/experiment/"+e, fmt.Sprintf(`{"name":"%d"}`, 9-i)).id())
		a.iteration(a.experiment(a.project(a.root))) // in another experiment
	}
	// The order is by creation, not by id, because clients may choose ids.
	want = append(want, a.do("POST", "/iteration/experiment/"+e, `{"id":"00000000-0000-4000-8000-000000000001"}`).id())
	got := a.get("/iteration/experiment/" + e)
	if fmt.Sprint(got.ids()) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got.ids(), want)
	}
	got.has(`{"total":4}`)
}

func TestChildIterations(t *testing.T) {
	a := start(t)
	e := a.experiment(a.project(a.root))
	path := "/iteration/experiment/" + e
	parent := a.iteration(e)
	inBody := a.do("POST", path, fmt.Sprintf(`{"parent_iteration_id":%q}`, parent)).id()
	inQuery := a.do("POST", path+"?parent_iteration_id="+parent, "").id()
	inBoth := a.do("POST", path+"?parent_iteration_id="+parent, fmt.Sprintf(`{"parent_iteration_id":%q}`, parent)).id()
	grandchild := a.do("POST", path, fmt.Sprintf(`{"parent_iteration_id":%q}`, inBody)).id()
	got := a.get("/iteration/" + parent + "/children").has(`{"total":3}`).ids()
	if want := []string{inBody, inQuery, inBoth}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the children are %v, want %v", got, want)
	}
	child := a.get("/iteration/" + inBody)
	child.has(fmt.Sprintf(`{"parent_iteration_id":%q}`, parent))
	a.get("/iteration/" + parent + "/children?limit=1").is(`{"data":[` + child.body + `],"total":3,"limit":1,"offset":0}`)
	a.get("/iteration/" + grandchild + "/children").is(pageJSON(0))
	a.get(path).has(`{"total":5}`)

	elsewhere := a.iteration(a.experiment(a.project(a.root)))
	a.unchanged(func() {
		for _, id := range []string{elsewhere, nobody, "x", ""} {
			a.do("POST", path, fmt.Sprintf(`{"parent_iteration_id":%q}`, id)).fails(422, "INVALID_PAYLOAD", "parent_iteration_id")
			a.do("POST", path+"?parent_iteration_id="+id, "").fails(422, "INVALID_PAYLOAD", "parent_iteration_id")
		}
		a.do("POST", path+"?parent_iteration_id="+parent, fmt.Sprintf(`{"parent_iteration_id":%q}`, inBody)).
			fails(422, "INVALID_PAYLOAD", "parent_iteration_id")
	})

	// Children continue after their parent has ended, and an ended parent can get more children.
	a.end(inBody)
	a.do("POST", path, fmt.Sprintf(`{"parent_iteration_id":%q}`, inBody)).wants(201)
	a.do("DELETE", "/iteration/"+parent, "").wants(204)
	a.get("/iteration/" + inQuery).has(`{"parent_iteration_id":null}`)
	a.get("/iteration/" + grandchild).has(fmt.Sprintf(`{"parent_iteration_id":%q}`, inBody))
}

func TestClientMintsTheID(t *testing.T) {
	a := start(t)
	project := a.project(a.root)
	e := a.experiment(project)
	path := "/iteration/experiment/" + e
	const id = "0192d3f4-5b6c-4d8e-9fa0-b1c2d3e4f5a6"
	body := fmt.Sprintf(`{"id":%q,"name":"mine"}`, id)
	a.do("POST", path, body).located("/iteration/" + id).is(fmt.Sprintf(`{"id":%q}`, id))
	again := func(body string) {
		t.Helper()
		a.unchanged(func() {
			got := a.do("POST", path, body).wants(200)
			got.is(fmt.Sprintf(`{"id":%q}`, id))
			if place := got.header.Get("Location"); place != "" {
				t.Errorf("Location is %q though nothing was made", place)
			}
		})
	}
	again(body)
	again(fmt.Sprintf(`{"id":%q,"name":"another"}`, id))
	again(fmt.Sprintf(`{"id":%q}`, strings.ToUpper(id)))
	a.get("/iteration/" + id).has(`{"name":"mine"}`)

	// A resumed client gets the same response even if its run, or every run, has ended.
	a.end(id)
	again(body)
	a.do("PATCH", "/experiment/"+e, `{"status":"FINISHED"}`).wants(204)
	again(body)
	a.get("/iteration/" + id).has(`{"status":"SUCCEEDED"}`)

	other := a.experiment(project)
	a.unchanged(func() {
		a.do("POST", "/iteration/experiment/"+other, body).fails(409, "CONFLICT", "id")
	})
	for _, id := range []string{"", "x", "0192d3f45b6c4d8e9fa0b1c2d3e4f5a6", "{0192d3f4-5b6c-4d8e-9fa0-b1c2d3e4f5a6}",
		"urn:uuid:0192d3f4-5b6c-4d8e-9fa0-b1c2d3e4f5a6", "0192d3f4-5b6c-4d8e-9fa0-b1c2d3e4f5ag"} {
		a.do("POST", "/iteration/experiment/"+other, fmt.Sprintf(`{"id":%q}`, id)).fails(422, "INVALID_PAYLOAD", "id")
	}
	// After the purge the id is free.
	a.do("DELETE", "/iteration/"+id, "").wants(204)
	for _, e := range []string{e, other} {
		a.do("PATCH", "/experiment/"+e, `{"status":"IN_PROGRESS"}`).wants(204)
		a.unchanged(func() { a.do("POST", "/iteration/experiment/"+e, body).fails(409, "CONFLICT", "id") })
	}
	a.do("DELETE", "/trash/"+id, "").wants(204)
	a.do("POST", "/iteration/experiment/"+other, body).wants(201)
}

func TestIterationNeedsExperimentInProgress(t *testing.T) {
	a := start(t)
	e := a.experiment(a.project(a.root))
	for _, status := range []string{"STOPPED", "FINISHED"} {
		a.do("PATCH", "/experiment/"+e, fmt.Sprintf(`{"status":%q}`, status)).wants(204)
		a.unchanged(func() {
			a.do("POST", "/iteration/experiment/"+e, `{}`).fails(422, "EXPERIMENT_NOT_IN_PROGRESS", "")
			a.do("POST", "/iteration/experiment/"+e, `{"id":"`+nobody+`"}`).fails(422, "EXPERIMENT_NOT_IN_PROGRESS", "")
		})
	}
	a.do("PATCH", "/experiment/"+e, `{"status":"IN_PROGRESS"}`).wants(204)
	running := a.do("POST", "/iteration/experiment/"+e, `{}`).id()
	// A run continues after its experiment has ended.
	a.do("PATCH", "/experiment/"+e, `{"status":"FINISHED"}`).wants(204)
	a.get("/iteration/" + running).has(`{"status":"RUNNING"}`)
	a.do("POST", "/metric/iteration/"+running, `{"key":"loss","value":1}`).wants(201)
}

func TestHeartbeatAndWritesShowLife(t *testing.T) {
	a := start(t)
	w := a.world()
	path := "/iteration/" + w["iteration"]
	seen := func() string {
		return parse(t, a.get(path).body).(map[string]any)["last_seen"].(string)
	}
	for _, s := range samples {
		p, body := s.in(a, w)
		moves := s.method != "GET" && (strings.HasPrefix(p, "/metric/") || strings.HasPrefix(p, "/parameter/") ||
			strings.HasSuffix(p, "/heartbeat") || strings.HasSuffix(p, "/snapshot") || strings.HasSuffix(p, "/console"))
		if !moves && s.method != "GET" {
			continue
		}
		t.Run(s.name(), func(t *testing.T) {
			a := a.on(t)
			a.clock.move(time.Minute)
			before := seen()
			a.do(s.method, p, body).wants(s.status)
			want := before
			if moves {
				want = a.clock.now().Format("2006-01-02T15:04:05.000Z")
			}
			if got := seen(); got != want {
				t.Errorf("last_seen is %s, want %s", got, want)
			}
		})
	}
	// A rejected write does not count as activity.
	a.clock.move(time.Minute)
	before := seen()
	a.do("POST", "/metric/iteration/"+w["iteration"], `{"key":"","value":1}`).wants(422)
	a.do("POST", "/parameter/iteration/"+w["iteration"], `{"key":"epochs","value":1}`).wants(409)
	a.do("POST", path+"/heartbeat", "", as(a.user("ada"))).wants(403)
	if got := seen(); got != before {
		t.Errorf("last_seen is %s after refusals, want %s", got, before)
	}
}

func TestSnapshot(t *testing.T) {
	a := start(t)
	id := a.running()
	path := "/iteration/" + id + "/snapshot"
	a.get(path).fails(404, "NOT_FOUND", "")
	want := func(snapshot, fields string) string {
		return fmt.Sprintf(`{"id":%q,"iteration_id":%q,"created_date":%q,%s}`, snapshot, id,
			a.clock.now().Format("2006-01-02T15:04:05.000Z"), fields)
	}
	full := `"git_sha":"9fceb02","git_dirty":true,"git_remote":"git@example.org:lab/iris.git","git_diff":"-a\n+b",
		"entrypoint":"train.py","command":"python train.py --lr 0.10","hostname":"lab-box","runtime":"CPython 3.12.4",
		"dependencies":"numpy==2.1.0\n"`
	created := a.do("POST", path, `{`+full+`}`).located(path)
	a.get(path).is(want(created.id(), full))

	// The last write replaces the whole value.
	a.clock.move(time.Second)
	created = a.do("POST", path, `{"git_sha":"abc","git_dirty":false}`)
	a.get(path).is(want(created.id(), `"git_sha":"abc","git_dirty":false,"git_remote":"","git_diff":"",
		"entrypoint":"","command":"","hostname":"","runtime":"","dependencies":""`))
	created = a.do("POST", path, `{}`)
	a.get(path).has(want(created.id(), `"git_sha":"","git_dirty":null`))
	a.get("/iteration/"+nobody+"/snapshot").fails(404, "NOT_FOUND", "")
}
