package mlflow_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"tracker/store/audit"
	"tracker/store/domain"
	"tracker/store/users"
)

// All values that a client logs can be read through MLflow's protocol and through the native API.
func TestRunIsReadBack(t *testing.T) {
	b := start(t)
	e := b.experiment("iris")
	parent := b.run(e, ``)
	id := b.run(e, `,"user_id":"ada","run_name":"first","start_time":1700000000123,"tags":[{"key":"mlflow.source.name","value":"train.py"},
		{"key":"mlflow.source.git.commit","value":"9fceb02"},{"key":"mlflow.parentRunId","value":"`+parent+`"},{"key":"a.b","value":"線"}]`)
	b.post("runs/log-batch", `{"run_id":"`+id+`","metrics":[{"key":"loss","value":0.5,"timestamp":1700000001000,"step":1},
		{"key":"loss","value":0.25,"timestamp":1700000002000,"step":2},{"key":"val/acc","value":"NaN","timestamp":"1700000001000"}],
		"params":[{"key":"lr","value":"0.10"},{"key":"empty","value":""}],"tags":[{"key":"k","value":"1"},{"key":"k","value":"2"},
		{"key":"mlflow.note.content","value":"a note"}]}`).is(`{}`)
	b.post("runs/log-inputs", `{"run_id":"`+id+`","datasets":[{"tags":[{"key":"mlflow.data.context","value":"training"},{"key":"x","value":"y"}],
		"dataset":{"name":"d","digest":"abc","source_type":"local","source":"{}","schema":"s","profile":"p"}}]}`).is(`{}`)
	b.post("runs/update", `{"run_id":"`+id+`","status":"FINISHED","end_time":1700000009000}`).wants(200)
	canonical := id[:8] + "-" + id[8:12] + "-" + id[12:16] + "-" + id[16:20] + "-" + id[20:]
	// The models that a run creates are tested elsewhere.
	got := b.get("runs/get", "run_id", id)
	got.body = strings.Replace(got.body, `,"outputs":{}`, "", 1)
	got.is(`{"run":{
		"info":{"run_id":"` + id + `","run_uuid":"` + id + `","experiment_id":"` + e + `","run_name":"first","user_id":"ada","status":"FINISHED",
			"start_time":1700000000123,"end_time":1700000009000,"artifact_uri":"mlflow-artifacts:/` + e + `/` + id + `/artifacts","lifecycle_stage":"active"},
		"data":{"metrics":[{"key":"loss","value":0.25,"timestamp":1700000002000,"step":2},{"key":"val/acc","value":"NaN","timestamp":1700000001000,"step":0}],
			"params":[{"key":"empty","value":""},{"key":"lr","value":"0.10"}],
			"tags":[{"key":"a.b","value":"線"},{"key":"k","value":"2"},{"key":"mlflow.note.content","value":"a note"},
				{"key":"mlflow.parentRunId","value":"` + parent + `"},{"key":"mlflow.runName","value":"first"},
				{"key":"mlflow.source.git.commit","value":"9fceb02"},{"key":"mlflow.source.name","value":"train.py"},{"key":"mlflow.user","value":"ada"}]},
		"inputs":{"dataset_inputs":[{"tags":[{"key":"mlflow.data.context","value":"training"},{"key":"x","value":"y"}],
			"dataset":{"name":"d","digest":"abc","source_type":"local","source":"{}","schema":"s","profile":"p"}}]}}}`)
	b.send("GET", "/property/iteration/"+canonical, "").is(`{"data":[{"key":"a.b","value":"線"},{"key":"k","value":"2"},{"key":"mlflow.user","value":"ada"}],
		"total":3,"limit":50,"offset":0}`)
	b.send("GET", "/iteration/"+canonical+"/summary", "").is(`{"iteration_id":"` + canonical + `","params":{"lr":"0.10","empty":""},"tags":[],
		"metrics":{"loss":{"count":2,"last":0.25,"last_step":2,"min":0.25,"min_step":2,"max":0.5,"max_step":1,"mean":0.375},
			"val/acc":{"count":1,"last":"NaN","last_step":0,"min":null,"min_step":null,"max":null,"max_step":null,"mean":null}}}`)
	i, err := b.db.Runs.Iteration(t.Context(), domain.System, canonical)
	b.must(err)
	if i.Name != "first" || i.Notes != "a note" || i.Status != domain.Succeeded || i.CreatedDate != 1700000000123 || *i.EndDate != 1700000009000 ||
		strings.ReplaceAll(*i.ParentIterationID, "-", "") != parent {
		t.Errorf("the iteration is %+v", i)
	}
	s, err := b.db.Runs.Snapshot(t.Context(), domain.System, canonical)
	b.must(err)
	if s.Entrypoint != "train.py" || s.GitSHA != "9fceb02" {
		t.Errorf("the snapshot is %+v", s)
	}
}

