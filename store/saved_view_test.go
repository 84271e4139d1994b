package store_test

import (
	"strings"
	"testing"

	"tracker/store"
)

func TestViews(t *testing.T) {
	b := newBed(t)
	user := func(name string, p *store.PermissionPatch) store.Actor {
		t.Helper()
		id := must(b.CreateUser(ctx, store.System, store.NewUser{Username: name, Password: "12345678"}))(t).ID
		if p != nil {
			must(b.CreateUserPermission(ctx, store.System, id, b.project, *p))(t)
		}
		return store.Actor{UserID: id}
	}
	nobody, reader := user("nobody", nil), user("reader", &store.PermissionPatch{})
	creator := user("creator", &store.PermissionPatch{Create: new(true)})
	updater := user("updater", &store.PermissionPatch{Update: new(true)})
	good := store.NewSavedView{Name: "best", Query: "filter=param.lr+%3C+0.1&sort=-name"}

	for _, who := range []store.Actor{nobody, reader, updater} {
		_, err := b.CreateSavedView(ctx, who, b.experiment, good)
		wantCode(t, err, store.CodeProjectPermissionRequired)
	}
	id := must(b.CreateSavedView(ctx, creator, b.experiment, good))(t).ID
	_, err := b.CreateSavedView(ctx, creator, b.experiment, good)
	wantCode(t, err, store.CodeConflict)
	second := must(b.CreateSavedView(ctx, store.System, b.experiment, store.NewSavedView{Name: "all"}))(t).ID
	for _, bad := range []store.NewSavedView{{Name: " "}, {Name: "x", Query: "a=%zz"}, {Name: "x", Query: "a b"}, {Name: "x", Query: "a#b"},
		{Name: "x", Query: "a=\u00e9"}, {Name: "x", Query: strings.Repeat("x", store.MaxSavedViewQuery+1)}} {
		_, err := b.CreateSavedView(ctx, creator, b.experiment, bad)
		wantCode(t, err, store.CodeInvalidPayload)
	}
	_, err = b.CreateSavedView(ctx, creator, "none", good)
	wantCode(t, err, store.CodeNotFound)

	_, err = b.SavedViews(ctx, nobody, b.experiment, store.FirstPage)
	wantCode(t, err, store.CodeProjectPermissionRequired)
	views := must(b.SavedViews(ctx, reader, b.experiment, store.FirstPage))(t).Data
	if len(views) != 2 || views[0].Name != "all" || views[0].CreatedBy != nil ||
		views[1].Query != good.Query || views[1].CreatedBy == nil || *views[1].CreatedBy != "creator" {
		t.Errorf("the views are %+v", views)
	}

	for _, who := range []store.Actor{nobody, reader, creator} {
		wantCode(t, b.UpdateSavedView(ctx, who, id, store.SavedViewPatch{Query: new("")}), store.CodeProjectPermissionRequired)
		wantCode(t, b.DeleteSavedView(ctx, who, id), store.CodeProjectPermissionRequired)
	}
	b.clock.Add(1e9)
	wantOK(t, b.UpdateSavedView(ctx, updater, id, store.SavedViewPatch{Query: new("sort=name")}))
	wantOK(t, b.UpdateSavedView(ctx, updater, id, store.SavedViewPatch{Name: new("better")}))
	wantCode(t, b.UpdateSavedView(ctx, updater, id, store.SavedViewPatch{Name: new("all")}), store.CodeConflict)
	wantCode(t, b.UpdateSavedView(ctx, updater, id, store.SavedViewPatch{Query: new("#")}), store.CodeInvalidPayload)
	wantCode(t, b.UpdateSavedView(ctx, updater, "none", store.SavedViewPatch{}), store.CodeNotFound)
	wantOK(t, b.DeleteUser(ctx, store.System, creator.UserID))
	views = must(b.SavedViews(ctx, reader, b.experiment, store.FirstPage))(t).Data
	if v := views[1]; v.Name != "better" || v.Query != "sort=name" || v.CreatedBy != nil || v.UpdatedDate <= v.CreatedDate {
		t.Errorf("the view is %+v", v)
	}
	wantOK(t, b.DeleteSavedView(ctx, updater, second))
	wantCode(t, b.DeleteSavedView(ctx, updater, second), store.CodeNotFound)

	wantOK(t, b.DeleteExperiment(ctx, store.System, b.experiment))
	if n := ask[int](t, raw(t, b.Path()), `SELECT count(*) FROM experiment_view`); n != 0 {
		t.Errorf("%d views are left of an experiment that is gone", n)
	}
}
