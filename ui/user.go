package ui

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/scalar"
	"tracker/store/users"
	"tracker/ui/plain"
)

// accountView is the view of an account page. Users see their own account, and admins see any
// account.
type accountView struct {
	basis   // fingerprints of the names and rights
	User    domain.User
	Own     bool
	Admin   bool // whether the user who views the page is an admin
	Typed   users.NewUser
	Form    string // rejected form: "names", "password", "key" or "delete"
	Wrong   *domain.Error
	Saved   string // message after a change, "" for none
	Keys    []keyRow
	Key     string       // API key that was just created, "" for none
	NewKey  url.Values   // rejected input of the form for a new API key
	Choices []keyProject // projects to which a new API key can be limited
	Created moment
}

// wrong returns the error message for the given field of the given form, "" for none.
func (v accountView) wrong(form, field string) string {
	if v.Form != form {
		return ""
	}
	return v.basis.wrong(field, wrongOf(v.Wrong, field, "first_name", "last_name", "current", "password", "again", "name", "scope", "project_id", "days"))
}

// keyRow is an API key of the account.
type keyRow struct {
	users.APIKey
	Created, Expires, Used moment
	Expired                bool
}

// keyProject is a project to which an API key can be limited.
type keyProject struct{ ID, Name string }

// limits returns what the key can be used for, or "" for everything.
func (k keyRow) limits() string {
	text := map[users.KeyScope]string{users.KeyRead: "read only", users.KeyLog: "logging only"}[k.Scope]
	if k.Project != nil {
		text = strings.TrimPrefix(text+", only in "+*k.Project, ", ")
	}
	return text
}

// keyScopes holds the values and labels of the choice of an API key's scope.
var keyScopes = [][2]string{{"all", "Everything this account can do"}, {"read", "Read only"},
	{"log", "Logging only: can't read other runs"}}

// keyDays holds the values and labels of the choice of an API key's lifetime in days.
var keyDays = [][2]string{{"", "Never"}, {"7", "After 7 days"}, {"30", "After 30 days"}, {"90", "After 90 days"}, {"365", "After a year"}}

// maxKeyProjects is the maximum number of projects to choose from in the form for a new API key.
const maxKeyProjects = 200

// newKey returns the API key that the submitted form describes.
func newKey(fields url.Values, now time.Time) (users.NewAPIKey, error) {
	n := users.NewAPIKey{Name: plain.Readable(fields.Get("name"))}
	if scope := fields.Get("scope"); scope != "" {
		n.Scope = new(users.KeyScope(scope))
	}
	if project := fields.Get("project"); project != "" {
		n.ProjectID = &project
	}
	if text := fields.Get("days"); text != "" {
		days, err := strconv.Atoi(text)
		if err != nil || days < 1 || days > maxKeyDays {
			return n, domain.Invalid("days", "The key must expire after 1 to %d days.", maxKeyDays)
		}
		n.ExpiresDate = new(scalar.TimeOf(now.AddDate(0, 0, days)))
	}
	return n, nil
}

// maxKeyDays is the maximum lifetime of an API key with an expiry.
const maxKeyDays = 3650

// path returns the path to which the forms on the page are posted.
func (v accountView) path() string {
	if v.Own {
		return "/account"
	}
	return "/user/" + v.User.ID
}

// usersView is the view of the page that lists all accounts.
type usersView struct {
	Rows  []userRow
	Pager pager
	Typed users.NewUser
	Wrong *domain.Error
}

type userRow struct {
	domain.User
	Name    string
	Created moment
}

func (v usersView) wrong(field string) string {
	return wrongOf(v.Wrong, field, "username", "password", "first_name", "last_name")
}

// account shows the user's own account page.
func (s *site) account(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.showAccount(w, r, user, http.StatusOK, accountView{User: user, Own: true})
}

// user shows an admin the account page of any user.
func (s *site) user(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.showAccount(w, r, user, http.StatusOK, accountView{})
}

