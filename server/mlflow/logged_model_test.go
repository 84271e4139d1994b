package mlflow_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"tracker/store/domain"
	"tracker/store/users"
)

func (r registryClient) loggedModel(in fields) string {
	r.t.Helper()
	return at(r.must("POST", "logged-models", in), "model.info.model_id").(string)
}

func TestLoggedModel(t *testing.T) {
	r := newRegistry(t, false)
	experiment, run := r.run("training")
	made := r.must("POST", "logged-models", fields{"experiment_id": experiment, "name": "iris", "model_type": "sklearn", "source_run_id": run,
		"params": []any{tagged("C", "1")}, "tags": []any{tagged("k", "v")}})
	id := at(made, "model.info.model_id").(string)
	r.wants(made, "model.info.experiment_id", experiment, "model.info.name", "iris", "model.info.model_type", "sklearn",
		"model.info.status", "LOGGED_MODEL_PENDING", "model.info.source_run_id", run, "model.info.tags", []any{tagged("k", "v")},
		"model.info.artifact_uri", "mlflow-artifacts:/"+experiment+"/models/"+id+"/artifacts",
		"model.data.params", []any{tagged("C", "1")}, "model.data.metrics", nil)
	r.wants(r.must("PATCH", "logged-models/"+id, fields{"model_id": id, "status": "LOGGED_MODEL_READY"}), "model.info.status", "LOGGED_MODEL_READY")
	r.wants(r.must("PATCH", "logged-models/"+id, fields{"status": 3}), "model.info.status", "LOGGED_MODEL_UPLOAD_FAILED")
	r.fails("PATCH", "logged-models/"+id, fields{"status": "DONE"}, 400, "INVALID_PARAMETER_VALUE")
	r.fails("PATCH", "logged-models/"+id, fields{}, 400, "INVALID_PARAMETER_VALUE")
	r.must("POST", "logged-models/"+id+"/params", fields{"params": []any{tagged("l1", "0.5"), tagged("C", "1")}})
	r.fails("POST", "logged-models/"+id+"/params", fields{"params": []any{tagged("C", "2")}}, 400, "INVALID_PARAMETER_VALUE")
	r.must("PATCH", "logged-models/"+id+"/tags", fields{"tags": []any{tagged("a/b", "1"), tagged("k", "w")}})
	r.must("DELETE", "logged-models/"+id+"/tags/a%2Fb", nil)
	r.fails("DELETE", "logged-models/"+id+"/tags/a%2Fb", nil, 404, "RESOURCE_DOES_NOT_EXIST")
	r.wants(r.must("GET", "logged-models/"+id, nil), "model.data.params", []any{tagged("C", "1"), tagged("l1", "0.5")},
		"model.info.tags", []any{tagged("k", "w")})

	r.must("POST", "runs/outputs", fields{"run_id": run, "models": []any{fields{"model_id": id, "step": "7"}}})
	r.must("POST", "runs/log-inputs", fields{"run_id": run, "models": []any{fields{"model_id": id}}})
	r.wants(r.must("GET", "runs/get?run_id="+run, nil), "run.outputs.model_outputs", []any{fields{"model_id": id, "step": 7}},
		"run.inputs.model_inputs", []any{fields{"model_id": id}})
	r.fails("POST", "runs/outputs", fields{"run_id": run, "models": []any{fields{"model_id": "m-none"}}}, 404, "RESOURCE_DOES_NOT_EXIST")
	r.fails("POST", "runs/outputs", fields{"run_id": "none", "models": []any{fields{"model_id": id}}}, 404, "RESOURCE_DOES_NOT_EXIST")

	r.must("DELETE", "logged-models/"+id, nil)
	for _, c := range [][2]string{{"GET", ""}, {"DELETE", ""}, {"PATCH", "/tags"}} {
		r.fails(c[0], "logged-models/"+id+c[1], map[bool]any{true: nil, false: fields{"tags": []any{tagged("k", "v")}}}[c[0] == "GET"], 404, "RESOURCE_DOES_NOT_EXIST")
	}
	r.wants(r.must("GET", "runs/get?run_id="+run, nil), "run.outputs", fields{})

	for _, bad := range []fields{{}, {"experiment_id": experiment, "name": "a/b"}, {"experiment_id": experiment, "source_run_id": "none"},
		{"experiment_id": experiment, "params": []any{tagged("../x", "1")}}} {
		r.fails("POST", "logged-models", bad, 400, "INVALID_PARAMETER_VALUE")
	}
	r.fails("POST", "logged-models", fields{"experiment_id": "none"}, 404, "RESOURCE_DOES_NOT_EXIST")
	if name := at(r.must("POST", "logged-models", fields{"experiment_id": "0"}), "model.info.name").(string); !unicode.IsLetter(rune(name[0])) {
		t.Errorf("the name that the server made up is %q", name)
	}
}

