package mlflow_test

import (
	"net/http"
	"strings"
	"testing"

	"tracker/server/mlflow"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/users"
)

// The server accepts the forms in which clients of many versions and languages write fields.
func TestLenientDecoding(t *testing.T) {
	b := start(t)
	id := b.run(b.experiment("e"), `,"unknown":{"x":[1]},"start_time":"1700000000000","run_name":null,"tags":null`)
	b.post("runs/log-metric", `{"run_uuid":"`+id+`","key":"m","value":"0.5","timestamp":"7","step":"3","dataset_name":"d"}`).is(`{}`)
	b.post("runs/log-metric", `{"run_id":"`+id+`","key":"m","value":"-Infinity","timestamp":8.0,"step":"4.0"}`).is(`{}`)
	b.get("metrics/get-history", "run_id", id, "metric_key", "m", "extra", "1", "max_results", "10").is(
		`{"metrics":[{"key":"m","value":0.5,"timestamp":7,"step":3},{"key":"m","value":"-Infinity","timestamp":8,"step":4}]}`)
	b.post("runs/update", `{"run_id":"`+id+`","status":4}`).wants(200)
	if got := b.get("runs/get", "run_id", id).text("run", "info", "status"); got != "FAILED" {
		t.Errorf("the status is %s", got)
	}
	b.send("GET", api+"experiments/search?max_results=5&order_by=name&order_by=creation_time+DESC&view_type=1", "").wants(200)
	b.send("GET", "/api/2.0/preview/mlflow/experiments/list", "").wants(200)
}

func TestErrors(t *testing.T) {
	b := start(t)
	e := b.experiment("e")
	id := b.run(e, ``)
	b.post("experiments/create", `{"name":"e"}`).fails(400, "RESOURCE_ALREADY_EXISTS")
	b.post("experiments/create", `{}`).fails(400, "INVALID_PARAMETER_VALUE")
	b.post("experiments/create", `{"name":"`+strings.Repeat("x", 251)+`"}`).fails(400, "INVALID_PARAMETER_VALUE")
	b.post("experiments/create", `{"name":"x","artifact_location":"mlflow-artifacts:/elsewhere"}`).fails(400, "INVALID_PARAMETER_VALUE")
	b.post("experiments/create", `{`).fails(400, "BAD_REQUEST")
	b.post("experiments/create", `[]`).fails(400, "INVALID_PARAMETER_VALUE")
	b.get("experiments/get", "experiment_id", "12345").fails(404, "RESOURCE_DOES_NOT_EXIST")
	b.get("experiments/get-by-name", "experiment_name", "nothing").fails(404, "RESOURCE_DOES_NOT_EXIST")
	b.get("runs/get", "run_id", strings.Repeat("0", 32)).fails(404, "RESOURCE_DOES_NOT_EXIST")
	b.get("runs/get").fails(400, "INVALID_PARAMETER_VALUE")
	b.get("nothing/here").fails(404, "ENDPOINT_NOT_FOUND")
	b.get("runs/create").fails(405, "ENDPOINT_NOT_FOUND")
	b.send("GET", "/api/3.0/mlflow/traces/x", "").fails(404, "ENDPOINT_NOT_FOUND")
	for _, metric := range []string{`"key":"m","value":1`, `"key":"m","timestamp":1`, `"value":1,"timestamp":1`, `"key":"m","value":"x","timestamp":1`,
		`"key":"m","value":1,"timestamp":-1`, `"key":"m","value":1,"timestamp":1.5`, `"key":"m","value":1,"timestamp":1,"step":9223372036854775808`,
		`"key":"/m","value":1,"timestamp":1`, `"key":"a//m","value":1,"timestamp":1`, `"key":"../m","value":1,"timestamp":1`, `"key":"m!","value":1,"timestamp":1`,
		`"key":"` + strings.Repeat("m", 251) + `","value":1,"timestamp":1`, `"key":"m","value":[1],"timestamp":1`} {
		b.post("runs/log-metric", `{"run_id":"`+id+`",`+metric+`}`).fails(400, "INVALID_PARAMETER_VALUE")
	}
	many := strings.TrimSuffix(strings.Repeat(`{"key":"m","value":1,"timestamp":1},`, 1001), ",")
	b.post("runs/log-batch", `{"run_id":"`+id+`","metrics":[`+many+`]}`).fails(400, "INVALID_PARAMETER_VALUE")
	b.post("runs/update", `{"run_id":"`+id+`","status":"DONE"}`).fails(400, "INVALID_PARAMETER_VALUE")
	b.post("runs/create", `{"experiment_id":"`+e+`","run_name":"a","tags":[{"key":"mlflow.runName","value":"b"}]}`).fails(400, "INVALID_PARAMETER_VALUE")
	b.post("runs/set-tag", `{"run_id":"`+id+`","key":"mlflow.parentRunId","value":"`+id+`"}`).fails(400, "INVALID_PARAMETER_VALUE")
	b.get("runs/get", "run_id", id).wants(200)
	if got := b.get("metrics/get-history", "run_id", id, "metric_key", "m"); got.body != "{}" {
		t.Errorf("something was logged: %s", got.body)
	}
}

