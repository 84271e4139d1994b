package ui_test

import (
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/users"
)

// keeps reports whether a field of a form on the page contains a value.
func (a answer) keeps(action, field, value string) bool {
	forms := regexp.MustCompile(`(?s)<form[^>]* action="` + regexp.QuoteMeta(action) + `"[^>]*>.*?</form>`)
	name, text := ` name="`+regexp.QuoteMeta(field)+`"`, regexp.QuoteMeta(html.EscapeString(value))
	shown := regexp.MustCompile(`(?s)<input` + `[^>]*` + name + `[^>]* value="` + text + `"[^>]*>` +
		`|<textarea[^>]*` + name + `[^>]*>\s*` + text + `</textarea>` +
		`|<select[^>]*` + name + `[^>]*>(?:<option[^>]*>[^<]*</option>\s*)*<option value="` + text + `" selected`)
	for _, form := range forms.FindAllString(a.body, -1) {
		for _, control := range shown.FindAllString(form, -1) {
			if !strings.Contains(control, `type="checkbox"`) || strings.Contains(control, " checked") {
				return true
			}
		}
	}
	return false
}

// refusedForm is a form of the dashboard with an invalid field. On a full disk, a valid value is
// rejected, too.
type refusedForm struct {
	name   string
	page   string     // page to which the form is sent
	fields url.Values // the input
	wrong  string     // the invalid field and its value
	with   string
	status int
	lost   []string // fields that the rejected form omits on purpose
}

func (s *site) forms(t *testing.T) []refusedForm {
	t.Helper()
	h := s.shelf()
	ctx, alice := t.Context(), s.actor("alice")
	loose := s.keep(h.experiment, files.NewArtifact{Name: "loose.pt"}, "weights")
	model, version := s.register(h.project, h.run, loose)
	permission := must(s.db.Users.CreateUserPermission(ctx, alice, s.actor("bob").UserID, h.project, users.PermissionPatch{Read: new(true)}))(t).ID
	user := must(s.db.Users.CreateUser(ctx, alice, users.NewUser{Username: "carol", Password: password}))(t).ID
	long, record := strings.Repeat("x", 251), url.Values{"name": {"a <name>"}, "description": {"first line\n<second> & more"}}
	with := func(fields url.Values, more ...string) url.Values {
		all := url.Values{}
		for name, values := range fields {
			all[name] = slices.Clone(values)
		}
		for i := 0; i < len(more); i += 2 {
			all.Set(more[i], more[i+1])
		}
		return all
	}
	rights := url.Values{"create": {"yes"}, "update": {"yes"}, "delete": {"yes"}}
	names := url.Values{"first_name": {"Ada <3"}, "last_name": {"Lovelace"}}
	return []refusedForm{
		{"new project", "/", record, "name", long, 422, nil},
		{"new experiment", "/project/" + h.project, record, "name", long, 422, nil},
		{"project", "/project/" + h.project + "/settings", record, "name", long, 422, nil},
		{"experiment", "/experiment/" + h.experiment + "/settings", with(record, "status", "STOPPED"), "name", long, 422, nil},
		{"status of an experiment", "/experiment/" + h.experiment + "/settings", with(record, "status", "STOPPED"), "status", "ASLEEP", 422, nil},
		{"run", "/iteration/" + h.run, url.Values{"name": {"a <name>"}, "notes": {"# Found\n\n<it>"}}, "name", long, 422, nil},
		{"end of a run", "/iteration/" + h.run + "/status", url.Values{"status": {"FAILED"}, "error_message": {"no\nmemory"}}, "status", "ASLEEP", 422, nil},
		{"tag of a run", "/iteration/" + h.run + "/tag", url.Values{"tag": {"be<st"}}, "tag", long, 422, nil},
		{"tags of runs", "/change", url.Values{"i": {h.run}, "do": {"add"}, "tag": {"be<st"}}, "tag", long, 422, nil},
		{"status of runs", "/change", url.Values{"i": {h.run}, "do": {"status"}, "status": {"FAILED"}}, "status", "ASLEEP", 422, nil},
		{"new member", "/project/" + h.project + "/members", with(rights, "username", "carol", "do", "add"), "username", "nob<ody", 422, nil},
		{"member", "/project/" + h.project + "/members", with(rights, "permission", permission, "do", "save"), "", "", 0, nil},
		{"new model", "/project/" + h.project + "/models", record, "name", long, 422, nil},
		{"model", "/model/" + model, with(record, "name", "another <name>"), "name", long, 422, nil},
		{"version", "/modelversion/" + version, url.Values{"description": {"better\n<than>"}}, "description", strings.Repeat("x", domain.MaxText+1), 422, nil},
		{"registration", "/artifact/" + loose + "/versions", url.Values{"model_id": {""}, "name": {"a <new> one"}, "iteration_id": {h.run}, "description": {"bett<er"}},
			"name", long, 422, nil},
		{"registration without a run", "/artifact/" + loose + "/versions", url.Values{"model_id": {model}, "iteration_id": {h.run}, "description": {"bett<er"}},
			"iteration_id", "", 422, nil},
		{"account", "/account", names, "first_name", long, 422, nil},
		{"password", "/account/password", url.Values{"current": {password}, "password": {"another horse"}, "again": {"another horse"}}, "again", "typo", 422,
			[]string{"current", "password", "again"}},
		{"user", "/user/" + user, with(names, "is_admin", "yes", "do", "names"), "last_name", long, 422, nil},
		{"password of a user", "/user/" + user, url.Values{"password": {"another horse"}, "do": {"password"}}, "password", "x", 422, []string{"password"}},
		{"new user", "/users", with(names, "username", "da<ve", "password", password, "is_admin", "yes"), "username", long, 422, []string{"password"}},
	}
}