// If a dataset lacks several fields, the error always names the first one.
func TestFirstMissingField(t *testing.T) {
	b := start(t)
	id := b.run(b.experiment("e"), ``)
	for range 20 {
		a := b.post("runs/log-inputs", `{"run_id":"`+id+`","datasets":[{"dataset":{"source":"s"}}]}`).fails(400, "INVALID_PARAMETER_VALUE")
		if !strings.Contains(a.body, "name") {
			t.Fatal(a.body)
		}
	}
}

// Changes made through the native API are visible through MLflow's protocol, and vice versa.
func TestFieldsAreTheSameOnBothSides(t *testing.T) {
	b := start(t)
	e := b.experiment("iris")
	id := b.run(e, `,"run_name":"old"`)
	native := "/iteration/" + id[:8] + "-" + id[8:12] + "-" + id[12:16] + "-" + id[16:20] + "-" + id[20:]
	b.send("PATCH", native, `{"name":"new","notes":"n","status":"KILLED"}`).wants(204)
	got := b.get("runs/get", "run_uuid", id).wants(200).body
	for _, part := range []string{`"run_name":"new"`, `{"key":"mlflow.runName","value":"new"}`, `{"key":"mlflow.note.content","value":"n"}`, `"status":"KILLED"`} {
		if !strings.Contains(got, part) {
			t.Errorf("no %s in %s", part, got)
		}
	}
	b.post("runs/set-tag", `{"run_id":"`+id+`","key":"mlflow.runName","value":"newest"}`).is(`{}`)
	if name := b.send("GET", native, "").text("name"); name != "newest" {
		t.Errorf("the name is %q", name)
	}
	b.post("runs/delete-tag", `{"run_id":"`+id+`","key":"mlflow.note.content"}`).is(`{}`)
	if notes := b.send("GET", native, "").text("notes"); notes != "" {
		t.Errorf("the notes are %q", notes)
	}
	b.post("runs/delete-tag", `{"run_id":"`+id+`","key":"nothing"}`).fails(404, "RESOURCE_DOES_NOT_EXIST")
	b.send("PATCH", "/experiment/"+e, `{"description":"flowers"}`).wants(204)
	if got := b.get("experiments/get", "experiment_id", e).wants(200).body; !strings.Contains(got, `{"key":"mlflow.note.content","value":"flowers"}`) {
		t.Errorf("the experiment is %s", got)
	}
}

// A run that has ended still accepts every write, and its end time does not change.
func TestEndedRunTakesWrites(t *testing.T) {
	b := start(t)
	id := b.run(b.experiment("e"), ``)
	b.post("runs/update", `{"run_id":"`+id+`","status":"FAILED","end_time":1800000000000}`).wants(200)
	b.post("runs/log-metric", `{"run_id":"`+id+`","key":"score","value":1,"timestamp":5}`).is(`{}`)
	b.post("runs/log-parameter", `{"run_id":"`+id+`","key":"p","value":"1"}`).is(`{}`)
	b.post("runs/set-tag", `{"run_id":"`+id+`","key":"t","value":"1"}`).is(`{}`)
	b.post("runs/log-batch", `{"run_id":"`+id+`","metrics":[{"key":"b","value":2,"timestamp":5}],"params":[{"key":"q","value":"1"}]}`).is(`{}`)
	got := b.get("runs/get", "run_id", id).wants(200).body
	for _, part := range []string{`"status":"FAILED"`, `"end_time":1800000000000`, `"score"`, `{"key":"q","value":"1"}`, `{"key":"t","value":"1"}`} {
		if !strings.Contains(got, part) {
			t.Errorf("no %s in %s", part, got)
		}
	}
	// A client that resumes a run also sends the run's previous end time.
	b.post("runs/update", `{"run_id":"`+id+`","status":"RUNNING","end_time":1800000000000}`).wants(200)
	if got := b.get("runs/get", "run_id", id); got.text("run", "info", "status") != "RUNNING" || strings.Contains(got.body, "end_time") {
		t.Errorf("the resumed run is %s", got.body)
	}
}

