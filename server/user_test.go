package server_test

import (
	"fmt"
	"strings"
	"testing"
)

func userJSON(id, username, first, last string, admin bool) string {
	return fmt.Sprintf(`{"id":%q,"username":%q,"first_name":%q,"last_name":%q,"is_admin":%v,"created_date":%q}`,
		id, username, first, last, admin, nowText)
}

func pageJSON(total int, data ...string) string {
	return fmt.Sprintf(`{"data":[%s],"total":%d,"limit":50,"offset":0}`, strings.Join(data, ","), total)
}

// located checks the Location header of a created record.
func (r answer) located(want string) answer {
	r.t.Helper()
	r.wants(201)
	if got := r.header.Get("Location"); got != want {
		r.t.Errorf("%s: Location is %q, want %q", r.what, got, want)
	}
	return r
}

func TestUserHappyPath(t *testing.T) {
	a := start(t)
	created := a.do("POST", "/user", `{"username":"ada","password":"12345678"}`)
	ada := created.id()
	created.located("/user/" + ada).is(`{"id":"` + ada + `"}`)
	a.get("/user/" + ada).is(userJSON(ada, "ada", "", "", false))
	bob := a.do("POST", "/user",
		`{"username":"bob","password":"12345678","first_name":"Bob","last_name":"Moor","is_admin":true}`).id()
	a.get("/user/" + bob).is(userJSON(bob, "bob", "Bob", "Moor", true))
	null := a.do("POST", "/user",
		`{"username":"cleo","password":"12345678","first_name":null,"last_name":null,"is_admin":null}`).id()
	a.get("/user/" + null).is(userJSON(null, "cleo", "", "", false))

	a.do("PATCH", "/user/"+ada, `{"first_name":"Ada","last_name":"Lovelace"}`).wants(204)
	a.get("/user/" + ada).is(userJSON(ada, "ada", "Ada", "Lovelace", false))
	a.unchanged(func() {
		for _, same := range []string{`{}`, `{"first_name":null,"last_name":null,"password":null,"is_admin":null}`, `{"first_name":"Ada"}`} {
			a.do("PATCH", "/user/"+ada, same).wants(204)
		}
	})
	a.do("PATCH", "/user/"+ada, `{"first_name":""}`).wants(204)
	a.get("/user/" + ada).is(userJSON(ada, "ada", "", "Lovelace", false))

	a.do("DELETE", "/user/"+ada, "").wants(204)
	a.get("/user/"+ada).fails(404, "NOT_FOUND", "")
	a.do("DELETE", "/user/"+ada, "").fails(404, "NOT_FOUND", "")
	a.do("PATCH", "/user/"+ada, `{"first_name":"x"}`).fails(404, "NOT_FOUND", "")
}

func TestUsersAreListedByName(t *testing.T) {
	a := start(t)
	zoe, ada, mia := a.user("zoe"), a.admin("ada"), a.user("mia")
	a.get("/user").is(pageJSON(4,
		userJSON(ada.id, "ada", "", "", true),
		userJSON(a.root.id, "default", "", "", true),
		userJSON(mia.id, "mia", "", "", false),
		userJSON(zoe.id, "zoe", "", "", false)))
}

func TestUsernameIsUnique(t *testing.T) {
	a := start(t)
	a.user("ada")
	a.unchanged(func() {
		a.do("POST", "/user", `{"username":"ada","password":"12345678"}`).fails(409, "CONFLICT", "username")
		a.do("POST", "/user", `{"username":"default","password":"12345678"}`).fails(409, "CONFLICT", "username")
	})
}

