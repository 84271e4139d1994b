package mlflow_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/runs"
)

func (r registryClient) model(name string, tags ...any) {
	r.t.Helper()
	r.must("POST", "registered-models/create", fields{"name": name, "tags": tags})
}

// version registers a version and returns its number.
func (r registryClient) version(name string, in fields) string {
	r.t.Helper()
	body := fields{"name": name, "source": "s3://bucket/" + name}
	for key, value := range in {
		body[key] = value
	}
	return at(r.must("POST", "model-versions/create", body), "model_version.version").(string)
}

// run creates an experiment with a run and returns both ids.
func (r registryClient) run(experiment string) (experimentID, runID string) {
	r.t.Helper()
	experimentID = r.must("POST", "experiments/create", fields{"name": experiment})["experiment_id"].(string)
	return experimentID, at(r.must("POST", "runs/create", fields{"experiment_id": experimentID, "start_time": 1}), "run.info.run_id").(string)
}

func tagged(key, value string) fields { return fields{"key": key, "value": value} }

func TestRegisteredModel(t *testing.T) {
	r := newRegistry(t, false)
	r.wants(r.must("GET", "registered-models/search", nil), "registered_models", nil)
	r.fails("GET", "registered-models/get?name=fraud", nil, 404, "RESOURCE_DOES_NOT_EXIST")
	made := r.must("POST", "registered-models/create",
		fields{"name": "fraud", "description": "Stolen cards", "tags": []any{tagged("a", "1"), tagged("a", "2")}, "unknown": 1})
	r.wants(made, "registered_model.name", "fraud", "registered_model.description", "Stolen cards",
		"registered_model.tags", []any{tagged("a", "2")}, "registered_model.latest_versions", nil)
	if at(made, "registered_model.creation_timestamp").(float64) <= 0 {
		t.Errorf("no time in %v", made)
	}
	r.fails("POST", "registered-models/create", fields{"name": "fraud"}, 400, "RESOURCE_ALREADY_EXISTS")
	for _, bad := range []any{"", " ", "a/b", "a:b", nil, ".."} {
		r.fails("POST", "registered-models/create", fields{"name": bad}, 400, "INVALID_PARAMETER_VALUE")
	}
	r.model("spam")
	r.fails("POST", "registered-models/rename", fields{"name": "spam", "new_name": "fraud"}, 400, "RESOURCE_ALREADY_EXISTS")
	r.fails("POST", "registered-models/rename", fields{"name": "spam"}, 400, "INVALID_PARAMETER_VALUE")
	r.fails("POST", "registered-models/rename", fields{"name": "ham", "new_name": "egg"}, 404, "RESOURCE_DOES_NOT_EXIST")
	r.wants(r.must("PATCH", "registered-models/update", fields{"name": "fraud", "description": "new"}), "registered_model.description", "new")
	r.must("POST", "registered-models/set-tag", fields{"name": "fraud", "key": "b", "value": "x"})
	r.must("DELETE", "registered-models/delete-tag", fields{"name": "fraud", "key": "a"})
	r.must("DELETE", "registered-models/delete-tag", fields{"name": "fraud", "key": "a"})
	r.wants(r.must("GET", "registered-models/get?name=fraud", nil), "registered_model.tags", []any{tagged("b", "x")})

	for range 2 {
		r.version("fraud", nil)
	}
	r.must("POST", "registered-models/alias", fields{"name": "fraud", "alias": "champion", "version": "1"})
	r.wants(r.must("POST", "registered-models/rename", fields{"name": "fraud", "new_name": "cards"}),
		"registered_model.name", "cards",
		"registered_model.aliases", []any{fields{"alias": "champion", "version": "1"}},
		"registered_model.latest_versions.0.version", "2",
		"registered_model.latest_versions.0.name", "cards")
	r.must("DELETE", "registered-models/delete", fields{"name": "cards"})
	r.fails("DELETE", "registered-models/delete", fields{"name": "cards"}, 404, "RESOURCE_DOES_NOT_EXIST")
	r.model("cards")
	if got := r.version("cards", nil); got != "1" {
		t.Errorf("the first version of a new model is %s", got)
	}
}