func TestSignIn(t *testing.T) {
	b := startWith(t, true)
	for _, rt := range mlflow.Routes() {
		path := strings.NewReplacer("{path:.+}", "a/b", "{", "", "}", "").Replace(rt[1])
		b.send(rt[0], path, "").fails(401, "UNAUTHENTICATED")
	}
	create := func(name string, o opt) answer { return b.post("experiments/create", `{"name":"`+name+`"}`, o) }
	root := basic(users.DefaultUsername, password)
	create("a", root).wants(200)
	create("b", root).wants(200)
	create("c", basic(users.DefaultUsername, "wrong")).fails(401, "UNAUTHENTICATED")
	create("c", basic("nobody", password)).fails(401, "UNAUTHENTICATED")
	create("c", func(r *http.Request) { r.Header.Set("Authorization", "Bearer nonsense") }).fails(401, "UNAUTHENTICATED")
	token := b.send("POST", "/auth", `{"username":"default","password":"`+password+`"}`).text("access_token")
	create("c", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }).wants(200)

	// After a password change, the old password is rejected at once.
	u, err := b.db.Users.UserByName(t.Context(), domain.System, users.DefaultUsername)
	b.must(err)
	b.now.Add(1)
	b.must(b.db.Users.UpdateUser(t.Context(), domain.System, u.ID, users.UserPatch{Password: new("another battery")}))
	create("d", root).fails(401, "UNAUTHENTICATED")
	create("d", basic(users.DefaultUsername, "another battery")).wants(200)
}

func TestArtifacts(t *testing.T) {
	b := start(t)
	e := b.experiment("e")
	id := b.run(e, ``)
	const all = "/api/2.0/mlflow-artifacts/artifacts"
	root := e + "/" + id + "/artifacts"
	put := func(path, content string) answer { return b.send("PUT", all+"/"+root+"/"+path, content) }
	put("a.txt", "first").is(`{}`)
	put("a.txt", "second").is(`{}`)
	put("dir/b%20%C3%BC.json", `{"x":1}`).is(`{}`)
	put("dir/sub/c", "").is(`{}`)
	b.send("GET", all+"?path="+root, "").is(`{"files":[{"path":"a.txt","is_dir":false,"file_size":6},{"path":"dir","is_dir":true}]}`)
	b.send("GET", all+"?path="+root+"/dir/", "").is(`{"files":[{"path":"b ü.json","is_dir":false,"file_size":7},{"path":"sub","is_dir":true}]}`)
	b.send("GET", all+"?path="+root+"/nothing", "").is(`{}`)
	b.get("artifacts/list", "run_id", id, "path", "dir").is(`{"root_uri":"mlflow-artifacts:/` + root + `","files":[
		{"path":"dir/b ü.json","is_dir":false,"file_size":7},{"path":"dir/sub","is_dir":true}]}`)
	if got := b.send("GET", all+"/"+root+"/a.txt", "").wants(200); got.body != "second" || !strings.HasPrefix(got.header.Get("Content-Type"), "text/plain") {
		t.Errorf("the file is %q, %v", got.body, got.header)
	}
	b.send("GET", all+"/"+root+"/dir", "").fails(404, "RESOURCE_DOES_NOT_EXIST")
	b.send("GET", all+"/"+root+"/nothing", "").fails(404, "RESOURCE_DOES_NOT_EXIST")
	for _, path := range []string{"../x", "%2e%2e/x", "%252e%252e/x", "a/./b", `..%5Cx`, "a//b"} {
		if got := put(path, "x"); got.status != 400 && got.status != 404 {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	b.send("PUT", all+"/elsewhere/x", "x").fails(404, "RESOURCE_DOES_NOT_EXIST")
	b.send("POST", "/api/2.0/mlflow-artifacts/mpu/create/"+root+"/x", `{}`).fails(501, "NOT_IMPLEMENTED")
	b.send("DELETE", all+"/"+root+"/dir", "").is(`{}`)
	b.send("DELETE", all+"/"+root+"/dir", "").fails(404, "RESOURCE_DOES_NOT_EXIST")
	b.send("GET", all+"?path="+root, "").is(`{"files":[{"path":"a.txt","is_dir":false,"file_size":6}]}`)
	l, err := b.db.Files.Artifacts(t.Context(), domain.System, e, files.ArtifactQuery{Page: domain.FirstPage})
	b.must(err)
	if l.Total != 1 || l.Data[0].Name != "a.txt" || strings.ReplaceAll(*l.Data[0].IterationID, "-", "") != id {
		t.Errorf("the artifacts are %+v", l.Data)
	}
}
