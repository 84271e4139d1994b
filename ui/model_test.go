package ui_test

import (
	"net/url"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/users"
)

func TestModels(t *testing.T) {
	s := start(t, setup{base: "/lab"})
	h := s.shelf()
	page := "/lab/project/" + h.project + "/models"
	a := s.get(page)
	a.wants(t, 200, "classifier", `data-label="Versions">3<`, "version 2", `href="`+page+`" aria-current="page"`)
	s.post(page, url.Values{"name": {bad}, "description": {bad}})
	a = s.get(page)
	a.wants(t, 200, "&lt;script&gt;", `data-testid="found">2<`)
	a.lacks(t, "<script>window", "<img src=x")
	s.get(page+"?q=class").lacks(t, "&lt;script&gt;")
	s.get(page+"?q=zebra").wants(t, 200, `data-testid="nothing"`)
	s.post(page, url.Values{"name": {"classifier"}, "description": {"long thoughts"}}).
		wants(t, 409, "The project already has a model with this name", "long thoughts", `aria-describedby="wrong-new-name"`)
	s.post(page, url.Values{"name": {" "}}).wants(t, 422, "name must not be empty")
	s.get("/lab/project/none/models").wants(t, 404)

	empty := s.project("alice", "bare", "", 0, 0)
	s.get("/lab/project/"+empty+"/models").wants(t, 200, `data-testid="lesson"`, "/model/project/"+empty, "ITERATION=$(curl")
	w := s.sweep(1, 0)
	s.get("/lab/project/"+w.project+"/models").wants(t, 200, "ITERATION="+w.runs[0], "iteration = &#34;"+w.runs[0])
	s.get("/lab/data/find?q=classif").wants(t, 200, `"kind":"model"`, h.model)
}

func TestModelPage(t *testing.T) {
	s := start(t, setup{})
	h := s.shelf()
	page := "/model/" + h.model
	a := s.get(page)
	a.wants(t, 200, "Tells digits apart", "3 versions", `data-version="3"`, "run 1", `href="/artifact/`+h.artifacts["model.pt"]+`"`,
		"Replaces version 2, which is archived")
	if strings.Index(a.body, `data-version="3"`) > strings.Index(a.body, `data-version="1"`) {
		t.Error("the newest version is not the first")
	}
	s.post("/modelversion/"+h.versions[2]+"/stage", url.Values{"stage": {"PRODUCTION"}}).
		redirects(t, page+"?former=2&stage=PRODUCTION&version=3")
	s.get(page+"?former=2&stage=PRODUCTION&version=3").wants(t, 200, "Version 3 is in production now, in place of version 2, which is archived.")
	s.post("/modelversion/"+h.versions[2]+"/stage", url.Values{"stage": {"NONE"}}).redirects(t, page+"?stage=NONE&version=3")
	s.get(page+"?stage=NONE&version=3").wants(t, 200, "Version 3 has no stage now.")
	s.get(page+"?stage=ARCHIVED&version=1").wants(t, 200, "Version 1 is archived now.")
	s.get(page+"?stage=STAGING&version=1").wants(t, 200, "Version 1 is in staging now.")
	s.get(page+"?stage="+url.QueryEscape(bad)+"&version="+url.QueryEscape(bad)).lacks(t, "<script>window", "&lt;script")
	s.post("/modelversion/"+h.versions[2]+"/stage", url.Values{"stage": {"ASLEEP"}}).wants(t, 422, "stage must be one of")
	s.post("/modelversion/none/stage", url.Values{"stage": {"NONE"}}).wants(t, 404)

	s.post("/modelversion/"+h.versions[0], url.Values{"description": {"**bold**\r\n" + bad}}).redirects(t, page)
	a = s.get(page)
	a.wants(t, 200, "<strong>bold</strong>")
	a.lacks(t, "<script>window", "<img src=x")
	long := strings.Repeat("x", domain.MaxText+1)
	s.post("/modelversion/"+h.versions[0], url.Values{"description": {long}}).wants(t, 422, `data-testid="wrong-version"`, long)
	s.post("/modelversion/"+h.versions[0], url.Values{"do": {"delete"}}).deletes(t, page, h.versions[0])
	s.get(page).lacks(t, `data-version="1"`)

	s.post(page, url.Values{"name": {"judge"}, "description": {"New"}}).redirects(t, page)
	s.get(page).wants(t, 200, "<bdi>judge</bdi>")
	s.post(page, url.Values{"name": {strings.Repeat("y", 251)}, "description": {"kept"}}).wants(t, 422, `data-testid="wrong-model-name"`, "kept")
	s.get(page).wants(t, 200, "and its 2 versions")
	s.post(page+"/delete", nil).deletes(t, "/project/"+h.project+"/models", h.model)
	s.get(page).wants(t, 404)
	s.get("/artifact/"+h.artifacts["model.pt"]).wants(t, 200, "model.pt")
}