func TestModelVersion(t *testing.T) {
	r := newRegistry(t, false)
	experiment, run := r.run("training")
	r.model("fraud")
	root := "mlflow-artifacts:/" + experiment + "/" + run + "/artifacts"
	made := r.must("POST", "model-versions/create", fields{"name": "fraud", "source": root + "/model", "run_id": run,
		"description": "first", "tags": []any{tagged("task", "cards")}, "run_link": "link"})
	r.wants(made, "model_version.name", "fraud", "model_version.version", "1", "model_version.current_stage", "None",
		"model_version.source", root+"/model", "model_version.run_id", run, "model_version.status", "READY",
		"model_version.description", "first", "model_version.tags", []any{tagged("task", "cards")}, "model_version.run_link", "link")
	r.wants(r.must("GET", "model-versions/get-download-uri?name=fraud&version=1", nil), "artifact_uri", root+"/model")
	r.wants(r.must("PATCH", "model-versions/update", fields{"name": "fraud", "version": 1, "description": "second"}),
		"model_version.description", "second")
	r.must("POST", "model-versions/set-tag", fields{"name": "fraud", "version": "1", "key": "a", "value": strings.Repeat("ü", 100_000)})
	r.fails("POST", "model-versions/set-tag", fields{"name": "fraud", "version": "1", "key": "a", "value": strings.Repeat("ü", 100_001)},
		400, "INVALID_PARAMETER_VALUE")
	r.fails("POST", "model-versions/set-tag", fields{"name": "fraud", "version": "1", "key": "../a", "value": "x"}, 400, "INVALID_PARAMETER_VALUE")
	for range 2 {
		r.must("DELETE", "model-versions/delete-tag", fields{"name": "fraud", "version": "1", "key": "a"})
	}
	r.wants(r.must("GET", "model-versions/get?name=fraud&version=1", nil), "model_version.tags", []any{tagged("task", "cards")})

	r.must("DELETE", "model-versions/delete", fields{"name": "fraud", "version": "1"})
	r.fails("GET", "model-versions/get?name=fraud&version=1", nil, 404, "RESOURCE_DOES_NOT_EXIST")
	r.fails("GET", "model-versions/get?name=fraud&version=x", nil, 400, "INVALID_PARAMETER_VALUE")
	r.fails("GET", "model-versions/get?name=fraud", nil, 400, "INVALID_PARAMETER_VALUE")
	r.fails("GET", "model-versions/get?name=none&version=1", nil, 404, "RESOURCE_DOES_NOT_EXIST")
	r.fails("POST", "model-versions/create", fields{"name": "none", "source": "s3://b"}, 404, "RESOURCE_DOES_NOT_EXIST")
	r.fails("POST", "model-versions/create", fields{"name": "fraud"}, 400, "INVALID_PARAMETER_VALUE")
	if got := r.version("fraud", fields{"run_id": "of another server"}); got != "2" {
		t.Errorf("after a deleted version comes %s", got)
	}
	r.wants(r.must("GET", "model-versions/get?name=fraud&version=2", nil), "model_version.run_id", "of another server")
}