func TestParamsNeverChange(t *testing.T) {
	b := start(t)
	id := b.run(b.experiment("e"), ``)
	set := func(key, value string) answer {
		return b.post("runs/log-parameter", `{"run_id":"`+id+`","key":`+quote(key)+`,"value":`+quote(value)+`}`)
	}
	set("lr", "0.1").is(`{}`)
	set("lr", "0.1").is(`{}`)
	set("lr", "0.10").fails(400, "INVALID_PARAMETER_VALUE")
	long := strings.Repeat("線", 6001)
	set("long", long).is(`{}`)
	set("long", long).is(`{}`)
	b.post("runs/log-batch", `{"run_id":"`+id+`","metrics":[{"key":"m","value":1,"timestamp":1}],"params":[{"key":"lr","value":"2"}]}`).fails(400, "INVALID_PARAMETER_VALUE")
	b.post("runs/log-batch", `{"run_id":"`+id+`","params":[{"key":"x","value":"2"},{"key":"x","value":"2"}]}`).fails(400, "INVALID_PARAMETER_VALUE")
	b.get("metrics/get-history", "run_id", id, "metric_key", "m").is(`{}`)
	if got := b.get("runs/get", "run_id", id).wants(200).body; !strings.Contains(got, `"`+strings.Repeat("線", 6000)+`"`) || strings.Contains(got, `"x"`) {
		t.Errorf("the run is %.300s", got)
	}
}

// A point that is sent again after a lost response is stored only once.
func TestPointsOnceInTheirOrder(t *testing.T) {
	b := start(t)
	id := b.run(b.experiment("e"), ``)
	batch := `{"run_id":"` + id + `","metrics":[{"key":"m","value":3,"timestamp":30,"step":0},{"key":"m","value":1,"timestamp":10,"step":5},
		{"key":"m","value":2,"timestamp":10,"step":-4},{"key":"m","value":1,"timestamp":10,"step":5},{"key":"m","value":0.5,"timestamp":10,"step":5},
		{"key":"m","value":"Infinity","timestamp":40,"step":"7.0"},{"key":"m","value":"NaN","timestamp":20},{"key":"m","value":"NaN","timestamp":20}]}`
	for range 3 {
		b.post("runs/log-batch", batch).is(`{}`)
	}
	// Large batches are stored by different code.
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf(`{"key":"n","value":%d,"timestamp":%d,"step":%d}`, i, i, i%10))
	}
	for range 2 {
		b.post("runs/log-batch", `{"run_id":"`+id+`","metrics":[`+strings.Join(many, ",")+`]}`).is(`{}`)
	}
	b.get("metrics/get-history", "run_id", id, "metric_key", "m").is(`{"metrics":[
		{"key":"m","value":2,"timestamp":10,"step":-4},{"key":"m","value":0.5,"timestamp":10,"step":5},{"key":"m","value":1,"timestamp":10,"step":5},
		{"key":"m","value":"NaN","timestamp":20,"step":0},{"key":"m","value":3,"timestamp":30,"step":0},{"key":"m","value":"Infinity","timestamp":40,"step":7}]}`)
	first := b.get("metrics/get-history", "run_id", id, "metric_key", "n", "max_results", "60")
	token := first.text("next_page_token")
	second := b.get("metrics/get-history", "run_id", id, "metric_key", "n", "max_results", "60", "page_token", token).wants(200).body
	if n := strings.Count(first.body, `"key"`); n != 60 || strings.Count(second, `"key"`) != 40 || strings.Contains(second, "next_page_token") {
		t.Errorf("the pages are %s and %s", first.body, second)
	}
}