// kept checks that a rejected form is shown again with all input.
func (f refusedForm) kept(t *testing.T, a answer, base string, fields url.Values) {
	t.Helper()
	for name, values := range fields {
		for _, value := range values {
			if name != "do" && !slices.Contains(f.lost, name) && !a.keeps(base+f.page, name, value) {
				t.Errorf("%s: %s is not %.100q any more", f.name, name, value)
			}
		}
	}
	if !strings.Contains(a.body, `role="alert" data-testid="wrong`) {
		t.Errorf("%s: nothing says what is wrong", f.name)
	}
	for _, secret := range []string{password, "another horse"} {
		if strings.Contains(a.body, secret) {
			t.Errorf("%s: the page has a password", f.name)
		}
	}
}

// A rejected form never loses input.
func TestRefusedFormsKeepWhatWasTyped(t *testing.T) {
	s := start(t, setup{auth: true, base: "/lab"})
	forms := s.forms(t)
	alice := with(s.signIn("alice"))
	for _, f := range forms {
		if f.wrong == "" {
			continue
		}
		fields := url.Values{}
		for name, values := range f.fields {
			fields[name] = values
		}
		fields.Set(f.wrong, f.with)
		a := s.post("/lab"+f.page, fields, alice)
		a.wants(t, f.status)
		if f.wrong == "status" || f.with == "" {
			fields.Del(f.wrong) // it is not one of the choices
		}
		f.kept(t, a, "/lab", fields)
	}
}

// If a run ends while a user types a reason for ending it, the text stays.
func TestEndTypedTooLate(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(1, 1)
	page := "/iteration/" + w.runs[0] + "/status"
	fields := url.Values{"status": {"KILLED"}, "error_message": {"it ran away"}}
	s.post(page, url.Values{"status": {"SUCCEEDED"}}).redirects(t, "/iteration/"+w.runs[0])
	a := s.post(page, fields)
	a.wants(t, 422, "Already ended")
	refusedForm{name: "end", page: page}.kept(t, a, "", fields)
}

// The page of a rejected upload still has the upload's run.
func TestRefusedUploadKeepsItsRun(t *testing.T) {
	s := start(t, setup{maxUpload: 3})
	w := s.sweep(1, 1)
	page := "/experiment/" + w.experiment + "/artifacts"
	body, kind := fileForm(t, map[string]string{"iteration_id": w.runs[0]}, "a.txt")
	a := s.do("POST", page, body, kind)
	a.wants(t, 413)
	refusedForm{name: "upload", page: page}.kept(t, a, "", url.Values{"iteration_id": {w.runs[0]}})
}