func TestSourceOfAVersion(t *testing.T) {
	r := newRegistry(t, false)
	experiment, run := r.run("training")
	_, other := r.run("other")
	model := at(r.must("POST", "logged-models", fields{"experiment_id": experiment, "name": "m", "source_run_id": run}), "model.info.model_id").(string)
	r.model("fraud")
	root := "mlflow-artifacts:/" + experiment + "/" + run + "/artifacts"
	files := "mlflow-artifacts:/" + experiment + "/models/" + model + "/artifacts"
	for _, c := range []struct {
		source, run, model string
		download           string // expected download URI, "" if the source is rejected
		from               string // expected run of the version
	}{
		{"s3://bucket/model", "", "", "s3://bucket/model", ""},
		{"https://host/model", run, "", "https://host/model", run},
		{root + "/model", run, "", root + "/model", run},
		{root, run, "", root, run},
		{"runs:/" + run + "/model", run, "", "runs:/" + run + "/model", run},
		{"models:/" + model, "", "", files, run},
		{"models:/" + model, run, model, files, run},
		{files + "/x", "", model, files + "/x", run},
		{"models:/fraud/1", "", "", "s3://bucket/model", ""},
		{"models:/fraud/3", "", "", root + "/model", run},
		{"models:/fraud@champion", run, "", root + "/model", run},

		{"models:/fraud/99", "", "", "", ""},
		{"models:/none/1", "", "", "", ""},
		{"models:/fraud@none", "", "", "", ""},
		{"models:/fraud/Production", "", "", "", ""},
		{"models:/fraud/3", other, "", "", ""},
		{"models:/m-" + strings.Repeat("0", 32), "", "", "", ""},
		{"models:/" + model, "", "m-" + strings.Repeat("0", 32), "", ""},
		{root + "/model", "", "", "", ""},
		{root + "/model", other, "", "", ""},
		{root + "/model", "none", "", "", ""},
		{root + "-more", run, "", "", ""},
		{root + "/../../" + other + "/artifacts", run, "", "", ""},
		{root + "/%2e%2e/x", run, "", "", ""},
		{root + "/%252e%252e/x", run, "", "", ""},
		{root + "/a%00", run, "", "", ""},
		{"runs:/" + run + "/model", other, "", "", ""},
		{"/etc/passwd", "", "", "", ""},
		{"etc", run, "", "", ""},
		{"file:///etc/passwd", run, "", "", ""},
		{"C:\\models", run, "", "", ""},
	} {
		t.Run(c.source+" "+c.run, func(t *testing.T) {
			r := r
			r.t = t
			in := fields{"name": "fraud", "source": c.source, "run_id": c.run, "model_id": c.model}
			if c.download == "" {
				r.fails("POST", "model-versions/create", in, 400, "INVALID_PARAMETER_VALUE")
				return
			}
			made := r.must("POST", "model-versions/create", in)
			r.wants(made, "model_version.run_id", c.from)
			version := at(made, "model_version.version").(string)
			r.wants(r.must("GET", "model-versions/get-download-uri?name=fraud&version="+version, nil), "artifact_uri", c.download)
			if version == "3" {
				r.must("POST", "registered-models/alias", fields{"name": "fraud", "alias": "champion", "version": "3"})
			}
		})
	}
}

func TestStages(t *testing.T) {
	r := newRegistry(t, false)
	r.model("fraud")
	for range 4 {
		r.version("fraud", nil)
	}
	move := func(version, stage string, archive bool) fields {
		return r.must("POST", "model-versions/transition-stage",
			fields{"name": "fraud", "version": version, "stage": stage, "archive_existing_versions": archive})
	}
	stages := func() string {
		answer := r.must("GET", "model-versions/search?order_by=version_number", nil)
		return fmt.Sprint(list(answer, "model_versions", "current_stage"))
	}
	r.wants(move("1", "PRODUCTION", false), "model_version.current_stage", "Production")
	move("2", "production", false)
	move("3", "Staging", false)
	if got := stages(); got != "[Production Production Staging None]" {
		t.Errorf("the stages are %s", got)
	}
	r.wants(r.must("POST", "registered-models/get-latest-versions", fields{"name": "fraud", "stages": []any{"production"}}),
		"model_versions.0.version", "2", "model_versions.1", nil)
	if got := fmt.Sprint(list(r.must("GET", "registered-models/get-latest-versions?name=fraud", nil), "model_versions", "version")); got != "[2 3 4]" {
		t.Errorf("the latest versions are %s", got)
	}
	move("4", "Staging", true)
	move("2", "Production", true)
	if got := stages(); got != "[Archived Production Archived Staging]" {
		t.Errorf("the stages are %s", got)
	}
	r.fails("POST", "model-versions/transition-stage", fields{"name": "fraud", "version": "1", "stage": "Live"}, 400, "INVALID_PARAMETER_VALUE")
	r.fails("POST", "model-versions/transition-stage",
		fields{"name": "fraud", "version": "1", "stage": "None", "archive_existing_versions": true}, 400, "INVALID_PARAMETER_VALUE")
	r.fails("POST", "registered-models/get-latest-versions", fields{"name": "fraud", "stages": []any{"Live"}}, 400, "INVALID_PARAMETER_VALUE")
	r.fails("POST", "model-versions/transition-stage", fields{"name": "fraud", "version": "9", "stage": "None"}, 404, "RESOURCE_DOES_NOT_EXIST")
}

