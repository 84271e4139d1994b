package server_test

import (
	"crypto/rand"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"tracker/server"
	"tracker/store/archive"
	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/users"
)

// sample is a request that succeeds in every world if the caller has the needed permission. Names
// that begin with $ in path and body stand for records of the world.
type sample struct {
	method string
	route  string // path template in the route table
	path   string // "" if it equals route
	body   string
	needs  string // permissions separated by spaces, "admin", "same user", "token", or "" for nothing
	status int
	opts   []opt
}

// samples has at least one sample for every route.
var samples = []sample{
	{method: "POST", route: "/auth", body: `{"username":"default","password":"` + password + `"}`, status: 200},
	{method: "POST", route: "/auth/refresh", needs: "token", status: 200},
	{method: "GET", route: "/auth/me", needs: "token", status: 200},
	{method: "GET", route: "/health", status: 200},
	{method: "GET", route: "/connection", status: 200},
	{method: "GET", route: "/openapi.yaml", needs: "token", status: 200},
	{method: "GET", route: "/openapi.json", needs: "token", status: 200},
	{method: "GET", route: "/metrics", needs: "token", status: 200},

	{method: "GET", route: "/user", needs: "admin", status: 200},
	{method: "POST", route: "/user", body: `{"username":"new-$user","password":"12345678"}`, needs: "admin", status: 201},
	{method: "GET", route: "/user/{id}", path: "/user/$user", needs: "same user", status: 200},
	{method: "PATCH", route: "/user/{id}", path: "/user/$user", body: `{"first_name":"B"}`, needs: "same user", status: 204},
	{method: "DELETE", route: "/user/{id}", path: "/user/$user", needs: "same user", status: 204},
	{method: "GET", route: "/user/{id}/permissions", path: "/user/$user/permissions", needs: "same user", status: 200},
	{method: "GET", route: "/user/{id}/keys", path: "/user/$user/keys", needs: "same user", status: 200},
	{method: "POST", route: "/user/{id}/keys", path: "/user/$user/keys", body: `{"name":"job","scope":"log"}`, needs: "same user", status: 201},
	{method: "DELETE", route: "/user/{id}/keys/{key_id}", path: "/user/$user/keys/$key", needs: "same user", status: 204},

	{method: "GET", route: "/userpermission/user/{user_id}/project/{project_id}",
		path: "/userpermission/user/$user/project/$project", needs: "admin", status: 200},
	{method: "POST", route: "/userpermission/user/{user_id}/project/{project_id}",
		path: "/userpermission/user/$user/project/$other", body: `{}`, needs: "admin", status: 201},
	{method: "PATCH", route: "/userpermission/{id}", path: "/userpermission/$permission",
		body: `{"delete_permission":true}`, needs: "admin", status: 204},
	{method: "DELETE", route: "/userpermission/{id}", path: "/userpermission/$permission", needs: "admin", status: 204},

	{method: "GET", route: "/project", needs: "token", status: 200},
	{method: "POST", route: "/project", body: `{"name":"iris"}`, needs: "token", status: 201},
	{method: "GET", route: "/project/{id}", path: "/project/$project", needs: "read", status: 200},
	{method: "PATCH", route: "/project/{id}", path: "/project/$project", body: `{"name":"n"}`, needs: "update", status: 204},
	{method: "DELETE", route: "/project/{id}", path: "/project/$project", needs: "delete", status: 204},
	{method: "GET", route: "/project/{id}/members", path: "/project/$project/members", needs: "read", status: 200},
	{method: "POST", route: "/project/{id}/members", path: "/project/$project/members",
		body: `{"username":"default","delete_permission":false}`, needs: "admin", status: 200},
	{method: "GET", route: "/project/{id}/records", path: "/project/$project/records", needs: "read", status: 200},
	{method: "GET", route: "/project/{id}/archive", path: "/project/$project/archive", needs: "read", status: 200},
	{method: "POST", route: "/project/{id}/archive", path: "/project/$project/archive",
		body: `{"records":["iteration/$iteration"]}`, needs: "read", status: 200},
	{method: "POST", route: "/archive", body: "$archive", opts: []opt{header("Content-Type", "application/zip")}, needs: "update", status: 200},
	{method: "PATCH", route: "/archive", body: "$archive", opts: []opt{header("Content-Type", "application/zip"), inOnePart}, needs: "update", status: 200},
	{method: "GET", route: "/project/{id}/model", path: "/project/$project/model", needs: "read", status: 200},

	{method: "GET", route: "/experiment/project/{project_id}", path: "/experiment/project/$project", needs: "read", status: 200},
	{method: "POST", route: "/experiment/project/{project_id}", path: "/experiment/project/$project",
		body: `{"name":"sweep"}`, needs: "create", status: 201},
	{method: "GET", route: "/experiment/{id}", path: "/experiment/$experiment", needs: "read", status: 200},
	{method: "PATCH", route: "/experiment/{id}", path: "/experiment/$experiment",
		body: `{"status":"STOPPED"}`, needs: "update", status: 204},
	{method: "DELETE", route: "/experiment/{id}", path: "/experiment/$experiment", needs: "delete", status: 204},
	{method: "GET", route: "/experiment/{id}/keys", path: "/experiment/$experiment/keys", needs: "read", status: 200},

	{method: "GET", route: "/experiment/{id}/events", path: "/experiment/$experiment/events", needs: "read", status: 200},

	{method: "GET", route: "/iteration/experiment/{experiment_id}", path: "/iteration/experiment/$experiment",
		needs: "read", status: 200},
	{method: "POST", route: "/iteration/experiment/{experiment_id}", path: "/iteration/experiment/$experiment",
		body: `{"name":"run"}`, needs: "create", status: 201},
	{method: "GET", route: "/iteration/{id}", path: "/iteration/$iteration", needs: "read", status: 200},
	{method: "PATCH", route: "/iteration/{id}", path: "/iteration/$iteration",
		body: `{"status":"FAILED"}`, needs: "update", status: 204},
	{method: "DELETE", route: "/iteration/{id}", path: "/iteration/$iteration", needs: "delete", status: 204},
	{method: "GET", route: "/iteration/{id}/children", path: "/iteration/$iteration/children", needs: "read", status: 200},
	{method: "GET", route: "/iteration/{id}/events", path: "/iteration/$iteration/events", needs: "read", status: 200},
	{method: "GET", route: "/iteration/{id}/summary", path: "/iteration/$iteration/summary", needs: "read", status: 200},
	{method: "GET", route: "/iteration/{id}/table", path: "/iteration/$maker/table?key=more/rows", needs: "read", status: 200},
	{method: "GET", route: "/iteration/{id}/diagnosis", path: "/iteration/$iteration/diagnosis", needs: "read", status: 200},
	{method: "GET", route: "/iteration/{id}/difference/{other}", path: "/iteration/$iteration/difference/$iteration", needs: "read", status: 200},
	{method: "GET", route: "/iteration/{id}/snapshot", path: "/iteration/$iteration/snapshot", needs: "read", status: 200},
	{method: "POST", route: "/iteration/{id}/snapshot", path: "/iteration/$iteration/snapshot",
		body: `{"git_sha":"9fceb02"}`, needs: "update", status: 201},
	{method: "POST", route: "/iteration/{id}/heartbeat", path: "/iteration/$iteration/heartbeat", needs: "update", status: 204},
	{method: "POST", route: "/iteration/{id}/stop", path: "/iteration/$iteration/stop", needs: "update", status: 204},
	{method: "GET", route: "/iteration/{id}/console", path: "/iteration/$iteration/console", needs: "read", status: 200},
	{method: "POST", route: "/iteration/{id}/console", path: "/iteration/$iteration/console",
		body: `{"from":0,"lines":["epoch 1"]}`, needs: "create", status: 201},

	{method: "GET", route: "/parameter/iteration/{iteration_id}", path: "/parameter/iteration/$iteration",
		needs: "read", status: 200},
	{method: "POST", route: "/parameter/iteration/{iteration_id}", path: "/parameter/iteration/$iteration",
		body: `{"key":"epochs","value":10}`, needs: "create", status: 201},
	{method: "GET", route: "/parameter/{id}", path: "/parameter/$parameter", needs: "read", status: 200},
	{method: "PATCH", route: "/parameter/{id}", path: "/parameter/$parameter", body: `{"value":"0.2"}`, needs: "update", status: 204},
	{method: "DELETE", route: "/parameter/{id}", path: "/parameter/$parameter", needs: "delete", status: 204},

	{method: "GET", route: "/metric/iteration/{iteration_id}", path: "/metric/iteration/$iteration", needs: "read", status: 200},
	{method: "POST", route: "/metric/iteration/{iteration_id}", path: "/metric/iteration/$iteration",
		body: `{"key":"loss","value":0.5}`, needs: "create", status: 201},
	{method: "POST", route: "/metric/iteration/{iteration_id}/batch", path: "/metric/iteration/$iteration/batch",
		body: `{"metrics":{"loss":0.5}}`, needs: "create", status: 201},
	{method: "POST", route: "/metric/iteration/{iteration_id}/bulk", path: "/metric/iteration/$iteration/bulk",
		body: `{"metrics":[{"key":"loss","value":0.5}]}`, needs: "create", status: 201},
	{method: "GET", route: "/metric/iteration/{iteration_id}/series", path: "/metric/iteration/$iteration/series", needs: "read", status: 200},
	{method: "POST", route: "/series", body: `{"iterations":["$iteration"]}`, needs: "read", status: 200},
	{method: "GET", route: "/metric/{id}", path: "/metric/$metric", needs: "read", status: 200},
	{method: "PATCH", route: "/metric/{id}", path: "/metric/$metric", body: `{"step":7}`, needs: "update", status: 204},
	{method: "DELETE", route: "/metric/{id}", path: "/metric/$metric", needs: "delete", status: 204},
	{method: "POST", route: "/metric/iteration/{iteration_id}/rewind", path: "/metric/iteration/$iteration/rewind",
		body: `{"key":"loss","from":0}`, needs: "delete", status: 204},

	{method: "GET", route: "/model/project/{project_id}", path: "/model/project/$project", needs: "read", status: 200},
	{method: "POST", route: "/model/project/{project_id}", path: "/model/project/$project",
		body: `{"name":"spam"}`, needs: "create", status: 201},
	{method: "GET", route: "/model/{id}", path: "/model/$model", needs: "read", status: 200},
	{method: "PATCH", route: "/model/{id}", path: "/model/$model", body: `{"name":"n"}`, needs: "update", status: 204},
	{method: "DELETE", route: "/model/{id}", path: "/model/$model", needs: "delete", status: 204},
	{method: "GET", route: "/model/{id}/production", path: "/model/$model/production", needs: "read", status: 200},
	{method: "GET", route: "/modelversion/model/{model_id}", path: "/modelversion/model/$model", needs: "read", status: 200},
	{method: "POST", route: "/modelversion/model/{model_id}", path: "/modelversion/model/$model",
		body: `{"iteration_id":"$iteration"}`, needs: "create", status: 201},
	{method: "GET", route: "/modelversion/{id}", path: "/modelversion/$version", needs: "read", status: 200},
	{method: "PATCH", route: "/modelversion/{id}", path: "/modelversion/$version",
		body: `{"stage":"STAGING"}`, needs: "update", status: 204},
	{method: "DELETE", route: "/modelversion/{id}", path: "/modelversion/$version", needs: "delete", status: 204},
	{method: "GET", route: "/resource/experiment/{experiment_id}", path: "/resource/experiment/$experiment", needs: "read", status: 200},
	{method: "POST", route: "/resource/experiment/{experiment_id}", path: "/resource/experiment/$experiment",
		body: multi(part("name", "model.bin"), part("data", "new weights")), opts: []opt{asForm}, needs: "create", status: 201},
	{method: "GET", route: "/resource/{id}", path: "/resource/$resource", needs: "read", status: 200},
	{method: "PATCH", route: "/resource/{id}", path: "/resource/$resource",
		body: multi(part("data", "other weights")), opts: []opt{asForm}, needs: "update", status: 204},
	{method: "DELETE", route: "/resource/{id}", path: "/resource/$resource", needs: "delete", status: 204},
	{method: "GET", route: "/resource/{id}/data", path: "/resource/$resource/data", needs: "read", status: 200},
	{method: "OPTIONS", route: "/resource/experiment/{experiment_id}/upload", path: "/resource/experiment/$experiment/upload",
		needs: "create", status: 204},
	{method: "POST", route: "/resource/experiment/{experiment_id}/upload", path: "/resource/experiment/$experiment/upload",
		opts: uploadOf("large.bin", 7), needs: "create", status: 201},
	{method: "GET", route: "/upload/{id}", path: "/upload/$upload", needs: "create", status: 200},
	{method: "PATCH", route: "/upload/{id}", path: "/upload/$upload", body: "weights", opts: partAt(0), needs: "create", status: 204},
	{method: "DELETE", route: "/upload/{id}", path: "/upload/$upload", opts: []opt{tus}, needs: "create", status: 204},

	{method: "GET", route: "/tag/{kind}/{id}", path: "/tag/project/$project", needs: "read", status: 200},
	{method: "GET", route: "/tag/{kind}/{id}", path: "/tag/experiment/$experiment", needs: "read", status: 200},
	{method: "GET", route: "/tag/{kind}/{id}", path: "/tag/iteration/$iteration", needs: "read", status: 200},
	{method: "POST", route: "/tag/{kind}/{id}", path: "/tag/project/$project", body: `{"value":"new"}`, needs: "create", status: 201},
	{method: "POST", route: "/tag/{kind}/{id}", path: "/tag/experiment/$experiment", body: `{"value":"new"}`, needs: "create", status: 201},
	{method: "POST", route: "/tag/{kind}/{id}", path: "/tag/iteration/$iteration", body: `{"value":"new"}`, needs: "create", status: 201},
	{method: "DELETE", route: "/tag/{kind}/{id}/{value}", path: "/tag/project/$project/old", needs: "delete", status: 204},
	{method: "DELETE", route: "/tag/{kind}/{id}/{value}", path: "/tag/experiment/$experiment/old", needs: "delete", status: 204},
	{method: "DELETE", route: "/tag/{kind}/{id}/{value}", path: "/tag/iteration/$iteration/old", needs: "delete", status: 204},

	{method: "GET", route: "/audit", needs: "admin", status: 200},
	{method: "GET", route: "/trash", needs: "token", status: 200},
	{method: "POST", route: "/trash/{id}/restore", path: "/trash/$trashed/restore", needs: "delete", status: 204},
	{method: "DELETE", route: "/trash/{id}", path: "/trash/$trashed", needs: "delete", status: 204},
	{method: "DELETE", route: "/trash", needs: "admin", status: 200},
	{method: "GET", route: "/property/{kind}/{id}", path: "/property/experiment/$experiment", needs: "read", status: 200},
	{method: "GET", route: "/property/{kind}/{id}", path: "/property/iteration/$iteration", needs: "read", status: 200},
	{method: "GET", route: "/artifactversion/project/{project_id}", path: "/artifactversion/project/$project", needs: "read", status: 200},
	{method: "GET", route: "/artifactversion/project/{project_id}/{name}", path: "/artifactversion/project/$project/flowers:latest", needs: "read", status: 200},
	{method: "GET", route: "/artifactversion/iteration/{iteration_id}", path: "/artifactversion/iteration/$iteration", needs: "read", status: 200},
	{method: "POST", route: "/artifactversion/iteration/{iteration_id}", path: "/artifactversion/iteration/$maker",
		body: `{"name":"flowers","type":"dataset","path":"more","aliases":["clean"],"metadata":{"rows":1}}`, needs: "create read", status: 201},
	{method: "GET", route: "/artifactversion/{id}", path: "/artifactversion/$artifactversion", needs: "read", status: 200},
	{method: "PATCH", route: "/artifactversion/{id}", path: "/artifactversion/$artifactversion", body: `{"add_tags":["small"]}`, needs: "update", status: 204},
	{method: "DELETE", route: "/artifactversion/{id}", path: "/artifactversion/$artifactversion", needs: "delete", status: 204},
	{method: "GET", route: "/artifactversion/{id}/files", path: "/artifactversion/$artifactversion/files", needs: "read", status: 200},
	{method: "POST", route: "/artifactversion/iteration/{iteration_id}/use", path: "/artifactversion/iteration/$iteration/use", body: `{"artifactversion_id":"$artifactversion"}`, needs: "create read", status: 204},
	{method: "GET", route: "/lineage/{kind}/{id}", path: "/lineage/artifactversion/$artifactversion", needs: "read", status: 200},
	{method: "GET", route: "/report/project/{project_id}", path: "/report/project/$project", needs: "read", status: 200},
	{method: "POST", route: "/report/project/{project_id}", path: "/report/project/$project", body: `{"name":"n","text":"# Found"}`, needs: "create", status: 201},
	{method: "GET", route: "/report/{id}", path: "/report/$report", needs: "read", status: 200},
	{method: "PATCH", route: "/report/{id}", path: "/report/$report", body: `{"text":"t"}`, needs: "update", status: 204},
	{method: "DELETE", route: "/report/{id}", path: "/report/$report", needs: "delete", status: 204},
	{method: "GET", route: "/property/{kind}/{id}", path: "/property/model/$model", needs: "read", status: 200},
	{method: "GET", route: "/property/{kind}/{id}", path: "/property/modelversion/$version", needs: "read", status: 200},
	{method: "PATCH", route: "/property/{kind}/{id}", path: "/property/experiment/$experiment", body: `{"properties":{"k":"v"}}`, needs: "create", status: 204},
	{method: "PATCH", route: "/property/{kind}/{id}", path: "/property/iteration/$iteration", body: `{"properties":{"k":"v"}}`, needs: "create", status: 204},
	{method: "PATCH", route: "/property/{kind}/{id}", path: "/property/model/$model", body: `{"properties":{"k":"v"}}`, needs: "create", status: 204},
	{method: "PATCH", route: "/property/{kind}/{id}", path: "/property/modelversion/$version", body: `{"properties":{"k":"v"}}`, needs: "create", status: 204},
	{method: "DELETE", route: "/property/{kind}/{id}/{key}", path: "/property/experiment/$experiment/old", needs: "delete", status: 204},
	{method: "DELETE", route: "/property/{kind}/{id}/{key}", path: "/property/iteration/$iteration/old", needs: "delete", status: 204},
	{method: "DELETE", route: "/property/{kind}/{id}/{key}", path: "/property/model/$model/old", needs: "delete", status: 204},
	{method: "DELETE", route: "/property/{kind}/{id}/{key}", path: "/property/modelversion/$version/old", needs: "delete", status: 204},
}

