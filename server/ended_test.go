package server_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Each step is a PATCH; a minute passes before each step.
func TestIterationStates(t *testing.T) {
	t.Parallel()
	const t1, t2, t3 = "2026-11-21T09:31:00.123Z", "2026-11-21T09:32:00.123Z", "2026-11-21T09:33:00.123Z"
	const given = "2026-11-20T12:00:00.000Z"
	type step struct {
		body   string
		code   string // error code if the step is rejected
		status string
		end    string // "" for none
	}
	var tests = []struct {
		name  string
		steps []step
	}{
		{"end date alone ends as succeeded", []step{
			{body: `{"end_date":"` + given + `"}`, status: "SUCCEEDED", end: given},
			{body: `{"end_date":"` + given + `"}`, status: "SUCCEEDED", end: given},
			{body: `{"end_date":"` + t2 + `"}`, code: "ITERATION_ENDED", status: "SUCCEEDED", end: given}}},
		{"a given end is kept", []step{
			{body: `{"status":"FAILED","error_message":"diverged","end_date":"` + given + `"}`, status: "FAILED", end: given},
			{body: `{"status":"FAILED","error_message":"diverged","end_date":"` + given + `"}`, status: "FAILED", end: given},
			{body: `{"status":"FAILED","error_message":"else"}`, code: "ITERATION_ENDED", status: "FAILED", end: given}}},
		{"the same end in another zone is the same", []step{
			{body: `{"end_date":"` + given + `"}`, status: "SUCCEEDED", end: given},
			{body: `{"end_date":"2026-11-20T13:00:00+01:00"}`, status: "SUCCEEDED", end: given}}},
		{"reopening clears the end", []step{
			{body: `{"status":"KILLED"}`, status: "KILLED", end: t1},
			{body: `{"status":"RUNNING"}`, status: "RUNNING"},
			{body: `{"status":"SUCCEEDED"}`, status: "SUCCEEDED", end: t3}}},
		{"reopening with a new name and message", []step{
			{body: `{"status":"FAILED"}`, status: "FAILED", end: t1},
			{body: `{"status":"RUNNING","name":"again","error_message":""}`, status: "RUNNING"}}},
		{"running stays running", []step{{body: `{"status":"RUNNING"}`, status: "RUNNING"}}},
		{"running has no end", []step{
			{body: `{"status":"RUNNING","end_date":"` + given + `"}`, code: "INVALID_PAYLOAD", status: "RUNNING"},
			{body: `{"status":"FAILED"}`, status: "FAILED", end: t2},
			{body: `{"status":"RUNNING","end_date":"` + given + `"}`, code: "INVALID_PAYLOAD", status: "FAILED", end: t2}}},
		{"name and notes of an ended one", []step{
			{body: `{"status":"FAILED"}`, status: "FAILED", end: t1},
			{body: `{"name":"n","notes":"the best so far"}`, status: "FAILED", end: t1},
			{body: `{"name":"n","error_message":"x"}`, code: "ITERATION_ENDED", status: "FAILED", end: t1},
			{body: `{"notes":"n","end_date":"` + given + `"}`, code: "ITERATION_ENDED", status: "FAILED", end: t1}}},
		{"unknown status", []step{{body: `{"status":"DONE"}`, code: "INVALID_PAYLOAD", status: "RUNNING"}}},
	}
	for _, end := range []string{"SUCCEEDED", "FAILED", "KILLED"} {
		same := `{"status":"` + end + `"}`
		steps := []step{{body: same, status: end, end: t1}, {body: same, status: end, end: t1}}
		for _, other := range []string{"SUCCEEDED", "FAILED", "KILLED"} {
			if other != end {
				steps = append(steps, step{body: `{"status":"` + other + `"}`, code: "ITERATION_ENDED", status: end, end: t1})
			}
		}
		tests = append(tests, struct {
			name  string
			steps []step
		}{end + " is an end", steps})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := start(t)
			path := "/iteration/" + a.running()
			for _, s := range tt.steps {
				a.clock.move(time.Minute)
				before := a.get(path).body
				got := a.do("PATCH", path, s.body)
				if s.code == "" {
					got.wants(204)
				} else if got.wants(422); !strings.Contains(got.body, s.code) {
					t.Errorf("%s: %s, want %s", s.body, got.body, s.code)
				}
				end := "null"
				if s.end != "" {
					end = quote(s.end)
				}
				after := a.get(path).has(fmt.Sprintf(`{"status":%q,"end_date":%s}`, s.status, end))
				if s.code != "" && after.body != before {
					t.Errorf("%s was refused, and changed\n%s to\n%s", s.body, before, after.body)
				}
			}
		})
	}
}

// endedRefuses reports whether the write is rejected if its iteration has ended.
func endedRefuses(s sample) bool {
	path := cmp.Or(s.path, s.route)
	return s.method != "GET" && (strings.HasPrefix(path, "/metric/") || strings.HasPrefix(path, "/parameter/") ||
		strings.HasSuffix(path, "/heartbeat") || strings.HasSuffix(path, "/snapshot") || strings.HasSuffix(path, "/stop"))
}

func TestEndedIterationRefusesWrites(t *testing.T) {
	t.Parallel()
	a := start(t)
	stranger := a.user("stranger")
	refusals := 0
	for _, s := range samples {
		if !strings.Contains(s.path, "$iteration") && !strings.Contains(s.path, "$metric") && !strings.Contains(s.path, "$parameter") ||
			s.route == "/iteration/{id}" {
			continue
		}
		for _, status := range []string{"SUCCEEDED", "FAILED", "KILLED"} {
			t.Run(status+" "+s.name(), func(t *testing.T) {
				a, w := a.on(t), a.world()
				iteration := "/iteration/" + w["iteration"]
				a.do("PATCH", iteration, `{"status":"`+status+`"}`).wants(204)
				if !endedRefuses(s) {
					s.send(a, w).wants(s.status)
					return
				}
				refusals++
				a.clock.move(time.Minute)
				a.unchanged(func() {
					s.send(a, w).fails(422, "ITERATION_ENDED", "")
					s.send(a, w, as(stranger)).fails(403, "PROJECT_PERMISSION_REQUIRED", "")
				})
				a.do("PATCH", iteration, `{"status":"RUNNING"}`).wants(204)
				s.send(a, w).wants(s.status)
			})
		}
	}
	if want := 3 * (2 + 3 + 7); refusals != want {
		t.Errorf("%d refusals, want %d", refusals, want)
	}
}

func TestEndedIterationCanBeDeletedAndTagged(t *testing.T) {
	a := start(t)
	w := a.world()
	a.end(w["iteration"])
	path := "/tag/iteration/" + w["iteration"]
	a.do("POST", path, `{"value":"best"}`).wants(201)
	a.do("DELETE", path+"/old", "").wants(204)
	a.get("/iteration/" + w["iteration"]).has(`{"tags":["best"],"status":"SUCCEEDED"}`)
	a.do("DELETE", "/iteration/"+w["iteration"], "").wants(204)
}