func TestPasswordHas8To72Bytes(t *testing.T) {
	a := start(t)
	ada := a.user("ada")
	for _, tt := range []struct {
		password string
		ok       bool
	}{
		{strings.Repeat("x", 7), false},
		{strings.Repeat("x", 8), true},
		{strings.Repeat("x", 72), true},
		{strings.Repeat("x", 73), false},
		{strings.Repeat("é", 4), true},
		{strings.Repeat("é", 36), true},
		{strings.Repeat("é", 37), false},
		{strings.Repeat("🙂", 2), true},
		{"", false},
	} {
		t.Run(tt.password, func(t *testing.T) {
			a := a.on(t)
			create := a.do("POST", "/user", credentials("user "+tt.password[:min(4, len(tt.password))]+fmt.Sprint(len(tt.password)), tt.password))
			change := a.do("PATCH", "/user/"+ada.id, fmt.Sprintf(`{"password":%q}`, tt.password), as(ada))
			if !tt.ok {
				create.fails(422, "INVALID_PAYLOAD", "password")
				change.fails(422, "INVALID_PAYLOAD", "password")
				return
			}
			create.wants(201)
			change.wants(204)
			a.do("POST", "/auth", credentials("ada", tt.password), anonymous).wants(200)
			a.do("POST", "/auth", credentials("ada", tt.password+"x"), anonymous).fails(401, "INVALID_CREDENTIALS", "")
		})
	}
	a.do("POST", "/auth", credentials("ada", password), anonymous).fails(401, "INVALID_CREDENTIALS", "")
}

func TestNobodySeesAPassword(t *testing.T) {
	a := start(t)
	ada := a.user("ada")
	for _, got := range []answer{a.get("/user"), a.get("/user/" + ada.id), a.get("/auth/me"),
		a.do("POST", "/auth", credentials("ada", password), anonymous)} {
		if strings.Contains(got.body, "password") || strings.Contains(got.body, "$2a$") {
			t.Errorf("%s: %s", got.what, got.body)
		}
	}
}

func TestPrivilegeRule1IsAdminIsABoundary(t *testing.T) {
	a := start(t)
	ada, project := a.user("ada"), a.project(a.root)
	for _, path := range []string{"/user", "/user/" + a.root.id, "/project/" + project} {
		if got := a.get(path, as(ada)); got.status != 403 {
			t.Errorf("%s: %d for a user", path, got.status)
		}
	}
	a.do("PATCH", "/user/"+ada.id, `{"is_admin":true}`).wants(204)
	for _, path := range []string{"/user", "/user/" + a.root.id, "/project/" + project} {
		a.get(path, as(ada)).wants(200)
	}
}

func TestPrivilegeRule2UserUpdatesOwnAccountButNotIsAdmin(t *testing.T) {
	a := start(t)
	ada, bob := a.user("ada"), a.user("bob")
	a.do("PATCH", "/user/"+ada.id, `{"first_name":"Ada","password":"a new password"}`, as(ada)).wants(204)
	a.get("/user/"+ada.id, as(ada)).has(`{"first_name":"Ada"}`)
	a.do("POST", "/auth", credentials("ada", "a new password"), anonymous).wants(200)
	a.do("POST", "/auth", credentials("ada", password), anonymous).wants(401)
	a.unchanged(func() {
		for _, body := range []string{`{"is_admin":true}`, `{"is_admin":false}`, `{"first_name":"x","is_admin":true}`} {
			a.do("PATCH", "/user/"+ada.id, body, as(ada)).fails(403, "ADMIN_REQUIRED", "")
			a.do("PATCH", "/user/"+bob.id, body, as(ada)).fails(403, "SAME_USER_REQUIRED", "")
			a.do("PATCH", "/user/"+a.root.id, body, as(ada)).fails(403, "SAME_USER_REQUIRED", "")
		}
		a.do("PATCH", "/user/"+bob.id, `{"first_name":"x"}`, as(ada)).fails(403, "SAME_USER_REQUIRED", "")
	})
}

