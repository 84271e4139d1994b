package projects_test

import (
	"strings"
	"testing"
	"time"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/users"
)

func TestReports(t *testing.T) {
	b := newBedWith(t, store.Options{Exclusive: true, TrashAge: 30 * 24 * time.Hour})
	user := func(name string, p users.PermissionPatch) domain.Actor {
		t.Helper()
		id := must(b.Users.CreateUser(ctx, domain.System, users.NewUser{Username: name, Password: "12345678"}))(t).ID
		must(b.Users.CreateUserPermission(ctx, domain.System, id, b.Project, p))(t)
		return domain.Actor{UserID: id}
	}
	reader, creator := user("reader", users.PermissionPatch{}), user("creator", users.PermissionPatch{Create: new(true)})
	updater, deleter := user("updater", users.PermissionPatch{Update: new(true)}), user("deleter", users.PermissionPatch{Delete: new(true)})
	good := projects.NewReport{Name: "findings", Text: "# Why\n\n```chart\nmetrics: loss\n```\n"}
	for _, who := range []domain.Actor{reader, updater, deleter} {
		_, err := b.Projects.CreateReport(ctx, who, b.Project, good)
		wantCode(t, err, domain.CodeProjectPermissionRequired)
	}
	for _, bad := range []projects.NewReport{{Name: " "}, {Name: "x", Text: strings.Repeat("x", domain.MaxText+1)}} {
		_, err := b.Projects.CreateReport(ctx, creator, b.Project, bad)
		wantCode(t, err, domain.CodeInvalidPayload)
	}
	id := must(b.Projects.CreateReport(ctx, creator, b.Project, good))(t).ID
	r := must(b.Projects.Report(ctx, reader, id))(t)
	if r.Text != good.Text || r.Name != good.Name || r.ProjectID != b.Project || r.CreatedBy == nil || *r.CreatedBy != "creator" {
		t.Errorf("the report is %+v", r)
	}
	before := domain.Before{"text": domain.Fingerprint(good.Text)}
	wantCode(t, b.Projects.UpdateReport(ctx, creator, id, projects.ReportPatch{Text: new("x")}), domain.CodeProjectPermissionRequired)
	wantOK(t, b.Projects.UpdateReport(ctx, updater, id, projects.ReportPatch{Text: new("first"), Before: before}))
	wantCode(t, b.Projects.UpdateReport(ctx, updater, id, projects.ReportPatch{Text: new("second"), Before: before}), domain.CodeConflict)
	wantOK(t, b.Projects.UpdateReport(ctx, updater, id, projects.ReportPatch{Name: new("better")}))
	wantCode(t, b.Projects.DeleteReport(ctx, updater, id), domain.CodeProjectPermissionRequired)
	wantOK(t, b.Projects.DeleteReport(ctx, deleter, id))
	_, err := b.Projects.Report(ctx, domain.System, id)
	wantCode(t, err, domain.CodeNotFound)
	wantOK(t, b.Trash.Restore(ctx, domain.System, id))
	if r := must(b.Projects.Report(ctx, reader, id))(t); r.Name != "better" || r.Text != "first" {
		t.Errorf("the report is %+v", r)
	}
}
