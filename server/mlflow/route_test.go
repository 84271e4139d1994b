package mlflow_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tracker/server/mlflow"
	"tracker/store/domain"
	"tracker/store/users"
)

const protoFiles = "/api/2.0/mlflow-artifacts/artifacts/"

// sample is a request that succeeds for a caller with the needed rights if all earlier samples have
// been sent.
type sample struct{ needs, method, route, path, body string }

// samples creates records as the caller that opt sets, and returns at least one request about them
// for each route.
func (b bed) samples(o opt) (all []sample) {
	b.Helper()
	e := b.post("experiments/create", `{"name":"e"}`, o).text("experiment_id")
	other := b.post("experiments/create", `{"name":"other"}`, o).text("experiment_id")
	newRun := func() string {
		return b.post("runs/create", `{"experiment_id":"`+e+`"}`, o).text("run", "info", "run_id")
	}
	id, ended := newRun(), newRun()
	b.post("runs/update", `{"run_id":"`+ended+`","status":"FINISHED"}`, o).wants(200)
	file := protoFiles + e + "/" + id + "/artifacts/"
	b.send("PUT", file+"there", "x", o).wants(200)
	newModel := func() string {
		return b.post("logged-models", `{"experiment_id":"`+e+`","name":"net","tags":[{"key":"k","value":"v"}]}`, o).text("model", "info", "model_id")
	}
	model, spare := newModel(), newModel()
	for _, name := range []string{"fraud", "spam"} {
		b.post("registered-models/create", `{"name":"`+name+`","tags":[{"key":"k","value":"v"}]}`, o).wants(200)
	}
	b.post("model-versions/create", `{"name":"fraud","source":"s3://b/m","tags":[{"key":"k","value":"v"}]}`, o).wants(200)
	b.post("registered-models/alias", `{"name":"fraud","version":"1","alias":"live"}`, o).wants(200)

	add := func(needs, method, route, body string) {
		path, query, _ := strings.Cut(route, "?")
		at := strings.NewReplacer("{model_id}", model, "{key}", "k").Replace(path)
		if query != "" {
			at += "?" + query
		}
		all = append(all, sample{needs, method, api + path, api + at, body})
	}
	run, of, version := `"run_id":"`+id+`"`, `"experiment_id":"`+e+`"`, `"name":"fraud","version":"1"`
	add("read", "GET", "experiments/get?experiment_id="+e, "")
	add("read", "GET", "experiments/get-by-name?experiment_name=e", "")
	add("read", "POST", "experiments/search", `{"max_results":1,"filter":"name = 'e'","order_by":["name"]}`)
	add("read", "GET", "experiments/search?max_results=1", "")
	add("read", "GET", "experiments/list", "")
	add("read create", "POST", "experiments/create", `{"name":"new","tags":[{"key":"k","value":"v"}]}`)
	add("update", "POST", "experiments/update", `{`+of+`,"new_name":"e"}`)
	add("create", "POST", "experiments/set-experiment-tag", `{`+of+`,"key":"k","value":"v"}`)
	add("delete", "POST", "experiments/delete-experiment-tag", `{`+of+`,"key":"k"}`)
	add("read create", "POST", "runs/create", `{`+of+`,"start_time":5,"run_name":"n","tags":[{"key":"k","value":"v"}]}`)
	add("read", "GET", "runs/get?run_id="+id, "")
	add("read update", "POST", "runs/update", `{`+run+`,"run_name":"n","status":"RUNNING"}`)
	add("read", "POST", "runs/search", `{"experiment_ids":["`+e+`"],"filter":"metrics.m < 1","order_by":["metrics.m DESC"],"max_results":5}`)
	add("create", "POST", "runs/log-metric", `{`+run+`,"key":"m","value":1,"timestamp":1,"step":1}`)
	add("create", "POST", "runs/log-parameter", `{`+run+`,"key":"p","value":"1"}`)
	add("create", "POST", "runs/log-batch", `{`+run+`,"metrics":[{"key":"m","value":1,"timestamp":1,"step":2}],"params":[{"key":"q","value":"1"}],"tags":[{"key":"t","value":"1"}]}`)
	add("create update", "POST", "runs/log-batch", `{`+run+`,"tags":[{"key":"t","value":"2"}]}`)
	add("create update", "POST", "runs/log-metric", `{"run_id":"`+ended+`","key":"m","value":1,"timestamp":1}`)
	add("create update", "POST", "runs/log-parameter", `{"run_id":"`+ended+`","key":"p","value":"1"}`)
	add("create update", "POST", "runs/set-tag", `{`+run+`,"key":"mlflow.note.content","value":"1"}`)
	add("delete", "POST", "runs/delete-tag", `{`+run+`,"key":"t"}`)
	add("read create update", "POST", "runs/delete-tag", `{`+run+`,"key":"mlflow.note.content"}`)
	add("create", "POST", "runs/log-inputs", `{`+run+`,"datasets":[{"dataset":{"name":"d","digest":"1","source_type":"s","source":"s"},"tags":[{"key":"mlflow.data.context","value":"train"}]}]}`)
	add("create", "POST", "runs/outputs", `{`+run+`,"models":[{"model_id":"`+model+`","step":1}]}`)
	add("read create", "POST", "runs/log-model", `{`+run+`,"model_json":"{\"artifact_path\":\"model\"}"}`)
	add("read", "GET", "metrics/get-history?run_id="+id+"&metric_key=m&max_results=5", "")
	add("read", "GET", "artifacts/list?run_id="+id, "")
	all = append(all, []sample{
		{"read", "GET", protoFiles[:len(protoFiles)-1], protoFiles[:len(protoFiles)-1] + "?path=" + e + "/" + id + "/artifacts", ""},
		{"read", "GET", protoFiles + "{path:.+}", file + "there", ""},
		{"create", "PUT", protoFiles + "{path:.+}", file + "new", "x"},
		{"create update", "PUT", protoFiles + "{path:.+}", file + "there", "y"},
		{"delete", "DELETE", protoFiles + "{path:.+}", file + "there", ""},
	}...)
	add("read", "GET", "registered-models/get?name=fraud", "")
	add("read", "GET", "registered-models/search?filter=name+LIKE+'f%25'&order_by=name&max_results=5", "")
	add("read", "GET", "registered-models/list", "")
	add("read", "GET", "registered-models/get-latest-versions?name=fraud", "")
	add("read", "POST", "registered-models/get-latest-versions", `{"name":"fraud","stages":["None"]}`)
	add("read", "GET", "registered-models/alias?name=fraud&alias=live", "")
	add("read", "GET", "model-versions/get?name=fraud&version=1", "")
	add("read", "GET", "model-versions/search?filter=name+%3D+'fraud'&max_results=5", "")
	add("read", "GET", "model-versions/get-download-uri?name=fraud&version=1", "")
	add("read create", "POST", "registered-models/create", `{"name":"third","description":"d","tags":[{"key":"k","value":"v"}]}`)
	add("read update", "POST", "registered-models/rename", `{"name":"spam","new_name":"ham"}`)
	add("read update", "PATCH", "registered-models/update", `{"name":"fraud","description":"d"}`)
	add("read create", "POST", "registered-models/set-tag", `{"name":"fraud","key":"new","value":"v"}`)
	add("read delete", "DELETE", "registered-models/delete-tag", `{"name":"fraud","key":"k"}`)
	add("read update", "POST", "registered-models/alias", `{`+version+`,"alias":"best"}`)
	add("read update", "DELETE", "registered-models/alias", `{"name":"fraud","alias":"live"}`)
	add("read create", "POST", "model-versions/create", `{"name":"fraud","source":"s3://b/n","tags":[{"key":"k","value":"v"}]}`)
	add("read update", "PATCH", "model-versions/update", `{`+version+`,"description":"d"}`)
	add("read update", "POST", "model-versions/transition-stage", `{`+version+`,"stage":"Staging","archive_existing_versions":true}`)
	add("read create", "POST", "model-versions/set-tag", `{`+version+`,"key":"new","value":"v"}`)
	add("read delete", "DELETE", "model-versions/delete-tag", `{`+version+`,"key":"k"}`)
	add("read", "GET", "logged-models/{model_id}", "")
	add("read", "POST", "logged-models/search", `{"experiment_ids":["`+e+`"],"filter":"name = 'net'","order_by":[{"field_name":"name"}],"max_results":5}`)
	add("read create", "POST", "logged-models", `{`+of+`,"name":"n","params":[{"key":"k","value":"v"}]}`)
	add("read create", "PATCH", "logged-models/{model_id}", `{"status":"LOGGED_MODEL_READY"}`)
	add("create", "PATCH", "logged-models/{model_id}/tags", `{"tags":[{"key":"new","value":"v"}]}`)
	add("create", "POST", "logged-models/{model_id}/params", `{"params":[{"key":"new","value":"v"}]}`)
	add("delete", "DELETE", "logged-models/{model_id}/tags/{key}", "")
	all = append(all, sample{"delete", "DELETE", api + "logged-models/{model_id}", api + "logged-models/" + spare, ""})
	add("read delete", "DELETE", "model-versions/delete", `{`+version+`}`)
	add("read delete", "DELETE", "registered-models/delete", `{"name":"fraud"}`)
	add("delete", "POST", "runs/delete", `{`+run+`}`)
	add("delete", "POST", "runs/restore", `{`+run+`}`)
	add("delete", "POST", "experiments/delete", `{"experiment_id":"`+other+`"}`)
	add("delete", "POST", "experiments/restore", `{"experiment_id":"`+other+`"}`)
	return all
}

