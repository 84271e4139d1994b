package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// repeatable returns the creates that accept an idempotency key.
func repeatable() []sample {
	var all []sample
	for _, s := range samples {
		if s.method == "POST" && s.body != "" && s.opts == nil && s.route != "/auth" && s.route != "/series" && s.route != "/user/{id}/keys" && s.route != "/project/{id}/archive" {
			all = append(all, s)
		}
	}
	return all
}

func sameAnswer(t *testing.T, first, again answer) {
	t.Helper()
	if first.status != again.status || first.body != again.body ||
		first.header.Get("Location") != again.header.Get("Location") {
		t.Errorf("%s: first %d %s %s, then %d %s %s", first.what,
			first.status, first.header.Get("Location"), first.body,
			again.status, again.header.Get("Location"), again.body)
	}
}

func TestIdempotencyKeyGetsTheFirstAnswerAgain(t *testing.T) {
	t.Parallel()
	for _, s := range repeatable() {
		t.Run(s.name(), func(t *testing.T) {
			a := start(t)
			w := a.world()
			k := key("k")
			first := s.send(a, w, k).wants(s.status)
			path, body := s.in(a, w)
			a.unchanged(func() {
				sameAnswer(t, first, s.send(a, w, k))
				sameAnswer(t, first, a.do(s.method, path+"/", body, k))
				sameAnswer(t, first, a.send(s.method, path, body, k))
				a.do(s.method, path, body[:len(body)-1]+" }", k).fails(422, "INVALID_PAYLOAD", "Idempotency-Key")
			})
			a.reopen()
			a.clock.move(24*time.Hour - time.Millisecond)
			a.unchanged(func() { sameAnswer(t, first, s.send(a, w, k)) })
		})
	}
}

func TestIdempotencyKeyIsForgottenAfter24Hours(t *testing.T) {
	a := start(t)
	body := `{"name":"iris"}`
	first := a.do("POST", "/project", body, key("k")).id()
	a.clock.move(24 * time.Hour)
	second := a.do("POST", "/project", body, key("k")).id()
	if second == first {
		t.Error("the key was remembered")
	}
	// From then on the second response is returned, and earlier bodies do not matter.
	if again := a.do("POST", "/project", body, key("k")).id(); again != second {
		t.Errorf("got %s, want %s", again, second)
	}
	a.clock.move(24 * time.Hour)
	a.do("POST", "/project", `{"name":"other"}`, key("k")).wants(201)
	if state := a.state(); strings.Count(state, "'/project','k'") != 1 {
		t.Errorf("old keys are kept:\n%s", state)
	}
}

func TestIdempotencyKeyBelongsToUserAndPath(t *testing.T) {
	a := start(t)
	ada, bob := a.user("ada"), a.user("bob")
	body := `{"name":"iris"}`
	ids := map[string]bool{}
	for _, p := range []person{ada, bob, a.root} {
		ids[a.do("POST", "/project", body, key("k"), as(p)).id()] = true
	}
	project := a.project(ada)
	ids[a.do("POST", "/experiment/project/"+project, body, key("k"), as(ada)).id()] = true
	ids[a.do("POST", "/experiment/project/"+a.project(ada), body, key("k"), as(ada)).id()] = true
	ids[a.do("POST", "/project", body, key("K"), as(ada)).id()] = true
	ids[a.do("POST", "/project", body, as(ada)).id()] = true
	ids[a.do("POST", "/project", body, as(ada)).id()] = true
	if len(ids) != 8 {
		t.Errorf("%d were made, want 8", len(ids))
	}
	// A parent in the query string is part of the request that the key is bound to.
	e := a.experiment(project)
	i := a.iteration(e)
	path := "/iteration/experiment/" + e
	child := a.do("POST", path+"?parent_iteration_id="+i, "", key("k")).wants(201)
	sameAnswer(t, child, a.do("POST", path+"?parent_iteration_id="+i, "", key("k")))
	a.do("POST", path, "", key("k")).fails(422, "INVALID_PAYLOAD", "Idempotency-Key")
}

func TestIdempotencyKeyOfTwoAtOnce(t *testing.T) {
	a := start(t)
	w := a.world()
	for _, tt := range []struct{ path, body string }{
		{"/project", `{"name":"raced"}`},
		{"/metric/iteration/" + w["iteration"], `{"key":"raced","value":1}`},
		{"/metric/iteration/" + w["iteration"] + "/batch", `{"metrics":{"raced2":1,"raced3":2}}`},
		{"/iteration/experiment/" + w["experiment"], `{}`},
	} {
		t.Run(tt.path, func(t *testing.T) {
			a := a.on(t)
			answers := make([]answer, 16)
			var all sync.WaitGroup
			for n := range answers {
				all.Go(func() { answers[n] = a.do("POST", tt.path, tt.body, key("raced")) })
			}
			all.Wait()
			for _, got := range answers {
				sameAnswer(t, answers[0], got.wants(201))
			}
		})
	}
	a.get("/project?name=raced").has(`{"total":1}`)
	for _, k := range []string{"raced", "raced2", "raced3"} {
		a.get("/metric/iteration/" + w["iteration"] + "?key=" + k).has(`{"total":1}`)
	}
	a.get("/iteration/experiment/" + w["experiment"]).has(`{"total":3}`) // the iterations of the world, and one more
}