func TestFilesOfALoggedModel(t *testing.T) {
	r := newRegistry(t, false)
	experiment, run := r.run("training")
	id := r.loggedModel(fields{"experiment_id": experiment, "name": "iris", "source_run_id": run})
	other := r.loggedModel(fields{"experiment_id": experiment, "name": "other"})
	folder := experiment + "/models/" + id + "/artifacts"
	file := func(path string) string { return "/api/2.0/mlflow-artifacts/artifacts/" + path }
	for path, data := range map[string]string{folder + "/MLmodel": "flavors", folder + "/data/model.pkl": "weights",
		experiment + "/models/" + other + "/artifacts/MLmodel": "others", experiment + "/" + run + "/artifacts/MLmodel": "run's"} {
		if status, answer := r.send("PUT", file(path), []byte(data)); status != http.StatusOK {
			t.Fatal(path, status, string(answer))
		}
	}
	if status, answer := r.send("GET", file(folder+"/MLmodel"), nil); status != http.StatusOK || string(answer) != "flavors" {
		t.Error(status, string(answer))
	}
	for path, want := range map[string]string{folder: `"path":"MLmodel"`, folder + "/data": `"path":"model.pkl"`} {
		status, answer := r.send("GET", "/api/2.0/mlflow-artifacts/artifacts?path="+path, nil)
		if status != http.StatusOK || !strings.Contains(string(answer), want) || strings.Contains(string(answer), "others") {
			t.Error(path, status, string(answer))
		}
	}
	if status, answer := r.send("DELETE", file(folder+"/data"), nil); status != http.StatusOK {
		t.Error(status, string(answer))
	}
	for _, gone := range []string{folder + "/data/model.pkl", folder, experiment + "/models/m-none/artifacts/MLmodel", experiment + "/models/" + id} {
		if status, answer := r.send("GET", file(gone), nil); status != http.StatusNotFound {
			t.Error(gone, status, string(answer))
		}
	}
	r.must("DELETE", "logged-models/"+id, nil)
	if status, _ := r.send("GET", file(folder+"/MLmodel"), nil); status != http.StatusNotFound {
		t.Errorf("after the model was deleted its file answers %d", status)
	}
	if status, _ := r.send("GET", file(experiment+"/"+run+"/artifacts/MLmodel"), nil); status != http.StatusOK {
		t.Errorf("after the model was deleted the file of the run answers %d", status)
	}
	for _, path := range []string{"/models/" + id + "/artifacts/x", "/models/" + other + "/artifacts/../../x"} {
		if status, answer := r.send("PUT", file(experiment+path), []byte("x")); status != http.StatusNotFound && status != http.StatusBadRequest {
			t.Error(path, status, string(answer))
		}
	}
}