// withoutRights holds the routes that need no permission of the signed-in user.
var withoutRights = []string{"/api/2.0/mlflow-artifacts/mpu/create/{path:.+}", "/api/3.0/mlflow/server-info"}

// Every route requires exactly the permissions that its samples name. The callers are users with
// each set of permissions, a user with none, and an admin.
func TestRoutesByIdentity(t *testing.T) {
	b := startWith(t, true)
	root := basic(users.DefaultUsername, password)
	all := b.samples(root)
	project, err := b.db.Projects.ProjectNamed(t.Context(), domain.System, "MLflow")
	b.must(err)
	experiment := b.send("GET", api+"experiments/get-by-name?experiment_name=e", "", root).wants(200).text("experiment", "experiment_id")
	user := func(name string) opt {
		_, err := b.db.Users.CreateUser(t.Context(), domain.System, users.NewUser{Username: name, Password: password})
		b.must(err)
		return basic(name, password)
	}
	ada, stranger := user("ada"), user("stranger")
	u, err := b.db.Users.UserByName(t.Context(), domain.System, "ada")
	b.must(err)
	granted, err := b.db.Users.CreateUserPermission(t.Context(), domain.System, u.ID, project, users.PermissionPatch{})
	b.must(err)
	rights := []string{"create", "read", "update", "delete"}
	grant := func(set int) (has []string) {
		is := func(n int) *bool {
			if set&(1<<n) != 0 {
				has = append(has, rights[n])
			}
			return new(set&(1<<n) != 0)
		}
		b.must(b.db.Users.UpdateUserPermission(t.Context(), domain.System, granted.ID,
			users.PermissionPatch{Create: is(0), Read: is(1), Update: is(2), Delete: is(3)}))
		return has
	}
	nonsense := func(r *http.Request) { r.Header.Set("Authorization", "Bearer nonsense") }
	asked := map[[2]string]bool{}
	for _, s := range all {
		asked[[2]string{s.method, s.route}] = true
		needs := strings.Fields(s.needs)
		exact := 0
		b.send(s.method, s.path, s.body).fails(401, "UNAUTHENTICATED")
		b.send(s.method, s.path, s.body, nonsense).fails(401, "UNAUTHENTICATED")
		b.send(s.method, s.path, s.body, stranger).hides("fraud", "spam", project, experiment)
		for set := range 1 << len(rights) {
			has := grant(set)
			if len(has) == len(needs) && !slices.ContainsFunc(needs, func(n string) bool { return !slices.Contains(has, n) }) {
				exact = set
			}
			if slices.ContainsFunc(needs, func(n string) bool { return !slices.Contains(has, n) }) {
				b.send(s.method, s.path, s.body, ada).fails(403, "PERMISSION_DENIED")
			}
		}
		grant(exact)
		b.send(s.method, s.path, s.body, ada).wants(200)
	}
	for _, rt := range mlflow.Routes() {
		if !asked[rt] && !slices.Contains(withoutRights, rt[1]) {
			t.Errorf("no sample asks %s %s", rt[0], rt[1])
		}
	}
}