func (s *site) showAccount(w http.ResponseWriter, r *http.Request, user domain.User, status int, v accountView) error {
	return s.show(w, r, user, status, func(db *store.View) (_ templ.Component, err error) {
		v := v
		if !v.Own {
			if v.User, err = db.Users.User(idOf(r)); err != nil {
				return nil, err
			}
		}
		keys, err := db.Users.APIKeys(v.User.ID)
		if err != nil {
			return nil, err
		}
		for _, k := range keys {
			row := keyRow{APIKey: k, Created: s.moment(k.CreatedDate)}
			if k.ExpiresDate != nil {
				row.Expires, row.Expired = s.moment(*k.ExpiresDate), *k.ExpiresDate <= scalar.TimeOf(s.Now())
			}
			if k.UsedDate != nil {
				row.Used = s.moment(*k.UsedDate)
			}
			v.Keys = append(v.Keys, row)
		}
		if v.Own {
			list, err := db.Projects.Projects(projects.ProjectQuery{Page: domain.Page{Limit: maxKeyProjects}})
			if err != nil {
				return nil, err
			}
			label := projectLabels(list.Data)
			for _, p := range list.Data {
				v.Choices = append(v.Choices, keyProject{p.ID, label(p)})
			}
		}
		v.Admin, v.Created, v.Saved = user.IsAdmin, s.moment(v.User.CreatedDate), saved[r.URL.Query().Get("saved")]
		if v.Wrong == nil || v.Form != "names" {
			v.Typed = users.NewUser{FirstName: v.User.FirstName, LastName: v.User.LastName, IsAdmin: v.User.IsAdmin}
		}
		admin := box(v.Typed.IsAdmin)
		v.renew("first_name", &v.Typed.FirstName, v.User.FirstName)
		v.renew("last_name", &v.Typed.LastName, v.User.LastName)
		v.renew("is_admin", &admin, box(v.User.IsAdmin))
		v.Typed.IsAdmin = admin != ""
		f, err := s.inside(db, v.User.Username, user, place{})
		if err != nil {
			return nil, err
		}
		f.InPlace = true
		f.Crumbs = []crumb{{"Projects", "/"}, {Name: v.User.Username}}
		if user.IsAdmin {
			f.Crumbs = []crumb{{"Projects", "/"}, {"Users", "/users"}, {Name: v.User.Username}}
		}
		return accountPage(f, v), nil
	})
}

// saved holds the messages after a saved form, keyed by the value of ?saved=.
var saved = map[string]string{"names": "The account was saved.", "password": "The password was changed.",
	"key": "The key was revoked."}

// formError returns err as a *domain.Error if a form should show it together with the input. It
// returns nil for all other errors.
func formError(err error) *domain.Error {
	e := web.AsError(err)
	if e == nil {
		return nil
	}
	switch e.Code {
	case domain.CodeInvalidPayload, domain.CodeConflict, domain.CodeDefaultUserProtected, domain.CodeInvalidCredentials,
		web.CodeRateLimited, domain.CodeExperimentNotInProgress, domain.CodeIterationEnded, domain.CodePayloadTooLarge,
		web.CodeMalformedBody, domain.CodeStorageFull:
		return e
	}
	return nil
}

// saveAccount changes the names in the user's own account.
func (s *site) saveAccount(w http.ResponseWriter, r *http.Request, user domain.User, fields url.Values) (err error) {
	v := accountView{basis: basisOf(fields), User: user, Own: true, Form: "names", Typed: typedUser(fields)}
	err = s.DB.Users.UpdateUser(r.Context(), user.Actor(), user.ID, v.patch(fields))
	if v.Wrong = formError(err); v.Wrong != nil {
		return s.showAccount(w, r, user, web.StatusOf(v.Wrong.Code), v)
	}
	return s.redirectUnless(err, w, r, "/account?saved=names")
}

// patch returns the changes to the names that the user edited.
func (v accountView) patch(fields url.Values) users.UserPatch {
	return users.UserPatch{FirstName: changed(fields, "first_name", v.Typed.FirstName),
		LastName: changed(fields, "last_name", v.Typed.LastName), Before: v.Before}
}

// savePassword changes the user's own password. It requires the current password, because an
// attacker might have access to an open browser.
func (s *site) savePassword(w http.ResponseWriter, r *http.Request, user domain.User, fields url.Values) (err error) {
	ctx := r.Context()
	err = s.Auth.Check(ctx, user.Username, fields.Get("current"), web.ClientAddress(r))
	if err != nil && web.AsError(err).Code == domain.CodeInvalidCredentials {
		err = domain.Invalid("current", "The current password is wrong.")
	}
	if err == nil && fields.Get("password") != fields.Get("again") {
		err = domain.Invalid("again", "The new passwords differ.")
	}
	if err == nil {
		err = s.DB.Users.UpdateUser(ctx, user.Actor(), user.ID, users.UserPatch{Password: new(fields.Get("password"))})
	}
	if e := formError(err); e != nil {
		web.RetryAfter(w, e)
		v := accountView{User: user, Own: true, Form: "password", Wrong: e,
			Typed: users.NewUser{FirstName: user.FirstName, LastName: user.LastName}}
		return s.showAccount(w, r, user, web.StatusOf(e.Code), v)
	}
	return s.redirectUnless(err, w, r, "/account?saved=password")
}