func TestIdempotencyKeyOfBatchThatStopped(t *testing.T) {
	a := start(t)
	i := a.running()
	path, body := "/metric/iteration/"+i+"/batch", `{"metrics":{"a":1,"b":2,"":3,"d":4}}`
	first := a.do("POST", path, body, key("k")).fails(422, "INVALID_PAYLOAD", "key")
	if len(first.ids()) != 2 {
		t.Fatalf("%v were written, want two", first.ids())
	}
	a.unchanged(func() { sameAnswer(t, first, a.do("POST", path, body, key("k"))) })
	a.reopen()
	a.unchanged(func() {
		sameAnswer(t, first, a.do("POST", path, body, key("k")))
		a.do("POST", path, `{"metrics":{"a":1,"b":2,"d":4}}`, key("k")).fails(422, "INVALID_PAYLOAD", "Idempotency-Key")
	})
	a.get("/metric/iteration/" + i).has(`{"total":2}`)
	none := a.do("POST", path, `{"metrics":{"":3}}`, key("none")).fails(422, "INVALID_PAYLOAD", "key")
	a.unchanged(func() { sameAnswer(t, none, a.do("POST", path, `{"metrics":{"":3}}`, key("none"))) })
}

// A resumed client gets 200 the second time, and again 200 when it repeats the second request with
// its key.
func TestIdempotencyKeyOfWhatWasThere(t *testing.T) {
	a := start(t)
	path := "/iteration/experiment/" + a.experiment(a.project(a.root))
	body := `{"id":"` + nobody + `"}`
	made := a.do("POST", path, body, key("1")).wants(201)
	there := a.do("POST", path, body, key("2")).wants(200)
	sameAnswer(t, made, a.do("POST", path, body, key("1")))
	sameAnswer(t, there, a.do("POST", path, body, key("2")))
}

// A rejected request writes nothing, so its key stays free: the caller can correct the request and
// send it with the same key.
func TestIdempotencyKeyOfRefusalIsFree(t *testing.T) {
	a := start(t)
	w := a.world()
	path := "/parameter/iteration/" + w["iteration"]
	a.unchanged(func() {
		a.do("POST", path, `{"key":"","value":1}`, key("k")).fails(422, "INVALID_PAYLOAD", "key")
		a.do("POST", path, `{"key":"lr","value":1}`, key("k")).fails(409, "CONFLICT", "key")
		a.do("POST", path, `{"key":`, key("k")).fails(400, "MALFORMED_BODY", "")
	})
	a.end(w["iteration"])
	a.do("POST", path, `{"key":"epochs","value":1}`, key("k")).fails(422, "ITERATION_ENDED", "")
	a.do("PATCH", "/iteration/"+w["iteration"], `{"status":"RUNNING"}`).wants(204)
	first := a.do("POST", path, `{"key":"epochs","value":1}`, key("k")).wants(201)
	// Later changes do not affect the response to a repeated request.
	a.end(w["iteration"])
	sameAnswer(t, first, a.do("POST", path, `{"key":"epochs","value":1}`, key("k")))
}

func TestIdempotencyKeyForms(t *testing.T) {
	a := start(t)
	for _, k := range []string{"k", strings.Repeat("k", 128), "3d0c7a52-6f0e-4b8e-9d3a-52c1a7f0b914", "with spaces & \"signs\" ~!"} {
		first := a.do("POST", "/project", `{"name":"iris"}`, key(k)).id()
		if again := a.do("POST", "/project", `{"name":"iris"}`, key(k)).id(); again != first {
			t.Errorf("%q: %s, then %s", k, first, again)
		}
	}
	twice := func(r *request) { r.Header["Idempotency-Key"] = []string{"a", "b"} }
	empty := func(r *request) { r.Header["Idempotency-Key"] = []string{""} }
	a.unchanged(func() {
		for _, o := range []opt{twice, empty, key(strings.Repeat("k", 129)), key("é"), key("tab\there")} {
			a.do("POST", "/project", `{"name":"iris"}`, o).fails(422, "INVALID_PAYLOAD", "Idempotency-Key")
		}
	})
	// The key affects only creates.
	project := a.project(a.root)
	for n := range 2 {
		a.do("PATCH", "/project/"+project, fmt.Sprintf(`{"name":"n%d"}`, n), key("k")).wants(204)
	}
	a.get("/project/"+project, key("k")).has(`{"name":"n1"}`)
	for range 2 {
		a.do(http.MethodPost, "/auth", credentials("default", password), key("k"), anonymous).wants(200)
	}
}

// A client that repeats a request after losing the response can't know that its run has been
// deleted since.
func TestIdempotencyKeyAfterTheRunIsDeleted(t *testing.T) {
	a := start(t)
	w := a.world()
	path, body := "/metric/iteration/"+w["iteration"]+"/bulk", `{"metrics":[{"key":"loss","value":1,"step":0}]}`
	first := a.do("POST", path, body, key("k")).wants(201)
	a.do("DELETE", "/iteration/"+w["iteration"], "").wants(204)
	sameAnswer(t, first, a.do("POST", path, body, key("k")))
	a.do("POST", path, body, key("another")).fails(404, "NOT_FOUND", "")
}
