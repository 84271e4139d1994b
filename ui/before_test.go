package ui_test

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/users"
)

var hiddenInput = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// hidden returns the hidden fields of the first form with the given action that contains the given
// text.
func (a answer) hidden(t *testing.T, action, has string) url.Values {
	t.Helper()
	for rest := a.body; ; {
		_, after, found := strings.Cut(rest, `action="`+action+`"`)
		if !found {
			t.Fatalf("no form to %s with %s in %s", action, has, a.body)
		}
		form, next, _ := strings.Cut(after, "</form>")
		if rest = next; !strings.Contains(form, has) {
			continue
		}
		fields := url.Values{}
		for _, m := range hiddenInput.FindAllStringSubmatch(form, -1) {
			fields.Set(m[1], html.UnescapeString(m[2]))
		}
		return fields
	}
}

// typed returns the hidden fields of a form together with the given fields.
func typed(hidden url.Values, fields ...string) url.Values {
	all := url.Values{}
	for name := range hidden {
		all.Set(name, hidden.Get(name))
	}
	for i := 0; i < len(fields); i += 2 {
		all.Set(fields[i], fields[i+1])
	}
	return all
}

// A form does not change fields that were not edited, even if they have changed since. If two users
// change a field, the later change does not silently win.
func TestFormsChangeWhatWasTyped(t *testing.T) {
	s := start(t, setup{base: "/lab"})
	w := s.sweep(1, 0)
	ctx, actor, id := t.Context(), s.actor("alice"), w.runs[0]
	page := "/lab/iteration/" + id
	notes := func(text string) {
		t.Helper()
		if err := s.db.Runs.UpdateIteration(ctx, actor, id, runs.IterationPatch{Notes: &text}); err != nil {
			t.Fatal(err)
		}
	}
	stored := func(name, notes string) {
		t.Helper()
		i, err := s.db.Runs.Iteration(ctx, actor, id)
		if err != nil || i.Name != name || i.Notes != notes {
			t.Errorf("%q with the notes %q is stored, want %q with %q (%v)", i.Name, i.Notes, name, notes, err)
		}
	}
	notes("at first\r\nand\rso\x00on")
	form := s.get(page).hidden(t, page, "notes")
	seen := "at first\nand\nso\uFFFDon" // by the browser
	s.post(page, typed(form, "name", "first", "notes", strings.ReplaceAll(seen, "\n", "\r\n"))).redirects(t, page)
	stored("first", "at first\r\nand\rso\x00on")

	form = s.get(page).hidden(t, page, "notes")
	notes("the training wrote <this>")
	s.post(page, typed(form, "name", "second", "notes", seen)).redirects(t, page)
	stored("second", "the training wrote <this>")

	// Both users have written notes. The second change is not stored, and the page shows both
	// texts.
	a := s.post(page, typed(form, "name", "third", "notes", "mine"))
	a.wants(t, 409, "Someone else has changed this field to the text below.", `data-testid="theirs-notes">the training wrote &lt;this&gt;</pre>`,
		"\nmine</textarea>", `aria-describedby="wrong-notes"`, `data-testid="theirs-name">second</pre>`, `value="third"`)
	stored("second", "the training wrote <this>")
	// A user who saves again overwrites the value that the page has shown, but not a later value.
	again := a.hidden(t, page, "notes")
	notes("and again")
	a = s.post(page, typed(again, "name", "third", "notes", "mine"))
	a.wants(t, 409, `data-testid="theirs-notes">and again</pre>`)
	a.lacks(t, "theirs-name")
	again = a.hidden(t, page, "notes")
	s.post(page, typed(again, "name", "third", "notes", "mine")).redirects(t, page)
	stored("third", "mine")

	// If one field is rejected, the form shows the current values of the other fields.
	form = s.get(page).hidden(t, page, "notes")
	notes("newest")
	long := strings.Repeat("x", 251)
	a = s.post(page, typed(form, "name", long, "notes", "mine"))
	a.wants(t, 422, `data-testid="wrong-name"`, long, "\nnewest</textarea>")
	a.lacks(t, "theirs-notes")
	s.post(page, typed(a.hidden(t, page, "notes"), "name", "fourth", "notes", "newest")).redirects(t, page)
	stored("fourth", "newest")

	form = s.get(page).hidden(t, page, "notes")
	notes("")
	s.post(page, typed(form, "name", "fourth", "notes", "mine")).wants(t, 409, "Someone else has cleared this field.")
	// Equal changes do not conflict.
	s.post(page, typed(form, "name", "fourth", "notes", "")).redirects(t, page)
	stored("fourth", "")
}