func TestSearchLoggedModels(t *testing.T) {
	r := newRegistry(t, false)
	experiment, run := r.run("training")
	second, _ := r.run("second")
	ids := map[string]string{}
	for i, name := range []string{"a", "b", "c"} {
		ids[name] = r.loggedModel(fields{"experiment_id": experiment, "name": name, "model_type": "type" + strconv.Itoa(i%2), "source_run_id": run,
			"params": []any{tagged("C", strconv.Itoa(i))}, "tags": []any{tagged("k", name)}})
	}
	r.loggedModel(fields{"experiment_id": second, "name": "d"})
	r.must("PATCH", "logged-models/"+ids["a"], fields{"status": "LOGGED_MODEL_READY"})
	point := func(model string, value any, timestamp int, dataset string) {
		r.must("POST", "runs/log-metric", fields{"run_id": run, "key": "acc", "value": value, "timestamp": timestamp, "step": 0,
			"model_id": ids[model], "dataset_name": dataset, "dataset_digest": "d" + dataset})
	}
	point("a", 0.9, 1, "train")
	point("a", 0.5, 2, "test")
	point("b", 0.7, 3, "train")
	r.must("POST", "runs/log-batch", fields{"run_id": run, "metrics": []any{
		fields{"key": "f1", "value": "NaN", "timestamp": 4, "step": 1, "model_id": ids["b"]}}})
	r.wants(r.must("GET", "logged-models/"+ids["b"], nil), "model.data.metrics.0", fields{"key": "acc", "value": 0.7, "timestamp": 3, "step": 0,
		"dataset_name": "train", "dataset_digest": "dtrain", "model_id": ids["b"], "run_id": run})
	r.wants(r.must("GET", "runs/get?run_id="+run, nil), "run.data.metrics.0.key", "acc", "run.data.metrics.1.key", "f1")
	r.fails("POST", "runs/log-batch", fields{"run_id": run, "metrics": []any{
		fields{"key": "lost", "value": 1, "timestamp": 1, "model_id": "m-none"}}}, 404, "RESOURCE_DOES_NOT_EXIST")
	r.wants(r.must("GET", "runs/get?run_id="+run, nil), "run.data.metrics.2", nil)

	oldest := []any{fields{"field_name": "name", "ascending": true}}
	for _, c := range []struct {
		in   fields
		want string
	}{
		{fields{}, "[a b c]"},
		{fields{"experiment_ids": []any{experiment, second, "none"}}, "[a b c d]"},
		{fields{"filter": "name = 'a'"}, "[a]"},
		{fields{"filter": "attributes.name != 'a'"}, "[b c]"},
		{fields{"filter": "model_type = 'type0' AND name LIKE '%'"}, "[a c]"},
		{fields{"filter": "status = 'READY'"}, "[a]"},
		{fields{"filter": "source_run_id = '" + run + "'"}, "[a b c]"},
		{fields{"filter": "model_id IN ('" + ids["b"] + "')"}, "[b]"},
		{fields{"filter": "creation_timestamp > 0 AND last_updated_timestamp < 1"}, "[]"},
		{fields{"filter": "params.C = '1'"}, "[b]"},
		{fields{"filter": "params.none != '1'"}, "[]"},
		{fields{"filter": "tags.`k` ILIKE 'C'"}, "[c]"},
		{fields{"filter": "metrics.acc > 0.8"}, "[a]"},
		{fields{"filter": "metrics.acc < 0.8"}, "[a b]"},
		{fields{"filter": "metrics.acc < 0.8", "datasets": []any{fields{"dataset_name": "train"}}}, "[b]"},
		{fields{"filter": "metrics.f1 > 0"}, "[]"},
		{fields{"filter": "metrics.f1 != 0"}, "[b]"},
		{fields{"datasets": []any{fields{"dataset_name": "test", "dataset_digest": "dtest"}}}, "[a]"},
		{fields{"order_by": []any{fields{"field_name": "metrics.acc", "ascending": false}}}, "[b a c]"},
		{fields{"order_by": []any{fields{"field_name": "metrics.acc", "ascending": false, "dataset_name": "train"}}}, "[a b c]"},
		{fields{"order_by": []any{fields{"field_name": "metrics.f1"}, fields{"field_name": "name", "ascending": false}}}, "[b c a]"},
	} {
		in := fields{"experiment_ids": []any{experiment}, "order_by": oldest}
		for key, value := range c.in {
			in[key] = value
		}
		if got := fmt.Sprint(list(r.must("POST", "logged-models/search", in), "models", "info.name")); got != c.want {
			t.Errorf("%v finds %s, want %s", c.in, got, c.want)
		}
	}
	for _, bad := range []fields{{}, {"experiment_ids": []any{experiment}, "filter": "size = 1"},
		{"experiment_ids": []any{experiment}, "filter": "metrics.acc = 'x'"},
		{"experiment_ids": []any{experiment}, "filter": "name > 'x'"},
		{"experiment_ids": []any{experiment}, "order_by": []any{fields{"field_name": "size"}}},
		{"experiment_ids": []any{experiment}, "order_by": []any{fields{"field_name": "params.C"}}},
		{"experiment_ids": []any{experiment}, "datasets": []any{fields{}}},
		{"experiment_ids": []any{experiment}, "page_token": "x"}} {
		r.fails("POST", "logged-models/search", bad, 400, "INVALID_PARAMETER_VALUE")
	}
	page := r.must("POST", "logged-models/search", fields{"experiment_ids": []any{experiment}, "max_results": 2, "order_by": oldest})
	page = r.must("POST", "logged-models/search", fields{"experiment_ids": []any{experiment}, "max_results": 2, "order_by": oldest, "page_token": page["next_page_token"]})
	r.wants(page, "models.0.info.name", "c", "models.1", nil, "next_page_token", nil)
}