func (s sample) name() string {
	if s.path == "" {
		return s.method + " " + s.route
	}
	return s.method + " " + s.path
}

// onProject reports whether a sample needs a permission on the project.
func (s sample) onProject() bool {
	return s.allowedBy("create read update delete")
}

// allowedBy reports whether rights, which are separated by spaces, contain the permissions that the
// sample needs.
func (s sample) allowedBy(rights string) bool {
	needed := strings.Fields(s.needs)
	return len(needed) > 0 && !slices.ContainsFunc(needed, func(right string) bool { return !slices.Contains(strings.Fields(rights), right) })
}

// send sends the sample, filled in from a world.
func (s sample) send(a api, w world, opts ...opt) answer {
	a.t.Helper()
	path, body := s.in(a, w)
	return a.do(s.method, path, body, append(slices.Clone(s.opts), opts...)...)
}

// in returns path and body, filled in from a world.
func (s sample) in(a api, w world) (path, body string) {
	if strings.Contains(s.body, "$archive") && w["archive"] == "" {
		w = maps.Clone(w)
		w["archive"] = a.archive(w["project"], w["iteration"])
	}
	path = s.path
	if path == "" {
		path = s.route
	}
	return w.expand(path), w.expand(s.body)
}

// world maps the names that samples use to the ids of records of every kind.
type world map[string]string