// Clients older than MLflow 3.0 record the models of a run in one of its tags.
func TestHistoryOfModels(t *testing.T) {
	b := start(t)
	id := b.run(b.experiment("e"), ``)
	for _, path := range []string{"a", "b"} {
		model := `{"artifact_path":"` + path + `","flavors":{"sklearn":{}},"signature":"dropped"}`
		b.post("runs/log-model", `{"run_id":"`+id+`","model_json":`+quote(model)+`}`).is(`{}`)
	}
	for _, bad := range []string{``, `x`, `[]`, `null`, `{"artifact_path":"` + strings.Repeat("x", 8000) + `"}`} {
		b.post("runs/log-model", `{"run_id":"`+id+`","model_json":`+quote(bad)+`}`).fails(400, "INVALID_PARAMETER_VALUE")
	}
	var got struct {
		Run struct {
			Data struct {
				Tags []struct{ Key, Value string }
			}
		}
	}
	b.must(json.Unmarshal([]byte(b.get("runs/get", "run_id", id).wants(200).body), &got))
	var history []map[string]any
	for _, tag := range got.Run.Data.Tags {
		if tag.Key == "mlflow.log-model.history" {
			b.must(json.Unmarshal([]byte(tag.Value), &history))
		}
	}
	flavors := map[string]any{"sklearn": map[string]any{}}
	if want := []map[string]any{{"artifact_path": "a", "flavors": flavors}, {"artifact_path": "b", "flavors": flavors}}; !reflect.DeepEqual(history, want) {
		t.Errorf("the history is %v, want %v", history, want)
	}
}

// A tag that is stored in a field of the run or experiment does not exist if that field is empty.
func TestRemoveFields(t *testing.T) {
	b := start(t)
	e := b.experiment("e")
	id := b.run(e, ``)
	for _, key := range []string{"mlflow.note.content", "mlflow.source.name", "mlflow.source.git.commit", "mlflow.source.git.repoURL", "mlflow.parentRunId", "other"} {
		b.post("runs/delete-tag", `{"run_id":"`+id+`","key":"`+key+`"}`).fails(404, "RESOURCE_DOES_NOT_EXIST")
		value := "v"
		if key == "mlflow.parentRunId" {
			value = b.run(e, ``)
		}
		b.post("runs/set-tag", `{"run_id":"`+id+`","key":"`+key+`","value":"`+value+`"}`).wants(200)
		b.post("runs/delete-tag", `{"run_id":"`+id+`","key":"`+key+`"}`).is(`{}`)
		b.post("runs/delete-tag", `{"run_id":"`+id+`","key":"`+key+`"}`).fails(404, "RESOURCE_DOES_NOT_EXIST")
	}
	b.post("runs/delete-tag", `{"run_id":"`+id+`","key":"mlflow.runName"}`).fails(400, "INVALID_PARAMETER_VALUE")
	note := `{"experiment_id":"` + e + `","key":"mlflow.note.content","value":"v"}`
	b.post("experiments/delete-experiment-tag", note).fails(404, "RESOURCE_DOES_NOT_EXIST")
	b.post("experiments/set-experiment-tag", note).wants(200)
	b.post("experiments/delete-experiment-tag", note).is(`{}`)
	b.post("experiments/delete", `{"experiment_id":"`+e+`"}`).wants(200)
	b.post("experiments/delete-experiment-tag", note).fails(400, "INVALID_PARAMETER_VALUE")
	b.post("logged-models", `{"experiment_id":"`+e+`","name":"m"}`).fails(400, "INVALID_PARAMETER_VALUE")
	b.post("runs/restore", `{"run_id":"`+id+`"}`).fails(400, "INVALID_PARAMETER_VALUE")
}

func TestDefaultExperiment(t *testing.T) {
	b := start(t)
	b.post("experiments/search", `{"max_results":10}`).is(`{}`)
	b.post("runs/search", `{"experiment_ids":["0"]}`).is(`{}`)
	id := b.post("runs/create", `{"experiment_id":0}`).text("run", "info", "run_id")
	e := b.get("experiments/get", "experiment_id", "0").text("experiment", "experiment_id")
	if name := b.get("experiments/get", "experiment_id", e).text("experiment", "name"); name != "Default" {
		t.Errorf("the name is %q", name)
	}
	if got := b.post("runs/search", `{"experiment_ids":["0"]}`).wants(200).body; !strings.Contains(got, id) {
		t.Errorf("the search has found %s", got)
	}
}

// A client with a wrong clock can still log its run.
func TestRunOfTheFuture(t *testing.T) {
	b := start(t)
	id := b.run(b.experiment("e"), `,"start_time":1900000000000`)
	if got := b.get("runs/get", "run_id", id).wants(200).body; !strings.Contains(got, `"start_time":1800000000000`) {
		t.Errorf("the run is %s", got)
	}
}