// Clients retry for minutes after a server error, so no client error may look like a server error.
func TestNoMistakeIsAFailureOfTheServer(t *testing.T) {
	b := start(t)
	id := b.run(b.experiment("e"), ``)
	bodies := []string{``, `null`, `[]`, `"x"`, `{`, "{\"a\":\"\xff\"}", `{"run_id":"` + id + `"}`, `{"run_id":[]}`, `{"run_id":{"a":1}}`, `{"run_id":"` + id + `","key":7,"value":{},"metrics":3}`,
		`{"name":5,"experiment_id":-1,"version":"x","max_results":"1e99","filter":7,"order_by":3,"page_token":false}`, `{"name":"\u0000","alias":"","key":"\u0000"}`,
		`{"tags":{},"params":"x","metrics":[null],"datasets":[null],"models":[1]}`, `{"metrics":[{}],"tags":[{}],"run_id":"` + id + `"}`}
	for _, rt := range mlflow.Routes() {
		for _, body := range bodies {
			path := strings.NewReplacer("{path:.+}", "a/b/../c", "{", "", "}", "").Replace(rt[1])
			if rt[0] == "GET" {
				path += "?run_id=%FF&max_results=x&page_token=%00&filter=%27&name=%00"
			}
			got := b.send(rt[0], path, body)
			if got.status >= 500 && got.status != http.StatusNotImplemented {
				t.Errorf("%s %s %s: %d %s", rt[0], path, body, got.status, got.body)
			}
		}
	}
}