func (w world) expand(s string) string {
	return os.Expand(s, func(name string) string { return w[name] })
}

// world creates a record of every kind: a project with an experiment, a running iteration and its
// logged records, and a model with a version in production that was trained in another experiment;
// an empty project; and a user who may only read the first project.
func (a api) world() world {
	a.t.Helper()
	u, err := a.db.Users.CreateUser(a.t.Context(), domain.System,
		users.NewUser{Username: "user " + rand.Text(), Password: password})
	a.must(err)
	w := world{"user": u.ID, "project": a.project(a.root), "other": a.project(a.root)}
	made, err := a.db.Users.CreateAPIKey(a.t.Context(), domain.System, u.ID, users.NewAPIKey{Name: "key"})
	a.must(err)
	w["key"] = made.ID
	w["permission"] = a.permit(person{id: u.ID}, w["project"], "read")
	w["experiment"] = a.experiment(w["project"])
	w["iteration"] = a.iteration(w["experiment"])
	w["parameter"] = a.parameter(w["iteration"], "lr", "0.10")
	w["metric"] = a.metric(w["iteration"], "loss", 1)
	_, err = a.db.Runs.CreateSnapshot(a.t.Context(), domain.System, w["iteration"], runs.NewSnapshot{})
	a.must(err)
	w["resource"] = a.artifact(w["experiment"], "model.bin", "the weights")
	w["upload"] = a.unfinished(w["experiment"], "large.bin", 7)
	a.tag(runs.ProjectTag, w["project"], "old")
	a.tag(runs.ExperimentTag, w["experiment"], "old")
	a.tag(runs.IterationTag, w["iteration"], "old")
	w["maker"] = a.iteration(w["experiment"])
	w["artifactversion"] = a.artifactVersion(w["experiment"], w["maker"], "flowers")
	w["model"] = a.model(w["project"], "fraud")
	w["version"] = a.version(w["model"], a.iteration(a.experiment(w["project"])))
	a.promote(w["version"], registry.Production)
	report, err := a.db.Projects.CreateReport(a.t.Context(), domain.System, w["project"], projects.NewReport{Name: "findings", Text: "# Found"})
	a.must(err)
	w["report"] = report.ID
	w["trashed"] = a.iteration(w["experiment"])
	a.must(a.db.Runs.DeleteIteration(a.t.Context(), domain.System, w["trashed"]))
	for kind, id := range map[runs.PropertyKind]string{
		runs.ExperimentProperty: w["experiment"], runs.IterationProperty: w["iteration"],
		runs.ModelProperty: w["model"], runs.ModelVersionProperty: w["version"],
	} {
		a.must(a.db.Runs.SetProperties(a.t.Context(), domain.System, kind, id, []domain.Property{{Key: "old", Value: "value"}}))
	}
	return w
}