// The path of the tracking URI selects the project.
func TestProjectInThePath(t *testing.T) {
	b := start(t)
	p, err := b.db.Projects.CreateProject(t.Context(), domain.System, domain.NewProject{Name: "the team's"})
	b.must(err)
	body := `{"name":"e"}`
	e := b.send("POST", "/mlflow/the%20team%27s"+api+"experiments/create", body).text("experiment_id")
	b.send("POST", "/mlflow/"+p.ID+api+"experiments/create", body).fails(400, "RESOURCE_ALREADY_EXISTS")
	b.post("experiments/create", body).wants(200)
	got, err := b.db.Projects.Experiment(t.Context(), domain.System, e)
	b.must(err)
	if got.ProjectID != p.ID {
		t.Errorf("the experiment is in %s", got.ProjectID)
	}
	b.send("POST", "/mlflow/nothing"+api+"experiments/create", body).fails(404, "RESOURCE_DOES_NOT_EXIST")
}

// A workspace is the name or id of a project. A project in the path takes precedence.
func TestWorkspace(t *testing.T) {
	b := start(t)
	b.send("GET", "/api/3.0/mlflow/server-info", "").is(`{"workspaces_enabled":true}`)
	p, err := b.db.Projects.CreateProject(t.Context(), domain.System, domain.NewProject{Name: "team-a"})
	b.must(err)
	in := func(name string) opt { return func(r *http.Request) { r.Header.Set("X-MLFLOW-WORKSPACE", name) } }
	body := `{"name":"e"}`
	e := b.post("experiments/create", body, in(" team-a ")).text("experiment_id")
	b.post("experiments/create", body, in(p.ID)).fails(400, "RESOURCE_ALREADY_EXISTS")
	b.send("POST", "/mlflow/team-a"+api+"experiments/create", body, in("nothing")).fails(400, "RESOURCE_ALREADY_EXISTS")
	got, err := b.db.Projects.Experiment(t.Context(), domain.System, e)
	b.must(err)
	if got.ProjectID != p.ID {
		t.Errorf("the experiment is in %s", got.ProjectID)
	}
	b.post("experiments/create", body, in("default")).wants(200)
	b.post("experiments/create", body).fails(400, "RESOURCE_ALREADY_EXISTS")
	for _, name := range []string{"nothing", "\xff", "a'b"} {
		b.post("experiments/create", body, in(name)).fails(404, "RESOURCE_DOES_NOT_EXIST")
		b.post("experiments/search", `{"max_results":5}`, in(name)).fails(404, "RESOURCE_DOES_NOT_EXIST")
	}
}

// If a run's parent is deleted, both APIs still show the parent's id.
func TestParentInTheTrash(t *testing.T) {
	b := start(t)
	e := b.experiment("e")
	parent := b.run(e, ``)
	child := b.run(e, `,"run_name":"child","tags":[{"key":"mlflow.parentRunId","value":"`+parent+`"}]`)
	b.post("runs/delete", `{"run_id":"`+parent+`"}`).is(`{}`)
	named := `{"key":"mlflow.parentRunId","value":"` + parent + `"}`
	for _, answer := range []answer{
		b.get("runs/get", "run_id", child),
		b.post("runs/search", `{"experiment_ids":["`+e+`"],"filter":"tags.mlflow.parentRunId = '`+parent+`'"}`),
	} {
		if !strings.Contains(answer.body, named) {
			t.Errorf("%s answers %s", answer.what, answer.body)
		}
	}
}

