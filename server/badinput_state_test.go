package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// After an iteration has ended, its records can't be added, changed or deleted, whatever the body.
func TestEveryWriteOnAnEndedIteration(t *testing.T) {
	s := newSite(t)
	writes := []struct{ method, path, body string }{
		{"POST", "/parameter/iteration/" + s.ended, `{"key":"new","value":1}`},
		{"POST", "/parameter/iteration/" + s.ended, `{"key":"seed","value":1}`}, // the parameter exists already
		{"PATCH", "/parameter/" + s.endedParameter, `{"key":"new"}`},
		{"PATCH", "/parameter/" + s.endedParameter, `{"value":2}`},
		{"PATCH", "/parameter/" + s.endedParameter, `{}`},
		{"DELETE", "/parameter/" + s.endedParameter, ""},
		{"POST", "/metric/iteration/" + s.ended, `{"key":"loss","value":1}`},
		{"POST", "/metric/iteration/" + s.ended, `{"key":"new","value":"NaN","step":5}`},
		{"POST", "/metric/iteration/" + s.ended + "/batch", `{"metrics":{"loss":1,"new":2}}`},
		{"POST", "/metric/iteration/" + s.ended + "/batch", `{"metrics":[{"key":"new","value":2}],"step":9}`},
		{"POST", "/metric/iteration/" + s.ended + "/batch", `{"metrics":{}}`},
		{"POST", "/metric/iteration/" + s.ended + "/batch", `{"metrics":{"":1}}`},
		{"PATCH", "/metric/" + s.endedMetric, `{"value":2}`},
		{"PATCH", "/metric/" + s.endedMetric, `{"key":"new"}`},
		{"PATCH", "/metric/" + s.endedMetric, `{"step":7}`},
		{"PATCH", "/metric/" + s.endedMetric, `{"recorded_at":"2026-11-21T09:30:00Z"}`},
		{"PATCH", "/metric/" + s.endedMetric, `{}`},
		{"DELETE", "/metric/" + s.endedMetric, ""},
		{"POST", "/iteration/" + s.ended + "/snapshot", `{"git_sha":"c0ffee"}`},
		{"POST", "/iteration/" + s.ended + "/snapshot", `{}`},
		{"POST", "/iteration/" + s.ended + "/heartbeat", ""},
		{"POST", "/iteration/" + s.ended + "/stop", ""},
		{"PATCH", "/iteration/" + s.ended, `{"status":"FAILED"}`},
		{"PATCH", "/iteration/" + s.ended, `{"status":"KILLED","end_date":"2026-11-21T09:30:00Z"}`},
		{"PATCH", "/iteration/" + s.ended, `{"error_message":"too late"}`},
		{"PATCH", "/iteration/" + s.ended, `{"end_date":"2027-01-01T00:00:00Z"}`},
		{"PATCH", "/iteration/" + s.ended, `{"name":"with a forbidden one","error_message":"too late"}`},
	}
	refused := func() {
		t.Helper()
		for _, w := range writes {
			s.refused(w.method, w.path, w.body, 422, "ITERATION_ENDED", "")
			if w.method == "POST" {
				s.refused(w.method, w.path, w.body, 422, "ITERATION_ENDED", "", key("k"))
			}
		}
	}
	refused()
	s.reopen()
	refused()
	for _, status := range []string{"FAILED", "KILLED", "SUCCEEDED"} {
		s.do("PATCH", "/iteration/"+s.ended, `{"status":"RUNNING"}`).wants(204)
		s.do("PATCH", "/iteration/"+s.ended, `{"status":"`+status+`"}`).wants(204)
		for _, w := range writes {
			if !strings.Contains(w.body, status) {
				s.refused(w.method, w.path, w.body, 422, "ITERATION_ENDED", "")
			}
		}
	}
	// Errors in the body are reported first. Some fields may still be changed.
	s.refused("POST", "/metric/iteration/"+s.ended, `{"key":"loss"}`, 422, "INVALID_PAYLOAD", "value")
	s.refused("PATCH", "/iteration/"+s.ended, `{"status":"RUNNING","end_date":"2026-11-21T09:30:00Z"}`, 422, "INVALID_PAYLOAD", "end_date")
	s.do("PATCH", "/iteration/"+s.ended, `{"name":"kept","notes":"it overfits"}`).wants(204)
	s.do("POST", "/tag/iteration/"+s.ended, `{"value":"overfits"}`).wants(201)
}