func TestPrivilegeRule3OnlyAdminsPromoteAndDemote(t *testing.T) {
	a := start(t)
	ada, bob := a.user("ada"), a.user("bob")
	a.do("PATCH", "/user/"+ada.id, `{"is_admin":true}`, as(bob)).wants(403)
	a.do("PATCH", "/user/"+ada.id, `{"is_admin":true}`).wants(204)
	a.do("PATCH", "/user/"+bob.id, `{"is_admin":true}`, as(ada)).wants(204)
	a.do("PATCH", "/user/"+ada.id, `{"is_admin":false}`, as(bob)).wants(204)
	a.get("/user/"+ada.id, as(bob)).has(`{"is_admin":false}`)
	// Admins may remove their own admin role.
	a.do("PATCH", "/user/"+bob.id, `{"is_admin":false}`, as(bob)).wants(204)
	a.do("PATCH", "/user/"+bob.id, `{"is_admin":true}`, as(bob)).wants(403)
}

func TestPrivilegeRule4SettingIsAdminIs403(t *testing.T) {
	a := start(t)
	ada := a.user("ada")
	a.unchanged(func() {
		a.do("PATCH", "/user/"+ada.id, `{"is_admin":true}`, as(ada)).fails(403, "ADMIN_REQUIRED", "")
		a.do("POST", "/user", `{"username":"eve","password":"12345678","is_admin":true}`, as(ada)).fails(403, "ADMIN_REQUIRED", "")
	})
}

func TestPrivilegeRule5DefaultUserIsProtected(t *testing.T) {
	a := start(t)
	for _, p := range []person{a.root, a.admin("ada")} {
		a.unchanged(func() {
			a.do("PATCH", "/user/"+a.root.id, `{"is_admin":false}`, as(p)).fails(403, "DEFAULT_USER_PROTECTED", "")
			a.do("PATCH", "/user/"+a.root.id, `{"first_name":"x","is_admin":false}`, as(p)).fails(403, "DEFAULT_USER_PROTECTED", "")
			a.do("DELETE", "/user/"+a.root.id, "", as(p)).fails(403, "DEFAULT_USER_PROTECTED", "")
			a.do("PATCH", "/user/"+a.root.id, `{"is_admin":true}`, as(p)).wants(204)
		})
	}
	a.do("PATCH", "/user/"+a.root.id, `{"first_name":"Root","password":"a new password"}`).wants(204)
	a.do("POST", "/auth", credentials("default", "a new password"), anonymous).wants(200)
}

func TestPrivilegeRule6DeleteNeedsDeletePermission(t *testing.T) {
	a := start(t)
	ada, w := a.user("ada"), a.world()
	a.permit(ada, w["project"], "create read update")
	for _, path := range []string{"/parameter/" + w["parameter"], "/metric/" + w["metric"]} {
		a.unchanged(func() { a.do("DELETE", path, "", as(ada)).fails(403, "PROJECT_PERMISSION_REQUIRED", "") })
	}
	a.permit(ada, w["project"], "delete")
	for _, path := range []string{"/parameter/" + w["parameter"], "/metric/" + w["metric"]} {
		a.do("DELETE", path, "", as(ada)).wants(204)
	}
}

func TestDeletedUserLeavesWhatWasLogged(t *testing.T) {
	a := start(t)
	ada := a.user("ada")
	project := a.do("POST", "/project", `{"name":"iris"}`, as(ada)).id()
	experiment := a.do("POST", "/experiment/project/"+project, `{"name":"sweep"}`, as(ada)).id()
	iteration := a.do("POST", "/iteration/experiment/"+experiment, `{}`, as(ada)).id()
	metric := a.do("POST", "/metric/iteration/"+iteration, `{"key":"loss","value":1}`, as(ada)).id()
	a.get("/project/" + project + "/members").has(`{"total":1}`)
	a.do("DELETE", "/user/"+ada.id, "", as(ada)).wants(204)
	a.get("/project/" + project + "/members").is(pageJSON(0))
	a.get("/metric/" + metric).has(`{"value":1}`)
	a.do("POST", "/auth", credentials("ada", password), anonymous).fails(401, "INVALID_CREDENTIALS", "")
	// The name is free again. The new account has none of the old account's permissions and tokens.
	again := a.user("ada")
	a.get("/project/"+project, as(again)).fails(403, "PROJECT_PERMISSION_REQUIRED", "")
}
