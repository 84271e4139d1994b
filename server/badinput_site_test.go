package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/scalar"
	"tracker/store/users"
)

// site is a server with a record of each kind.
type site struct {
	api

	ada, eve                       person // eve has no permission on project at first
	project, experiment, iteration string
	permission                     string // ada's
	parameter, metric, moved       string // moved is a point that a PATCH has moved
	ended, endedParameter          string // an ended iteration, and a parameter of it
	endedMetric                    string
	stopped                        string // an ended experiment
	model, version                 string // in production
	report                         string
	artifactVersion, maker         string // maker is the iteration that has logged the artifact version
	resource, upload               string // upload is not complete
	trashed                        string // an iteration in the trash
	key                            string // id of an API key of ada
}

func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{api: start(t)}
	s.ada, s.eve = s.user("ada"), s.user("eve")
	s.project = s.api.project(s.root)
	s.permission = s.permit(s.ada, s.project, "create read update delete")
	key, err := s.db.Users.CreateAPIKey(t.Context(), domain.System, s.ada.id, users.NewAPIKey{Name: "key"})
	s.must(err)
	s.key = key.ID
	s.experiment = s.api.experiment(s.project)
	s.iteration = s.api.iteration(s.experiment)
	s.parameter = s.api.parameter(s.iteration, "learning rate", "0.10")
	s.metric = s.api.metric(s.iteration, "loss", 0.5)
	s.moved = s.api.metric(s.iteration, "moved", 0.5)
	s.must(s.db.Runs.UpdateMetric(t.Context(), domain.System, s.moved, points.Patch{Step: new(scalar.Step(7))}))
	for kind, id := range map[runs.TagKind]string{
		runs.ProjectTag: s.project, runs.ExperimentTag: s.experiment, runs.IterationTag: s.iteration} {
		s.tag(kind, id, "baseline")
	}
	s.must(s.db.Runs.SetProperties(t.Context(), domain.System, runs.IterationProperty, s.iteration, []domain.Property{{Key: "old", Value: "value"}}))
	s.resource = s.artifact(s.experiment, "model.bin", "the weights")
	s.upload = s.unfinished(s.experiment, "large.bin", 7)
	s.trashed = s.api.iteration(s.experiment)
	s.must(s.db.Runs.DeleteIteration(t.Context(), domain.System, s.trashed))
	s.ended = s.api.iteration(s.experiment)
	s.endedParameter = s.api.parameter(s.ended, "seed", "1")
	s.endedMetric = s.api.metric(s.ended, "loss", 0.25)
	s.end(s.ended)
	s.stopped = s.api.experiment(s.project)
	s.must(s.db.Projects.UpdateExperiment(t.Context(), domain.System, s.stopped,
		projects.ExperimentPatch{Status: new(domain.Stopped)}))
	s.model = s.api.model(s.project, "fraud")
	s.version = s.api.version(s.model, s.ended)
	s.promote(s.version, registry.Production)
	report, err := s.db.Projects.CreateReport(t.Context(), domain.System, s.project, projects.NewReport{Name: "findings"})
	s.must(err)
	s.report = report.ID
	shelf := s.api.experiment(s.project)
	s.maker = s.api.iteration(shelf)
	s.artifactVersion = s.api.artifactVersion(shelf, s.maker, "flowers")
	return s
}

// on returns the same site with the t of a subtest.
func (s *site) on(t *testing.T) *site {
	c := *s
	c.api = s.api.on(t)
	return &c
}

// unchanged runs fn and checks that no row of the database has changed.
func (s *site) unchanged(what string, fn func()) {
	s.t.Helper()
	before := s.state()
	fn()
	if after := s.state(); after != before {
		s.t.Errorf("%.200s changed something:\n%s%s", what, without("gone: ", before, after), without("new:  ", after, before))
	}
}

// refused sends a request, checks that it fails with this error and changes nothing, and returns
// the error message.
func (s *site) refused(method, path, body string, status int, code, field string, opts ...opt) (message string) {
	s.t.Helper()
	s.unchanged(fmt.Sprintf("%s %.100s %.100q", method, path, body), func() {
		s.t.Helper()
		message = s.refusal(method, path, body, status, code, field, opts...)
	})
	return message
}

// refusal is like refused, but does not check that the database is unchanged. Use it for many
// requests within one call of unchanged.
func (s *site) refusal(method, path, body string, status int, code, field string, opts ...opt) (message string) {
	s.t.Helper()
	got := s.do(method, path, body, opts...)
	var e struct{ Code, Field, Message string }
	if err := json.Unmarshal([]byte(got.body), &e); err != nil && method != "HEAD" {
		s.t.Errorf("%s %.100s %.100q: %v in %.200q", method, path, body, err, got.body)
	}
	if got.status != status || method != "HEAD" && (e.Code != code || e.Field != field || e.Message == "") {
		s.t.Errorf("%s %.100s %.100q\ngot  %d %.300s\nwant %d %s, field %q", method, path, body, got.status, got.body, status, code, field)
	}
	return e.Message
}