func TestExperimentThatIsNotInProgress(t *testing.T) {
	s := newSite(t)
	path := "/iteration/experiment/" + s.stopped
	for _, status := range []string{"STOPPED", "FINISHED"} {
		s.do("PATCH", "/experiment/"+s.stopped, `{"status":"`+status+`"}`).wants(204)
		for _, body := range []string{"", "{}", `{"name":"late"}`, `{"id":"0192d3f4-5b6c-7d8e-9fa0-b1c2d3e4f5a6"}`} {
			s.refused("POST", path, body, 422, "EXPERIMENT_NOT_IN_PROGRESS", "")
		}
	}
	s.refused("PATCH", "/experiment/"+s.experiment, `{"end_date":"2026-11-21T09:30:00Z"}`, 422, "INVALID_PAYLOAD", "end_date")
	s.refused("PATCH", "/experiment/"+s.stopped, `{"status":"IN_PROGRESS","end_date":"2026-11-21T09:30:00Z"}`, 422, "INVALID_PAYLOAD", "end_date")
	s.refused("POST", "/experiment/project/"+s.project, `{"name":"x","status":"FINISHED"}`, 422, "INVALID_PAYLOAD", "status")
}

func TestDuplicatesChangeNothing(t *testing.T) {
	s := newSite(t)
	s.refused("POST", "/user", `{"username":"ada","password":"12345678"}`, 409, "CONFLICT", "username")
	s.refused("POST", "/userpermission/user/"+s.ada.id+"/project/"+s.project, `{}`, 409, "CONFLICT", "")
	s.refused("POST", "/parameter/iteration/"+s.iteration, `{"key":"learning rate","value":2}`, 409, "CONFLICT", "key")
	other := s.api.parameter(s.iteration, "depth", "3")
	s.refused("PATCH", "/parameter/"+other, `{"key":"learning rate","value":2}`, 409, "CONFLICT", "key")
	s.refused("POST", "/model/project/"+s.project, `{"name":"fraud"}`, 409, "CONFLICT", "name")
	s.refused("PATCH", "/model/"+s.api.model(s.project, "spam"), `{"name":"fraud"}`, 409, "CONFLICT", "name")
	s.unchanged("a tag that is there", func() {
		s.do("POST", "/tag/project/"+s.project, `{"value":"baseline"}`).wants(200)
	})
}

func TestBadIdempotencyKeys(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	two := func(a, b string) opt {
		return func(r *request) { r.Header["Idempotency-Key"] = []string{a, b} }
	}
	for i, x := range s.targets() {
		if x.method != "POST" || x.path == "/auth" {
			continue
		}
		t.Run(x.name(), func(t *testing.T) {
			s := s.on(t)
			bad := map[string]opt{
				"empty":        func(r *request) { r.Header["Idempotency-Key"] = []string{""} },
				"spaces":       header("Idempotency-Key", "   "),
				"129":          key(strings.Repeat("k", 129)),
				"long":         key(strings.Repeat("k", 100_000)),
				"tab":          key("a\tb"),
				"not ASCII":    key("schlüssel"),
				"not UTF-8":    key("a\xffb"),
				"two":          two("a", "b"),
				"twice":        two("a", "a"),
				"one and none": two("a", ""),
			}
			for name, o := range bad {
				message := s.refused(x.method, x.path, x.body(), 422, "INVALID_PAYLOAD", "Idempotency-Key", o)
				if !strings.Contains(message, "128") {
					t.Errorf("%s: the message is %q", name, message)
				}
			}
			// A rejected request does not use up its key.
			fresh := key(fmt.Sprintf("key %d", i))
			s.refused(x.method, x.path, "{", 400, "MALFORMED_BODY", "", fresh)
			s.refused(x.method, x.path, x.plus(`"nonsense":1`), 422, "INVALID_PAYLOAD", "nonsense", fresh)
			first := s.do(x.method, x.path, x.body(), fresh).wants(x.status())
			// A repeated request gets the first response; a different request with the same key is
			// rejected.
			s.unchanged("the same again", func() {
				if again := s.do(x.method, x.path, x.body(), fresh).wants(x.status()); again.body != first.body {
					t.Errorf("again: %s, first: %s", again.body, first.body)
				}
			})
			s.refused(x.method, x.path, x.body()+" ", 422, "INVALID_PAYLOAD", "Idempotency-Key", fresh)
			s.refused(x.method, x.path+"/", x.body()+" ", 422, "INVALID_PAYLOAD", "Idempotency-Key", fresh)
			s.refused(x.method, x.path, x.with(x.fields[0].name, ""), 422, "INVALID_PAYLOAD", wrongKeyOr(x), fresh)
		})
	}
	longest := strings.Repeat("~", 128)
	if a, b := s.do("POST", "/project", `{"name":"x"}`, key(longest)).id(), s.do("POST", "/project", `{"name":"x"}`, key(longest)).id(); a != b {
		t.Errorf("a key of 128 characters gives %s and %s", a, b)
	}
}

