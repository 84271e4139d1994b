package ui_test

import (
	"testing"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/registry"
)

// TestCreatorOnPages checks that pages show the account that created a record, also after the account
// was deleted.
func TestCreatorOnPages(t *testing.T) {
	s := start(t, setup{auth: true})
	a := s.sweep(1, 1)
	model := must(s.db.Models.CreateModel(t.Context(), s.actor("alice"), a.project, registry.NewModel{Name: "flowers"}))(t)
	must(s.db.Models.CreateModelVersion(t.Context(), s.actor("alice"), model.ID, registry.NewModelVersion{IterationID: a.runs[0]}))(t)
	file := s.keep(a.experiment, files.NewArtifact{Name: "notes.txt"}, "text")
	if err := s.db.Users.DeleteUser(t.Context(), domain.System, s.actor("alice").UserID); err != nil {
		t.Fatal(err)
	}
	root := with(s.signIn("default"))
	for _, path := range []string{"/", "/project/" + a.project, "/project/" + a.project + "/settings", "/experiment/" + a.experiment + "/settings",
		"/project/" + a.project + "/models", "/model/" + model.ID, "/artifact/" + file} {
		s.get(path, root).wants(t, 200, `by <bdi>alice</bdi>`)
	}

	open := start(t, setup{})
	unknown := must(open.db.Projects.CreateProject(t.Context(), domain.System, domain.NewProject{Name: "iris"}))(t)
	open.get("/project/"+unknown.ID).lacks(t, `data-testid="created-by"`)
}