// The same holds for each form that changes a record.
func TestEachFormChangesWhatWasTyped(t *testing.T) {
	s := start(t, setup{auth: true})
	h := s.shelf()
	ctx, actor, bob := t.Context(), s.actor("alice"), s.actor("bob").UserID
	alice := with(s.signIn("alice"))
	long := strings.Repeat("x", 251)
	for name, form := range map[string]struct {
		page, path, field   string // field is a field that another user also changes
		theirs, mine, other string
		change              func(theirs string) error
		read                func() (field, other string, err error)
	}{
		"project": {"", "/project/" + h.project + "/settings", "description", "theirs", "mine", "name",
			func(theirs string) error {
				return s.db.Projects.UpdateProject(ctx, actor, h.project, projects.ProjectPatch{Description: &theirs})
			},
			func() (string, string, error) {
				p, err := s.db.Projects.Project(ctx, actor, h.project)
				return p.Description, p.Name, err
			}},
		"experiment": {"", "/experiment/" + h.experiment + "/settings", "status", "FINISHED", "STOPPED", "name",
			func(theirs string) error {
				return s.db.Projects.UpdateExperiment(ctx, actor, h.experiment, projects.ExperimentPatch{Status: new(domain.ExperimentStatus(theirs))})
			},
			func() (string, string, error) {
				e, err := s.db.Projects.Experiment(ctx, actor, h.experiment)
				return string(e.Status), e.Name, err
			}},
		"model": {"", "/model/" + h.model, "name", "theirs", "mine", "description",
			func(theirs string) error {
				return s.db.Models.UpdateModel(ctx, actor, h.model, registry.ModelPatch{Name: &theirs})
			},
			func() (string, string, error) {
				m, err := s.db.Models.Model(ctx, actor, h.model)
				return m.Name, m.Description, err
			}},
		"version": {"/model/" + h.model, "/modelversion/" + h.versions[0], "description", "theirs", "mine", "",
			func(theirs string) error {
				return s.db.Models.UpdateModelVersion(ctx, actor, h.versions[0], registry.ModelVersionPatch{Description: &theirs})
			},
			func() (string, string, error) {
				v, err := s.db.Models.ModelVersion(ctx, actor, h.versions[0])
				return v.Description, "", err
			}},
		"user": {"", "/user/" + bob, "last_name", "theirs", "mine", "first_name",
			func(theirs string) error {
				return s.db.Users.UpdateUser(ctx, actor, bob, users.UserPatch{LastName: &theirs})
			},
			func() (string, string, error) {
				u, err := s.db.Users.User(ctx, actor, bob)
				return u.LastName, u.FirstName, err
			}},
	} {
		t.Run(name, func(t *testing.T) {
			page := form.page
			if page == "" {
				page = form.path
			}
			is := func(field, other string) {
				t.Helper()
				gotField, gotOther, err := form.read()
				if err != nil || gotField != field || gotOther != other {
					t.Errorf("%q and %q are stored, want %q and %q (%v)", gotField, gotOther, field, other, err)
				}
			}
			was, other, _ := form.read()
			hidden := s.get(page, alice).hidden(t, form.path, "was-"+form.field)
			if err := form.change(form.theirs); err != nil {
				t.Fatal(err)
			}
			if form.other != "" {
				other = "renamed"
				a := s.post(form.path, typed(hidden, form.field, was, form.other, other), alice)
				if a.StatusCode != 303 {
					t.Errorf("saving answers %s: %s", a.Status, a.body)
				}
				is(form.theirs, other)
				hidden.Set("was-"+form.other, domain.Fingerprint(other))
			}
			a := s.post(form.path, typed(hidden, form.field, form.mine, form.other, other), alice)
			a.wants(t, 409, `data-testid="theirs-`+form.field+`">`)
			is(form.theirs, other)
			// The form is rejected because of another field. It shows the input and the value of
			// the other user.
			if form.other == "name" || form.other == "first_name" {
				a = s.post(form.path, typed(hidden, form.field, form.mine, form.other, long), alice)
				a.wants(t, 422, long, `data-testid="theirs-`+form.field+`">`)
			}
			hidden = a.hidden(t, form.path, "was-"+form.field)
			if a = s.post(form.path, typed(hidden, form.field, form.mine, form.other, other), alice); a.StatusCode != 303 {
				t.Errorf("saving again answers %s: %s", a.Status, a.body)
			}
			is(form.mine, other)
		})
	}
}

// A check box is saved only if it was clicked.
func TestBoxesChangeWhenClicked(t *testing.T) {
	s := start(t, setup{auth: true})
	h := s.shelf()
	ctx, bob, alice := t.Context(), s.actor("bob").UserID, with(s.signIn("alice"))
	made, err := s.db.Users.CreateUserPermission(ctx, domain.System, bob, h.project, users.PermissionPatch{})
	if err != nil {
		t.Fatal(err)
	}
	page := "/project/" + h.project + "/members"
	hidden := s.get(page, alice).hidden(t, page, made.ID)
	if err := s.db.Users.UpdateUserPermission(ctx, domain.System, made.ID, users.PermissionPatch{Update: new(true), Read: new(false)}); err != nil {
		t.Fatal(err)
	}
	s.post(page, typed(hidden, "do", "save", "read", "yes", "create", "yes"), alice).redirects(t, page)
	got, err := s.db.Users.ProjectMembers(ctx, domain.System, h.project, domain.FirstPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range got.Data {
		if p.ID == made.ID && (!p.Create || p.Read || !p.Update || p.Delete) {
			t.Errorf("the rights are %+v", p)
		}
	}

	account := "/user/" + bob
	hidden = s.get(account, alice).hidden(t, account, "first_name")
	if err := s.db.Users.UpdateUser(ctx, domain.System, bob, users.UserPatch{IsAdmin: new(true)}); err != nil {
		t.Fatal(err)
	}
	s.post(account, typed(hidden, "do", "names", "first_name", "Robert", "last_name", ""), alice).redirects(t, account+"?saved=names")
	if u, err := s.db.Users.User(ctx, domain.System, bob); err != nil || !u.IsAdmin || u.FirstName != "Robert" {
		t.Errorf("the account is %+v (%v)", u, err)
	}
	// If a password is rejected, the form still shows the entered names.
	s.post(account, url.Values{"do": {"password"}, "password": {"short"}}, alice).wants(t, 422, `value="Robert"`)
}