// wrongKeyOr returns the field named in the error for a request that reuses a key and leaves out
// its first field: that field if it is required, otherwise Idempotency-Key.
func wrongKeyOr(x target) string {
	if x.fields[0].required {
		return x.fields[0].name
	}
	return "Idempotency-Key"
}

// The token is checked first: a caller without one does not learn which records exist,
// and the body is not read.
func TestBadInputWithoutToken(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, p := range s.places() {
		if p.route == "/auth" || p.route == "/health" || p.route == "/connection" {
			continue
		}
		t.Run(p.method+" "+p.route, func(t *testing.T) {
			s := s.on(t)
			for _, path := range []string{p.path(), p.path() + "?nonsense=1"} {
				for _, body := range []string{p.body, "{", "[]", `{"nonsense":1}`} {
					if p.method != "GET" {
						s.refused(p.method, path, body, 401, "TOKEN_MISSING", "", anonymous)
						s.refused(p.method, path, body, 401, "TOKEN_INVALID", "", header("Authorization", "Bearer x"))
					}
				}
				s.refused(p.method, path, "", 401, "TOKEN_MISSING", "", anonymous)
			}
			for i := range p.variables {
				s.refused(p.method, p.with(i, nobody), p.body, 401, "TOKEN_MISSING", "", anonymous)
			}
		})
	}
}

// A missing permission is reported before the input is compared with stored records, and
// nothing changes.
func TestBadInputWithoutPermission(t *testing.T) {
	s := newSite(t)
	for _, x := range s.targets() {
		if x.path == "/auth" || x.path == "/project" {
			continue
		}
		s.unchanged(x.name(), func() {
			got := s.do(x.method, x.path, x.body(), as(s.eve))
			if got.status != http.StatusForbidden {
				t.Errorf("%s by somebody without permission: %d %s", x.name(), got.status, got.body)
			}
		})
		if x.packed() { // the permission is checked before the body is decompressed
			s.refused(x.method, x.path, "{", 403, "PROJECT_PERMISSION_REQUIRED", "", as(s.eve))
			s.refused(x.method, x.path, "not gzip", 403, "PROJECT_PERMISSION_REQUIRED", "", as(s.eve), header("Content-Encoding", "gzip"))
			continue
		}
		s.refused(x.method, x.path, "{", 400, "MALFORMED_BODY", "", as(s.eve))
	}
	s.refused("POST", "/metric/iteration/"+s.ended, `{"key":"loss","value":1}`, 403, "PROJECT_PERMISSION_REQUIRED", "", as(s.eve))
	s.refused("PATCH", "/iteration/"+s.ended, `{"status":"FAILED"}`, 403, "PROJECT_PERMISSION_REQUIRED", "", as(s.eve))
	for i, kind := range []string{"project/" + s.project, "experiment/" + s.experiment, "iteration/" + s.iteration} {
		s.refused("DELETE", fmt.Sprintf("/tag/%s/baseline", kind), "", 403, "PROJECT_PERMISSION_REQUIRED", "", as(s.eve))
		s.refused("DELETE", fmt.Sprintf("/tag/%s/none%d", kind, i), "", 403, "PROJECT_PERMISSION_REQUIRED", "", as(s.eve))
	}
}