// Valid requests in which parts are replaced, removed or added cause no server errors either.
func TestMutatedRequests(t *testing.T) {
	const each = 60
	b := start(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	m := mutator{rand.New(rand.NewPCG(seed, 0))}
	all := b.samples(func(*http.Request) {})
	for range each {
		for _, s := range all {
			path, body := s.path, s.body
			if body == "" {
				path = m.query(path)
			} else if s.method != "PUT" {
				var value any
				b.must(json.Unmarshal([]byte(body), &value))
				mutated, err := json.Marshal(m.value(value))
				b.must(err)
				body = string(mutated)
				if m.IntN(20) == 0 {
					body = body[:m.IntN(len(body))]
				}
			}
			got := b.send(s.method, path, body)
			if got.status >= 500 || got.status == 408 || got.status == 429 {
				t.Errorf("%s %s %s: %d %s", s.method, path, body, got.status, got.body)
			}
			if got.status >= 400 {
				var told struct {
					Code    string `json:"error_code"`
					Message string
				}
				if err := json.Unmarshal([]byte(got.body), &told); err != nil || told.Code == "" || told.Message == "" {
					t.Errorf("%s %s %s: %d %s", s.method, path, body, got.status, got.body)
				}
			}
		}
	}
}

type mutator struct{ *rand.Rand }

// odd returns a value that clients would not send.
func (m mutator) odd() any {
	all := []any{nil, true, -1, 0, 1e300, 1e18, 0.5, "", "x", "\x00", "ü🌷", "'", "`", "NaN", "9223372036854775808", strings.Repeat("y", 20_000),
		[]any{}, []any{nil}, []any{[]any{}}, map[string]any{}, map[string]any{"key": nil}, "a.b > 'c", "metrics.`a", "m-0", "0", "../..", "models:/x@"}
	return all[m.IntN(len(all))]
}

// value returns v with some parts replaced.
func (m mutator) value(v any) any {
	if m.IntN(6) == 0 {
		return m.odd()
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range []string{"page_token", "max_results", "filter", "order_by", "tags", "view_type", "status", "model_id", "artifact_location"} {
			if m.IntN(30) == 0 {
				v[key] = m.odd()
			}
		}
		for key, field := range v {
			if v[key] = m.value(field); m.IntN(12) == 0 {
				delete(v, key)
			}
		}
	case []any:
		for i := range v {
			v[i] = m.value(v[i])
		}
		if len(v) > 0 && m.IntN(6) == 0 {
			v = append(v, v[0])
		}
		return v
	}
	return v
}

// query returns a path with some parts of its query replaced.
func (m mutator) query(path string) string {
	odd := []string{"", "%00", "%FF", "-1", "1e99", "'", "%60", "x", "%", "&", "0", "../.."}
	path, query, _ := strings.Cut(path, "?")
	parts := strings.Split(query, "&")
	for i, part := range parts {
		if name, _, ok := strings.Cut(part, "="); ok && m.IntN(3) == 0 {
			parts[i] = name + "=" + odd[m.IntN(len(odd))]
		}
	}
	for _, name := range []string{"page_token", "max_results", "filter", "order_by", "path"} {
		if m.IntN(8) == 0 {
			parts = append(parts, name+"="+odd[m.IntN(len(odd))])
		}
	}
	return path + "?" + strings.Join(parts, "&")
}