// A user with only the read permission can't change a model, and a user without permissions sees no
// models.
func TestRightsToModels(t *testing.T) {
	r := newRegistry(t, true)
	admin, id := r.as("admin")
	if err := r.db.Users.UpdateUser(t.Context(), domain.System, id, users.UserPatch{IsAdmin: new(true)}); err != nil {
		t.Fatal(err)
	}
	experiment, run := admin.run("training")
	admin.model("fraud")
	admin.version("fraud", nil)
	model := admin.loggedModel(fields{"experiment_id": experiment, "name": "m"})
	reader, readerID := r.as("reader")
	stranger, _ := r.as("stranger")
	project, err := r.db.Projects.ProjectNamed(t.Context(), domain.System, "MLflow")
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.db.Users.CreateUserPermission(t.Context(), domain.System, readerID, project,
		users.PermissionPatch{Read: new(true), Create: new(false), Update: new(false), Delete: new(false)})
	if err != nil {
		t.Fatal(err)
	}
	named := fields{"name": "fraud"}
	version := fields{"name": "fraud", "version": "1", "stage": "Staging", "key": "k", "value": "v", "alias": "a", "new_name": "n", "source": "s3://b"}
	// refused checks that the stranger finds no models by their names, and may not use others.
	refused := func(method, path string, in any) {
		t.Helper()
		switch named := strings.HasPrefix(path, "registered-models/") || strings.HasPrefix(path, "model-versions/"); {
		case path == "registered-models/create":
			stranger.must(method, path, in) // in the stranger's project
		case named && strings.HasSuffix(path, "search"):
			if got := stranger.must(method, path, in); len(got) > 0 {
				t.Errorf("%s finds %v", path, got)
			}
		case named:
			stranger.fails(method, path, in, 404, "RESOURCE_DOES_NOT_EXIST")
		default:
			stranger.fails(method, path, in, 403, "PERMISSION_DENIED")
		}
	}
	reads := []struct {
		method, path string
		in           any
	}{
		{"GET", "registered-models/get?name=fraud", nil},
		{"GET", "registered-models/search", nil},
		{"GET", "registered-models/get-latest-versions?name=fraud", nil},
		{"GET", "model-versions/get?name=fraud&version=1", nil},
		{"GET", "model-versions/search", nil},
		{"GET", "model-versions/get-download-uri?name=fraud&version=1", nil},
		{"GET", "logged-models/" + model, nil},
		{"POST", "logged-models/search", fields{"experiment_ids": []any{experiment}}},
	}
	for _, c := range reads {
		reader.must(c.method, c.path, c.in)
		refused(c.method, c.path, c.in)
		r.fails(c.method, c.path, c.in, 401, "UNAUTHENTICATED")
	}
	for _, c := range []struct {
		method, path string
		in           any
	}{
		{"POST", "registered-models/create", fields{"name": "another"}},
		{"POST", "registered-models/rename", version},
		{"PATCH", "registered-models/update", fields{"name": "fraud", "description": "d"}},
		{"DELETE", "registered-models/delete", named},
		{"POST", "registered-models/set-tag", version},
		{"DELETE", "registered-models/delete-tag", version},
		{"POST", "registered-models/alias", version},
		{"DELETE", "registered-models/alias", version},
		{"POST", "model-versions/create", version},
		{"PATCH", "model-versions/update", fields{"name": "fraud", "version": "1", "description": "d"}},
		{"DELETE", "model-versions/delete", version},
		{"POST", "model-versions/transition-stage", version},
		{"POST", "model-versions/set-tag", version},
		{"DELETE", "model-versions/delete-tag", version},
		{"POST", "logged-models", fields{"experiment_id": experiment, "name": "m"}},
		{"PATCH", "logged-models/" + model, fields{"status": "LOGGED_MODEL_READY"}},
		{"DELETE", "logged-models/" + model, nil},
		{"PATCH", "logged-models/" + model + "/tags", fields{"tags": []any{tagged("k", "v")}}},
		{"DELETE", "logged-models/" + model + "/tags/k", nil},
		{"POST", "logged-models/" + model + "/params", fields{"params": []any{tagged("k", "v")}}},
		{"POST", "runs/outputs", fields{"run_id": run, "models": []any{fields{"model_id": model}}}},
	} {
		reader.fails(c.method, c.path, c.in, 403, "PERMISSION_DENIED")
		refused(c.method, c.path, c.in)
	}
}