func TestAliases(t *testing.T) {
	r := newRegistry(t, false)
	r.model("fraud")
	r.fails("GET", "registered-models/alias?name=fraud&alias=latest", nil, 404, "RESOURCE_DOES_NOT_EXIST")
	r.version("fraud", nil)
	r.version("fraud", nil)
	r.must("POST", "registered-models/alias", fields{"name": "fraud", "alias": "champion", "version": "1"})
	r.wants(r.must("GET", "registered-models/alias?name=fraud&alias=champion", nil), "model_version.version", "1", "model_version.aliases", []any{"champion"})
	r.must("POST", "registered-models/alias", fields{"name": "fraud", "alias": "champion", "version": "2"})
	r.wants(r.must("GET", "registered-models/alias?name=fraud&alias=champion", nil), "model_version.version", "2")
	r.wants(r.must("GET", "registered-models/alias?name=fraud&alias=latest", nil), "model_version.version", "2")
	for _, bad := range []string{"latest", "v1", "V22", "a b", "", "a/b"} {
		r.fails("POST", "registered-models/alias", fields{"name": "fraud", "alias": bad, "version": "1"}, 400, "INVALID_PARAMETER_VALUE")
	}
	r.fails("POST", "registered-models/alias", fields{"name": "fraud", "alias": "a", "version": "9"}, 404, "RESOURCE_DOES_NOT_EXIST")
	r.fails("GET", "registered-models/alias?name=none&alias=a", nil, 404, "RESOURCE_DOES_NOT_EXIST")
	r.must("DELETE", "model-versions/delete", fields{"name": "fraud", "version": "2"})
	r.fails("GET", "registered-models/alias?name=fraud&alias=champion", nil, 400, "INVALID_PARAMETER_VALUE")
	for range 2 {
		r.must("DELETE", "registered-models/alias", fields{"name": "fraud", "alias": "champion"})
	}
}

func TestSearchModels(t *testing.T) {
	r := newRegistry(t, false)
	for _, name := range []string{"Alpha", "alphabet", "beta", "prompt"} {
		r.model(name)
	}
	r.must("POST", "registered-models/set-tag", fields{"name": "beta", "key": "k.k", "value": "v"})
	r.must("POST", "registered-models/set-tag", fields{"name": "Alpha", "key": "k.k", "value": "w"})
	r.must("POST", "registered-models/set-tag", fields{"name": "prompt", "key": "mlflow.prompt.is_prompt", "value": "true"})
	for _, c := range []struct{ filter, want string }{
		{"", "[Alpha alphabet beta]"},
		{"name = 'beta'", "[beta]"},
		{"name != 'beta'", "[Alpha alphabet]"},
		{"attribute.name LIKE 'alpha%'", "[alphabet]"},
		{"name ilike 'ALPHA%'", "[Alpha alphabet]"},
		{"name IN ('beta', 'x')", "[beta]"},
		{"tags.`k.k` = 'v'", "[beta]"},
		{"tags.k.k != 'v'", "[Alpha]"},
		{"tags.k.k LIKE '%' AND name = 'beta'", "[beta]"},
		{"tags.k.k = 'v' AND tags.k.k = 'w'", "[]"},
		{"tag.`mlflow.prompt.is_prompt` != 'true'", "[Alpha alphabet beta]"},
		{"name LIKE '%a%' AND tag.`mlflow.prompt.is_prompt` != 'true'", "[Alpha alphabet beta]"},
		{"tags.`mlflow.prompt.is_prompt` = 'true'", "[prompt]"},
		{"tags.`mlflow.prompt.is_prompt` = 'false'", "[Alpha alphabet beta]"},
	} {
		answer := r.must("GET", "registered-models/search?filter="+url.QueryEscape(c.filter), nil)
		if got := fmt.Sprint(list(answer, "registered_models", "name")); got != c.want {
			t.Errorf("%s finds %s, want %s", c.filter, got, c.want)
		}
	}
	for _, bad := range []string{"name", "name = beta", "name < 'a'", "size = 'a'", "tags.a > 'b'", "params.a = 'b'", "name = 'a' OR name = 'b'", "name = 'a"} {
		r.fails("GET", "registered-models/search?filter="+url.QueryEscape(bad), nil, 400, "INVALID_PARAMETER_VALUE")
	}
	for _, bad := range []string{"order_by=size", "order_by=name&order_by=name+DESC", "order_by=tags.a", "max_results=1001", "max_results=0", "max_results=x", "page_token=x"} {
		r.fails("GET", "registered-models/search?"+bad, nil, 400, "INVALID_PARAMETER_VALUE")
	}
	page := r.must("GET", "registered-models/search?max_results=2&order_by=name+DESC", nil)
	r.wants(page, "registered_models.0.name", "beta", "registered_models.1.name", "alphabet")
	page = r.must("GET", "registered-models/search?max_results=2&order_by=name+DESC&page_token="+url.QueryEscape(page["next_page_token"].(string)), nil)
	r.wants(page, "registered_models.0.name", "Alpha", "registered_models.1", nil, "next_page_token", nil)
}

