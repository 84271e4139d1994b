package ui_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/users"
)

func TestCreateProjectsAndExperiments(t *testing.T) {
	s := start(t, setup{base: "/lab"})
	a := s.post("/lab/", url.Values{"name": {bad}, "description": {bad}})
	project := a.Header.Get("Location")
	if a.StatusCode != 303 || !regexp.MustCompile(`^/lab/project/[0-9a-f-]{36}$`).MatchString(project) {
		t.Fatalf("%s to %q", a.Status, project)
	}
	for _, page := range []answer{s.get("/lab/"), s.get(project), s.get(project + "/settings")} {
		page.wants(t, 200, "&lt;script&gt;")
		page.lacks(t, "<script>window", "<img src=x")
	}
	a = s.post(project, url.Values{"name": {bad}, "description": {bad}})
	experiment := a.Header.Get("Location")
	if a.StatusCode != 303 || !strings.HasPrefix(experiment, "/lab/experiment/") {
		t.Fatalf("%s to %q", a.Status, experiment)
	}
	for _, page := range []answer{s.get(experiment), s.get(experiment + "/settings"), s.get(experiment + "/artifacts")} {
		page.wants(t, 200, "&lt;script&gt;")
		page.lacks(t, "<script>window", "<img src=x")
	}
	// No input is lost.
	for _, page := range []string{"/lab/", project} {
		s.post(page, url.Values{"name": {""}, "description": {"long thoughts"}}).
			wants(t, 422, "name must not be empty", "long thoughts", `data-testid="wrong-new-name"`)
	}
	s.post("/lab/project/none", url.Values{"name": {"x"}}).wants(t, 404)
}

func TestSettings(t *testing.T) {
	s := start(t, setup{})
	h := s.shelf()
	project, experiment := "/project/"+h.project, "/experiment/"+h.experiment
	s.get(project+"/settings").wants(t, 200, "1 experiment", "1 run with", "1 model with 3 versions", `value="digits"`)
	s.get(experiment+"/settings").wants(t, 200, "1 run with", "13 artifacts", `value="sweep"`, `value="IN_PROGRESS" selected`)
	s.post(project+"/settings", url.Values{"name": {"letters"}, "description": {"A to Z"}}).redirects(t, project)
	s.get(project).wants(t, 200, "letters", "A to Z")
	s.post(project+"/settings", url.Values{"name": {""}, "description": {"kept"}}).wants(t, 422, `data-testid="wrong-record-name"`, "kept")
	s.post(experiment+"/settings", url.Values{"name": {"search"}, "description": {"wide"}, "status": {"FINISHED"}}).redirects(t, experiment)
	s.get(experiment).wants(t, 200, "search", "finished")
	s.post(experiment+"/settings", url.Values{"name": {"search"}, "status": {"ASLEEP"}, "description": {"kept"}}).
		wants(t, 422, `data-testid="wrong-record-status"`, "kept")

	remove := url.Values{"do": {"delete"}}
	s.post(experiment+"/settings", remove).wants(t, 409, "model classifier, versions 1, 2 and 3", `data-testid="wrong-delete"`)
	if err := s.db.Models.DeleteModel(t.Context(), s.actor("alice"), h.model); err != nil {
		t.Fatal(err)
	}
	s.post(experiment+"/settings", remove).deletes(t, project, h.experiment)
	s.get(experiment).wants(t, 404)
	s.post(project+"/settings", remove).deletes(t, "/", h.project)
	s.get(project).wants(t, 404)
	s.post(project+"/settings", remove).wants(t, 404)
}

func TestSettingsRights(t *testing.T) {
	s := start(t, setup{auth: true})
	h := s.shelf()
	if _, err := s.db.Users.CreateUserPermission(t.Context(), domain.System, s.actor("bob").UserID, h.project, users.PermissionPatch{}); err != nil {
		t.Fatal(err)
	}
	bob := with(s.signIn("bob"))
	for _, page := range []string{"/project/" + h.project, "/experiment/" + h.experiment} {
		s.get(page, bob).lacks(t, page+"/settings", "New experiment")
		a := s.get(page+"/settings", bob)
		a.wants(t, 200, "but not change it")
		a.lacks(t, `name="do"`)
	}
}