// saveKey creates an API key for the user's own account and shows the key, or revokes an API
// key.
func (s *site) saveKey(w http.ResponseWriter, r *http.Request, user domain.User, fields url.Values) error {
	return s.saveKeyOf(w, r, user, fields, user.ID, accountView{User: user, Own: true})
}

// saveUserKey is saveKey for the account of any user. Only admins can change other accounts.
func (s *site) saveUserKey(w http.ResponseWriter, r *http.Request, user domain.User, fields url.Values) error {
	return s.saveKeyOf(w, r, user, fields, idOf(r), accountView{User: domain.User{ID: idOf(r)}})
}

func (s *site) saveKeyOf(w http.ResponseWriter, r *http.Request, user domain.User, fields url.Values, id string, v accountView) error {
	ctx, actor := r.Context(), user.Actor()
	if fields.Get("do") == "revoke" {
		if err := s.DB.Users.DeleteAPIKey(ctx, actor, id, fields.Get("id")); err != nil {
			return err
		}
		s.redirect(w, r, v.path()+"?saved=key")
		return nil
	}
	n, err := newKey(fields, s.Now())
	var made users.CreatedKey
	if err == nil {
		made, err = s.DB.Users.CreateAPIKey(ctx, actor, id, n)
	}
	v.Form, v.Key = "key", made.Key
	if err == nil {
		return s.showAccount(w, r, user, http.StatusOK, v)
	}
	if v.Wrong = formError(err); v.Wrong == nil {
		return err
	}
	v.NewKey = fields
	return s.showAccount(w, r, user, web.StatusOf(v.Wrong.Code), v)
}

func typedUser(fields url.Values) users.NewUser {
	return users.NewUser{
		Username:  plain.Readable(fields.Get("username")),
		FirstName: plain.Readable(fields.Get("first_name")),
		LastName:  plain.Readable(fields.Get("last_name")),
		IsAdmin:   fields.Get("is_admin") != "",
	}
}

// saveUser changes the names, rights or password of an account, or deletes the account. Only
// admins can change other accounts.
func (s *site) saveUser(w http.ResponseWriter, r *http.Request, user domain.User, fields url.Values) (err error) {
	id, ctx, actor := idOf(r), r.Context(), user.Actor()
	v := accountView{basis: basisOf(fields), Form: "names", Typed: typedUser(fields)}
	next := "/user/" + id + "?saved=names"
	switch fields.Get("do") {
	case "password":
		v.Form, next = "password", "/user/"+id+"?saved=password"
		err = s.DB.Users.UpdateUser(ctx, actor, id, users.UserPatch{Password: new(fields.Get("password"))})
	case "delete":
		v.Form, next = "delete", "/users"
		err = s.DB.Users.DeleteUser(ctx, actor, id)
	default:
		patch := v.patch(fields)
		patch.IsAdmin = checked(fields, "is_admin")
		err = s.DB.Users.UpdateUser(ctx, actor, id, patch)
	}
	if v.Wrong = formError(err); v.Wrong != nil {
		return s.showAccount(w, r, user, web.StatusOf(v.Wrong.Code), v)
	}
	return s.redirectUnless(err, w, r, next)
}

// users lists all accounts. Only admins can list accounts.
func (s *site) users(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.showUsers(w, r, user, http.StatusOK, usersView{})
}

func (s *site) showUsers(w http.ResponseWriter, r *http.Request, user domain.User, status int, v usersView) error {
	return s.show(w, r, user, status, func(db *store.View) (templ.Component, error) {
		v := v
		page := pageOf(r.URL.Query())
		list, err := db.Users.Users(page)
		if err != nil {
			return nil, err
		}
		for _, u := range list.Data {
			v.Rows = append(v.Rows, userRow{User: u, Name: strings.TrimSpace(u.FirstName + " " + u.LastName), Created: s.moment(u.CreatedDate)})
		}
		v.Pager = newPager(url.Values{}, page, len(list.Data), list.Total)
		f, err := s.inside(db, "Users", user, place{})
		if err != nil {
			return nil, err
		}
		f.Crumbs = []crumb{{"Projects", "/"}, {Name: "Users"}}
		return usersPage(f, v), nil
	})
}

// createUser creates an account.
func (s *site) createUser(w http.ResponseWriter, r *http.Request, user domain.User, fields url.Values) (err error) {
	n := typedUser(fields)
	n.Password = fields.Get("password")
	created, err := s.DB.Users.CreateUser(r.Context(), user.Actor(), n)
	if e := formError(err); e != nil {
		n.Password = ""
		return s.showUsers(w, r, user, web.StatusOf(e.Code), usersView{Typed: n, Wrong: e})
	}
	return s.redirectUnless(err, w, r, "/user/"+created.ID)
}