func TestSearchVersions(t *testing.T) {
	r := newRegistry(t, false)
	_, run := r.run("training")
	r.model("a")
	r.model("b")
	r.version("a", fields{"tags": []any{tagged("k", "v")}})
	r.version("a", fields{"run_id": run})
	r.version("b", fields{"source": "gs://bucket/x"})
	r.version("b", fields{"tags": []any{tagged("mlflow.prompt.is_prompt", "true")}})
	for _, c := range []struct{ filter, want string }{
		{"", "[a 2 a 1 b 1]"},
		{"name='a'", "[a 2 a 1]"},
		{"name='c'", "[]"},
		{"name='a' AND name='b'", "[]"},
		{"run_id='" + run + "'", "[a 2]"},
		{"run_id IN ('x', '" + run + "')", "[a 2]"},
		{"run_id != 'x'", "[a 2]"},
		{"source_path LIKE 'gs:%'", "[b 1]"},
		{"version_number > 1", "[a 2]"},
		{"version_number = '1'", "[a 1 b 1]"},
		{"tags.k = 'v'", "[a 1]"},
		{"tags.`mlflow.prompt.is_prompt` = 'true'", "[b 2]"},
		{"name='b' AND tags.`mlflow.prompt.is_prompt` = 'true'", "[b 2]"},
	} {
		answer := r.must("GET", "model-versions/search?order_by=name&filter="+url.QueryEscape(c.filter), nil)
		all, _ := answer["model_versions"].([]any)
		got := []any{}
		for _, v := range all {
			got = append(got, at(v, "name"), at(v, "version"))
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s finds %v, want %s", c.filter, got, c.want)
		}
	}
	for _, bad := range []string{"version_number > 1.5", "version_number LIKE '1'", "current_stage = 'None'", "run_id = 1"} {
		r.fails("GET", "model-versions/search?filter="+url.QueryEscape(bad), nil, 400, "INVALID_PARAMETER_VALUE")
	}
	r.fails("GET", "model-versions/search?max_results=200001", nil, 400, "INVALID_PARAMETER_VALUE")
}

// A version registered through the native API has a location for its files, and each API shows
// changes made through the other.
func TestBothSidesShowTheSameModel(t *testing.T) {
	r := newRegistry(t, false)
	experiment, run := r.run("training")
	r.model("fraud")
	r.version("fraud", fields{"run_id": run})
	project, err := r.db.Projects.ProjectNamed(t.Context(), domain.System, "MLflow")
	if err != nil {
		t.Fatal(err)
	}
	models, err := r.db.Models.Models(t.Context(), domain.System, project, registry.ModelQuery{Page: domain.FirstPage})
	if err != nil || len(models.Data) != 1 {
		t.Fatal(models, err)
	}
	model := models.Data[0].ID
	iteration, err := r.db.Runs.Iterations(t.Context(), domain.System, experiment, runs.IterationQuery{Page: domain.FirstPage})
	if err != nil || len(iteration.Data) != 1 {
		t.Fatal(iteration, err)
	}
	made, err := r.db.Models.CreateModelVersion(t.Context(), domain.System, model, registry.NewModelVersion{IterationID: iteration.Data[0].ID})
	if err != nil {
		t.Fatal(err)
	}
	stage := registry.Production
	err = r.db.Models.UpdateModelVersion(t.Context(), domain.System, made.ID, registry.ModelVersionPatch{Stage: &stage, Aliases: &[]string{"champion"}})
	if err != nil {
		t.Fatal(err)
	}
	r.wants(r.must("GET", "registered-models/alias?name=fraud&alias=champion", nil), "model_version.version", "2",
		"model_version.current_stage", "Production", "model_version.run_id", run,
		"model_version.source", "mlflow-artifacts:/"+experiment+"/"+run+"/artifacts")
	versions, err := r.db.Models.ModelVersions(t.Context(), domain.System, model, registry.ModelVersionQuery{Page: domain.FirstPage})
	if err != nil || len(versions.Data) != 2 || *versions.Data[1].IterationID != iteration.Data[0].ID || versions.Data[1].Source != "s3://bucket/fraud" {
		t.Errorf("%+v %v", versions.Data, err)
	}
}