func TestLoggedModelsAndAliasesAreShown(t *testing.T) {
	s := start(t, setup{})
	h := s.shelf()
	ctx := t.Context()
	logged, err := s.db.Models.CreateLoggedModel(ctx, domain.System, h.experiment, registry.NewLoggedModel{Name: "digits", IterationID: h.run})
	if err != nil {
		t.Fatal(err)
	}
	uses := []registry.LoggedModelUse{{Role: registry.OutputModel, ModelID: logged.ID}}
	if err := s.db.Runs.LogIteration(ctx, domain.System, h.run, runs.IterationLog{Models: uses}); err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{"models:/" + logged.ID, "s3://bucket/model"} {
		made, err := s.db.Models.CreateModelVersion(ctx, domain.System, h.model, registry.NewModelVersion{Source: source})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.db.Models.AddAlias(ctx, domain.System, made.ID, "champion"); err != nil {
			t.Fatal(err)
		}
	}
	files := "/experiment/" + h.experiment + "/artifacts?q=models%2F" + logged.ID + "%2F"
	a := s.get("/model/" + h.model)
	a.wants(t, 200, `href="`+files+`"`, "models:/"+logged.ID, "s3://bucket/model", `data-testid="aliases"><bdi>champion</bdi>`)
	if n := strings.Count(a.body, `data-testid="aliases"`); n != 1 {
		t.Errorf("%d versions have the alias", n)
	}
	s.get("/iteration/"+h.run).wants(t, 200, `data-testid="logged-models"`, `href="`+files+`"`, "digits")
}

func TestModelRights(t *testing.T) {
	s := start(t, setup{auth: true})
	h := s.shelf()
	bob := with(s.signIn("bob"))
	s.get("/model/"+h.model, bob).wants(t, 403)
	if _, err := s.db.Users.CreateUserPermission(t.Context(), domain.System, s.actor("bob").UserID, h.project, users.PermissionPatch{}); err != nil {
		t.Fatal(err)
	}
	a := s.get("/model/"+h.model, bob)
	a.wants(t, 200, `class="stage stage-production"`)
	a.lacks(t, "<form method=\"post\" action=\"/model", `name="stage"`)
	s.get("/project/"+h.project+"/models", bob).lacks(t, "New model")
	for path, fields := range map[string]url.Values{
		"/project/" + h.project + "/models":         {"name": {"x"}},
		"/model/" + h.model:                         {"name": {"x"}},
		"/model/" + h.model + "/delete":             {},
		"/modelversion/" + h.versions[0]:            {"description": {"x"}},
		"/modelversion/" + h.versions[0] + "/stage": {"stage": {"NONE"}},
		"/project/" + h.project:                     {"name": {"x"}},
		"/project/" + h.project + "/settings":       {"name": {"x"}},
		"/experiment/" + h.experiment + "/settings": {"name": {"x"}, "status": {"STOPPED"}},
		"/iteration/" + h.run + "/tag":              {"tag": {"x"}},
	} {
		s.post(path, fields, bob).wants(t, 403)
	}
}
