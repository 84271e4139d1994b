package projects_test

import (
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/users"
)

func TestViews(t *testing.T) {
	b := newBed(t)
	user := func(name string, p *users.PermissionPatch) domain.Actor {
		t.Helper()
		id := must(b.Users.CreateUser(ctx, domain.System, users.NewUser{Username: name, Password: "12345678"}))(t).ID
		if p != nil {
			must(b.Users.CreateUserPermission(ctx, domain.System, id, b.Project, *p))(t)
		}
		return domain.Actor{UserID: id}
	}
	nobody, reader := user("nobody", nil), user("reader", &users.PermissionPatch{})
	creator := user("creator", &users.PermissionPatch{Create: new(true)})
	updater := user("updater", &users.PermissionPatch{Update: new(true)})
	good := projects.NewSavedView{Name: "best", Query: "filter=param.lr+%3C+0.1&sort=-name"}

	for _, who := range []domain.Actor{nobody, reader, updater} {
		_, err := b.Projects.CreateSavedView(ctx, who, b.Experiment, good)
		wantCode(t, err, domain.CodeProjectPermissionRequired)
	}
	id := must(b.Projects.CreateSavedView(ctx, creator, b.Experiment, good))(t).ID
	_, err := b.Projects.CreateSavedView(ctx, creator, b.Experiment, good)
	wantCode(t, err, domain.CodeConflict)
	second := must(b.Projects.CreateSavedView(ctx, domain.System, b.Experiment, projects.NewSavedView{Name: "all"}))(t).ID
	for _, bad := range []projects.NewSavedView{{Name: " "}, {Name: "x", Query: "a=%zz"}, {Name: "x", Query: "a b"}, {Name: "x", Query: "a#b"},
		{Name: "x", Query: "a=\u00e9"}, {Name: "x", Query: strings.Repeat("x", projects.MaxSavedViewQuery+1)}} {
		_, err := b.Projects.CreateSavedView(ctx, creator, b.Experiment, bad)
		wantCode(t, err, domain.CodeInvalidPayload)
	}
	_, err = b.Projects.CreateSavedView(ctx, creator, "none", good)
	wantCode(t, err, domain.CodeNotFound)

	_, err = b.Projects.SavedViews(ctx, nobody, b.Experiment, domain.FirstPage)
	wantCode(t, err, domain.CodeProjectPermissionRequired)
	views := must(b.Projects.SavedViews(ctx, reader, b.Experiment, domain.FirstPage))(t).Data
	if len(views) != 2 || views[0].Name != "all" || views[0].CreatedBy != nil ||
		views[1].Query != good.Query || views[1].CreatedBy == nil || *views[1].CreatedBy != "creator" {
		t.Errorf("the views are %+v", views)
	}

	for _, who := range []domain.Actor{nobody, reader, creator} {
		wantCode(t, b.Projects.UpdateSavedView(ctx, who, id, projects.SavedViewPatch{Query: new("")}), domain.CodeProjectPermissionRequired)
		wantCode(t, b.Projects.DeleteSavedView(ctx, who, id), domain.CodeProjectPermissionRequired)
	}
	b.Clock.Add(1e9)
	wantOK(t, b.Projects.UpdateSavedView(ctx, updater, id, projects.SavedViewPatch{Query: new("sort=name")}))
	wantOK(t, b.Projects.UpdateSavedView(ctx, updater, id, projects.SavedViewPatch{Name: new("better")}))
	wantCode(t, b.Projects.UpdateSavedView(ctx, updater, id, projects.SavedViewPatch{Name: new("all")}), domain.CodeConflict)
	wantCode(t, b.Projects.UpdateSavedView(ctx, updater, id, projects.SavedViewPatch{Query: new("#")}), domain.CodeInvalidPayload)
	wantCode(t, b.Projects.UpdateSavedView(ctx, updater, "none", projects.SavedViewPatch{}), domain.CodeNotFound)
	wantOK(t, b.Users.DeleteUser(ctx, domain.System, creator.UserID))
	views = must(b.Projects.SavedViews(ctx, reader, b.Experiment, domain.FirstPage))(t).Data
	if v := views[1]; v.Name != "better" || v.Query != "sort=name" || v.CreatedBy == nil || *v.CreatedBy != "creator" || v.UpdatedDate <= v.CreatedDate {
		t.Errorf("the view is %+v", v)
	}
	wantOK(t, b.Projects.DeleteSavedView(ctx, updater, second))
	wantCode(t, b.Projects.DeleteSavedView(ctx, updater, second), domain.CodeNotFound)

	wantOK(t, b.Projects.DeleteExperiment(ctx, domain.System, b.Experiment))
	if n := ask[int](t, raw(t, b.Path()), `SELECT count(*) FROM experiment_view`); n != 0 {
		t.Errorf("%d views are left of an experiment that is gone", n)
	}
}