// Deleted records are in the trash: they can be read, but not written until they are
// restored.
func TestDeleteAndRestore(t *testing.T) {
	b := start(t)
	e := b.experiment("e")
	id, kept := b.run(e, `,"run_name":"gone"`), b.run(e, `,"run_name":"kept"`)
	b.post("runs/log-metric", `{"run_id":"`+id+`","key":"m","value":1,"timestamp":1}`).is(`{}`)
	file := "/api/2.0/mlflow-artifacts/artifacts/" + e + "/" + id + "/artifacts/a"
	b.send("PUT", file, "x").is(`{}`)
	search := func(view string) string {
		b.Helper()
		return b.post("runs/search", `{"experiment_ids":["`+e+`"],"run_view_type":"`+view+`","order_by":["run_name"]}`).names()
	}
	for range 2 {
		b.post("runs/delete", `{"run_id":"`+id+`"}`).is(`{}`)
	}
	if got := b.get("runs/get", "run_id", id).text("run", "info", "lifecycle_stage"); got != "deleted" {
		t.Errorf("the stage is %s", got)
	}
	b.get("metrics/get-history", "run_id", id, "metric_key", "m").is(`{"metrics":[{"key":"m","value":1,"timestamp":1,"step":0}]}`)
	b.send("GET", file, "").wants(200)
	for _, c := range [][2]string{{"log-metric", `"key":"m","value":2,"timestamp":1`}, {"log-parameter", `"key":"p","value":"1"`}, {"set-tag", `"key":"t","value":"1"`},
		{"set-tag", `"key":"mlflow.parentRunId","value":"x"`}, {"log-batch", `"metrics":[]`}, {"update", `"status":"FAILED"`}, {"delete-tag", `"key":"mlflow.note.content"`}} {
		b.post("runs/"+c[0], `{"run_id":"`+id+`",`+c[1]+`}`).fails(400, "INVALID_PARAMETER_VALUE")
	}
	if got := search("ACTIVE_ONLY") + " | " + search("DELETED_ONLY") + " | " + search("ALL"); got != "kept | gone | gone kept" {
		t.Errorf("the views are %s", got)
	}
	for range 2 {
		b.post("runs/restore", `{"run_id":"`+id+`"}`).is(`{}`)
	}
	b.post("runs/log-metric", `{"run_id":"`+id+`","key":"m","value":2,"timestamp":2}`).is(`{}`)

	b.post("experiments/delete", `{"experiment_id":"`+e+`"}`).is(`{}`)
	b.post("experiments/delete", `{"experiment_id":"`+e+`"}`).fails(404, "RESOURCE_DOES_NOT_EXIST")
	if got := b.get("experiments/get-by-name", "experiment_name", "e").text("experiment", "lifecycle_stage"); got != "deleted" {
		t.Errorf("the stage is %s", got)
	}
	if got := b.get("runs/get", "run_id", kept).text("run", "info", "lifecycle_stage"); got != "deleted" {
		t.Errorf("the stage of the run is %s", got)
	}
	if got := search("ACTIVE_ONLY") + " | " + search("DELETED_ONLY"); got != " | gone kept" {
		t.Errorf("the views are %s", got)
	}
	b.post("experiments/create", `{"name":"e"}`).fails(400, "RESOURCE_ALREADY_EXISTS")
	b.post("runs/create", `{"experiment_id":"`+e+`"}`).fails(400, "INVALID_PARAMETER_VALUE")
	b.post("experiments/set-experiment-tag", `{"experiment_id":"`+e+`","key":"k","value":"v"}`).fails(400, "INVALID_PARAMETER_VALUE")
	b.post("experiments/update", `{"experiment_id":"`+e+`","new_name":"f"}`).fails(400, "INVALID_PARAMETER_VALUE")
	b.post("experiments/search", `{"max_results":5}`).is(`{}`)
	if got := b.post("experiments/search", `{"max_results":5,"view_type":"DELETED_ONLY"}`).wants(200).body; !strings.Contains(got, e) {
		t.Errorf("the search has found %s", got)
	}
	b.post("experiments/restore", `{"experiment_id":"`+e+`"}`).is(`{}`)
	b.post("experiments/restore", `{"experiment_id":"`+e+`"}`).fails(404, "RESOURCE_DOES_NOT_EXIST")
	if got := search("ACTIVE_ONLY"); got != "gone kept" {
		t.Errorf("the restored runs are %s", got)
	}
}

// TestAuditTrail checks that a deletion by MLflow's clients and its undoing have entries in the audit trail.
func TestAuditTrail(t *testing.T) {
	b := startWith(t, true)
	root := basic(users.DefaultUsername, password)
	experiment := b.post("experiments/create", `{"name":"e"}`, root).text("experiment_id")
	id := b.post("runs/create", `{"experiment_id":`+quote(experiment)+`,"run_name":"r"}`, root).text("run", "info", "run_id")
	b.post("runs/delete", `{"run_id":"`+id+`"}`, root).wants(200)
	b.post("runs/restore", `{"run_id":"`+id+`"}`, root).wants(200)
	page, err := b.db.Audit.Entries(t.Context(), domain.System, audit.Query{Limit: 10, Kind: "iteration"})
	b.must(err)
	got := ""
	for _, e := range page.Data {
		got += string(e.Action) + " " + e.Name + " by " + e.Actor + " from " + e.Address + "\n"
	}
	if want := "restore r by default from 127.0.0.1\ndelete r by default from 127.0.0.1\n"; got != want {
		t.Errorf("the entries are\n%swant\n%s", got, want)
	}
}