// kind is the kind of value that a body field accepts.
type kind int

const (
	aName     kind = iota // 1 to 250 printable characters, not only spaces
	aKey                  // 1 to 250 printable characters
	aShort                // up to 250 printable characters
	aText                 // up to 1 MiB
	aParam                // up to 1 MiB, or a number, or a boolean
	aPassword             // 8 to 72 bytes
	aSecret               // any string: a password to verify
	aFlag                 // true or false
	aTime
	aStep
	aValue
	aStatus
	anID
	aBatch
	aBulk
	someTexts // by name
	someLines
)

type field struct {
	name     string
	kind     kind
	good     string // JSON
	required bool
}

// target is a route that accepts a body.
type target struct {
	method, path string
	optional     bool // the body may be missing
	fields       []field
}

func (x target) name() string { return x.method + " " + x.path }

// packed reports whether the route accepts large and compressed bodies.
func (x target) packed() bool { return strings.HasSuffix(x.path, "/bulk") }

// status returns the expected response status for a valid body.
func (x target) status() int {
	if x.method == "PATCH" || strings.HasSuffix(x.path, "/rewind") {
		return http.StatusNoContent
	}
	return http.StatusCreated
}

// body returns a valid body.
func (x target) body() string { return x.with("", "") }

// with returns a valid body in which the named field has another value. The value "" leaves the
// field out.
func (x target) with(name, value string) string {
	var members []string
	for _, f := range x.fields {
		v := f.good
		if f.name == name {
			v = value
		}
		if v != "" {
			members = append(members, fmt.Sprintf("%q:%s", f.name, v))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

// plus returns a valid body with further members, which are given as JSON.
func (x target) plus(members string) string {
	if len(x.fields) == 0 {
		return "{" + members + "}"
	}
	return strings.TrimSuffix(x.body(), "}") + "," + members + "}"
}

// targets returns all routes with a body, for the records of the site.
func (s *site) targets() []target {
	when := `"2026-11-21T10:00:00+01:00"`
	permissions := []field{
		{"create_permission", aFlag, `true`, false}, {"read_permission", aFlag, `true`, false},
		{"update_permission", aFlag, `false`, false}, {"delete_permission", aFlag, `false`, false},
	}
	point := []field{
		{"key", aKey, `"acc"`, true}, {"value", aValue, `0.1`, true},
		{"step", aStep, `3`, false}, {"recorded_at", aTime, when, false},
	}
	description := field{"description", aText, `"Fisher's"`, false}
	patch := func(fields []field) []field {
		fields = slices.Clone(fields)
		for i := range fields {
			fields[i].required = false
		}
		return fields
	}
	batch := func(metrics string) []field {
		return []field{{"metrics", aBatch, metrics, true}, {"step", aStep, `3`, false}, {"recorded_at", aTime, when, false}}
	}
	return []target{
		{"POST", "/auth", false, []field{{"username", aSecret, `"ada"`, true}, {"password", aSecret, `"` + password + `"`, true}}},
		{"POST", "/user", false, []field{{"username", aName, `"bob"`, true}, {"password", aPassword, `"12345678"`, true},
			{"first_name", aShort, `"Bob"`, false}, {"last_name", aShort, `""`, false}, {"is_admin", aFlag, `false`, false}}},
		{"PATCH", "/user/" + s.ada.id, false, []field{{"first_name", aShort, `"A"`, false}, {"last_name", aShort, `"L"`, false},
			{"password", aPassword, `"87654321"`, false}, {"is_admin", aFlag, `true`, false}}},
		{"POST", "/userpermission/user/" + s.eve.id + "/project/" + s.project, true, permissions},
		{"PATCH", "/userpermission/" + s.permission, false, permissions},
		{"POST", "/project", false, []field{{"name", aName, `"iris"`, true}, description}},
		{"PATCH", "/project/" + s.project, false, []field{{"name", aName, `"other"`, false}, description}},
		{"POST", "/experiment/project/" + s.project, false, []field{{"name", aName, `"sweep"`, true}, description,
			{"status", aStatus, `"IN_PROGRESS"`, false}}},
		{"PATCH", "/experiment/" + s.experiment, false, []field{{"name", aName, `"other"`, false}, description,
			{"status", aStatus, `"STOPPED"`, false}, {"end_date", aTime, when, false}}},
		{"POST", "/iteration/experiment/" + s.experiment, true, []field{
			{"id", anID, `"0192d3f4-5b6c-7d8e-9fa0-b1c2d3e4f5a6"`, false}, {"name", aName, `"run 2"`, false},
			{"notes", aText, `"so far"`, false}, {"parent_iteration_id", anID, `"` + s.iteration + `"`, false},
			{"created_date", aTime, `"2026-10-21T10:00:00+01:00"`, false}}},
		{"PATCH", "/iteration/" + s.iteration, false, []field{{"name", aName, `"other"`, false}, {"notes", aText, `"n"`, false},
			{"status", aStatus, `"FAILED"`, false}, {"error_message", aText, `"OOM"`, false}, {"end_date", aTime, when, false}}},
		{"POST", "/iteration/" + s.iteration + "/snapshot", false, []field{
			{"git_sha", aText, `"c0ffee"`, false}, {"git_dirty", aFlag, `true`, false}, {"git_remote", aText, `""`, false},
			{"git_diff", aText, `"+1"`, false}, {"entrypoint", aText, `"a.py"`, false}, {"command", aText, `"python a.py"`, false},
			{"hostname", aText, `"box"`, false}, {"runtime", aText, `"3.13"`, false}, {"dependencies", aText, `"numpy"`, false}}},
		{"POST", "/iteration/" + s.iteration + "/console", false, []field{{"lines", someLines, `["epoch 1"]`, true}}},
		{"POST", "/parameter/iteration/" + s.iteration, false, []field{
			{"key", aKey, `"depth"`, true}, {"value", aParam, `1e-3`, true}}},
		{"PATCH", "/parameter/" + s.parameter, false, []field{{"key", aKey, `"depth"`, false}, {"value", aParam, `"x"`, false}}},
		{"POST", "/metric/iteration/" + s.iteration, false, point},
		{"PATCH", "/metric/" + s.metric, false, patch(point)},
		{"POST", "/metric/iteration/" + s.iteration + "/batch", false, batch(`{"loss":0.1,"acc":"NaN"}`)},
		{"POST", "/metric/iteration/" + s.iteration + "/batch", false, batch(`[{"key":"loss","value":1},{"key":"loss","value":2}]`)},
		{"POST", "/metric/iteration/" + s.iteration + "/bulk", false, []field{
			{"metrics", aBulk, `[{"key":"loss","value":1,"step":7,"recorded_at":` + when + `},{"key":"loss","value":"NaN"}]`, true}}},
		{"POST", "/metric/iteration/" + s.iteration + "/rewind", false, []field{{"key", aKey, `"moved"`, true}, {"from", aStep, `0`, true}}},
		{"POST", "/model/project/" + s.project, false, []field{{"name", aName, `"spam"`, true}, description}},
		{"PATCH", "/model/" + s.model, false, []field{{"name", aName, `"other"`, false}, description}},
		{"POST", "/modelversion/model/" + s.model, false, []field{{"iteration_id", anID, `"` + s.iteration + `"`, true},
			{"resource_id", anID, `"` + s.resource + `"`, false}, description}},
		{"PATCH", "/modelversion/" + s.version, false, []field{{"stage", aStatus, `"ARCHIVED"`, false}, description,
			{"resource_id", anID, `"` + s.resource + `"`, false}}},
		{"POST", "/report/project/" + s.project, false, []field{{"name", aName, `"found"`, true}, {"text", aText, `"# Found"`, false}}},
		{"PATCH", "/report/" + s.report, false, []field{{"name", aName, `"other"`, false}, {"text", aText, `"t"`, false}}},
		{"POST", "/tag/project/" + s.project, false, []field{{"value", aName, `"good"`, true}}},
		{"POST", "/tag/experiment/" + s.experiment, false, []field{{"value", aName, `"good"`, true}}},
		{"POST", "/tag/iteration/" + s.iteration, false, []field{{"value", aName, `"good"`, true}}},
		{"PATCH", "/property/iteration/" + s.iteration, false, []field{{"properties", someTexts, `{"k":"v"}`, false}}},
	}
}

// each runs fn in a subtest for every route with a body.
func (s *site) each(fn func(*site, target)) {
	s.t.Helper()
	for _, x := range s.targets() {
		s.t.(*testing.T).Run(x.name(), func(t *testing.T) { fn(s.on(t), x) })
	}
}

// The other tests change one field of these bodies, so the unchanged bodies must be valid.
func TestGoodBodiesAreTaken(t *testing.T) {
	t.Parallel()
	for i := range newSite(t).targets() {
		s := newSite(t) // a new site for each target, because one of them can end a record that the next one needs
		x := s.targets()[i]
		before := s.state()
		if got := s.do(x.method, x.path, x.body()); got.status >= 300 {
			t.Errorf("%s %s: %d %s", x.name(), x.body(), got.status, got.body)
		}
		if x.path != "/auth" && s.state() == before {
			t.Errorf("%s %s changed nothing", x.name(), x.body())
		}
	}
}
