package store_test

import (
	"strings"
	"testing"

	"tracker/store"
)

func TestReports(t *testing.T) {
	b := newBedWith(t, store.Options{Exclusive: true, TrashAge: trashAge})
	user := func(name string, p store.PermissionPatch) store.Actor {
		t.Helper()
		id := must(b.CreateUser(ctx, store.System, store.NewUser{Username: name, Password: "12345678"}))(t).ID
		must(b.CreateUserPermission(ctx, store.System, id, b.project, p))(t)
		return store.Actor{UserID: id}
	}
	reader, creator := user("reader", store.PermissionPatch{}), user("creator", store.PermissionPatch{Create: new(true)})
	updater, deleter := user("updater", store.PermissionPatch{Update: new(true)}), user("deleter", store.PermissionPatch{Delete: new(true)})
	good := store.NewReport{Name: "findings", Text: "# Why\n\n```chart\nmetrics: loss\n```\n"}
	for _, who := range []store.Actor{reader, updater, deleter} {
		_, err := b.CreateReport(ctx, who, b.project, good)
		wantCode(t, err, store.CodeProjectPermissionRequired)
	}
	for _, bad := range []store.NewReport{{Name: " "}, {Name: "x", Text: strings.Repeat("x", store.MaxText+1)}} {
		_, err := b.CreateReport(ctx, creator, b.project, bad)
		wantCode(t, err, store.CodeInvalidPayload)
	}
	id := must(b.CreateReport(ctx, creator, b.project, good))(t).ID
	r := must(b.Report(ctx, reader, id))(t)
	if r.Text != good.Text || r.Name != good.Name || r.ProjectID != b.project || r.CreatedBy == nil || *r.CreatedBy != "creator" {
		t.Errorf("the report is %+v", r)
	}
	before := store.Before{"text": store.Fingerprint(good.Text)}
	wantCode(t, b.UpdateReport(ctx, creator, id, store.ReportPatch{Text: new("x")}), store.CodeProjectPermissionRequired)
	wantOK(t, b.UpdateReport(ctx, updater, id, store.ReportPatch{Text: new("first"), Before: before}))
	wantCode(t, b.UpdateReport(ctx, updater, id, store.ReportPatch{Text: new("second"), Before: before}), store.CodeConflict)
	wantOK(t, b.UpdateReport(ctx, updater, id, store.ReportPatch{Name: new("better")}))
	wantCode(t, b.DeleteReport(ctx, updater, id), store.CodeProjectPermissionRequired)
	wantOK(t, b.DeleteReport(ctx, deleter, id))
	_, err := b.Report(ctx, store.System, id)
	wantCode(t, err, store.CodeNotFound)
	wantOK(t, b.Restore(ctx, store.System, id))
	if r := must(b.Report(ctx, reader, id))(t); r.Name != "better" || r.Text != "first" {
		t.Errorf("the report is %+v", r)
	}
}