// archive returns an archive of an iteration with changed notes.
func (a api) archive(project, iteration string) string {
	a.t.Helper()
	_, states, err := a.db.Archive.AllRecords(a.t.Context(), domain.System, project, func(string) bool { return true })
	a.must(err)
	base := map[string]string{}
	for record, state := range states {
		base[record] = state.Fingerprint
	}
	notes, before := "notes of the archive", ""
	a.must(a.db.Runs.UpdateIteration(a.t.Context(), domain.System, iteration, runs.IterationPatch{Notes: &notes}))
	var out strings.Builder
	a.must(a.db.Archive.Export(a.t.Context(), domain.System, archive.Query{ProjectID: project, Records: []string{"iteration/" + iteration}},
		archive.Options{Base: base}, &out))
	a.must(a.db.Runs.UpdateIteration(a.t.Context(), domain.System, iteration, runs.IterationPatch{Notes: &before}))
	return out.String()
}

// worldFor returns w if the sample only reads, and a new world if it writes.
func (a api) worldFor(s sample, w world) world {
	a.t.Helper()
	if s.method == http.MethodGet {
		return w
	}
	return a.world()
}

// empty returns a world in which every id belongs to no record.
func empty() world {
	w := world{}
	for _, name := range []string{"user", "project", "other", "permission", "experiment", "iteration", "parameter", "metric", "model", "version", "resource", "upload", "report", "trashed", "maker", "artifactversion", "key"} {
		w[name] = nobody
	}
	w["archive"] = "no archive"
	return w
}

func TestSamplesHaveEveryRoute(t *testing.T) {
	for _, r := range server.Routes() {
		if !slices.ContainsFunc(samples, func(s sample) bool { return s.method == r[0] && s.route == r[1] }) {
			t.Errorf("no sample for %s %s", r[0], r[1])
		}
	}
}

// Every sample succeeds, so a rejection in another test is caused by the change that the test
// makes. Samples that read change nothing, and samples that write change the database.
func TestEveryRouteSucceedsForAnAdmin(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	a := start(t)
	for _, s := range samples {
		t.Run(s.name(), func(t *testing.T) {
			a := a.on(t)
			w := a.world()
			before := a.state()
			s.send(a, w).wants(s.status)
			// The clock stands still, so a heartbeat changes nothing.
			writes := s.method != "GET" && s.method != "OPTIONS" && s.route != "/series" && s.route != "/project/{id}/archive" && !strings.HasPrefix(s.route, "/auth") && !strings.HasSuffix(s.route, "/heartbeat")
			if changed := a.state() != before; changed != writes {
				t.Errorf("the database has changed: %v", changed)
			}
		})
	}
}
