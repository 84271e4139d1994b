package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/users"
)

// grantJSON returns a permission as JSON. rights are separated by spaces.
func grantJSON(id string, p person, project, name, rights string) string {
	return fmt.Sprintf(`{"id":%q,"user_id":%q,"username":%q,"project_id":%q,"project_name":%q,
		"create_permission":%v,"read_permission":%v,"update_permission":%v,"delete_permission":%v,"owner":%v}`,
		id, p.id, p.name, project, name,
		strings.Contains(rights, "create"), strings.Contains(rights, "read"),
		strings.Contains(rights, "update"), strings.Contains(rights, "delete"), strings.Contains(rights, "owner"))
}

func TestPermissionHappyPath(t *testing.T) {
	a := start(t)
	ada, project := a.user("ada"), a.project(a.root)
	path := "/userpermission/user/" + ada.id + "/project/" + project
	a.get(path).fails(404, "NOT_FOUND", "")
	created := a.do("POST", path, `{"create_permission":true,"update_permission":true}`)
	id := created.id()
	created.located(path).is(`{"id":"` + id + `"}`)
	a.get(path).is(grantJSON(id, ada, project, "iris", "create read update"))
	a.unchanged(func() { a.do("POST", path, `{}`).fails(409, "CONFLICT", "") })

	change := "/userpermission/" + id
	a.do("PATCH", change, `{"create_permission":false,"delete_permission":true}`).wants(204)
	a.get(path).is(grantJSON(id, ada, project, "iris", "read update delete"))
	a.unchanged(func() {
		a.do("PATCH", change, `{}`).wants(204)
		a.do("PATCH", change, `{"read_permission":null}`).wants(204)
		a.do("PATCH", change, `{"read_permission":true}`).wants(204)
	})
	a.do("DELETE", change, "").wants(204)
	a.get(path).fails(404, "NOT_FOUND", "")
	a.do("DELETE", change, "").fails(404, "NOT_FOUND", "")
	a.do("PATCH", change, `{}`).fails(404, "NOT_FOUND", "")
	a.do("POST", path, `{}`).wants(201)
}

func TestPermissionIsReadOnlyByDefault(t *testing.T) {
	a := start(t)
	ada := a.user("ada")
	for body, rights := range map[string]string{
		``:   "read",
		`{}`: "read",
		`{"read_permission":null,"create_permission":null}`: "read",
		`{"read_permission":false}`:                         "",
		`{"create_permission":true}`:                        "create read",
		`{"create_permission":true,"read_permission":false,"update_permission":true,"delete_permission":true}`: "create update delete",
	} {
		project := a.project(a.root)
		path := "/userpermission/user/" + ada.id + "/project/" + project
		id := a.do("POST", path, body).id()
		a.get(path).is(grantJSON(id, ada, project, "iris", rights))
	}
}

func TestPermissionNeedsUserAndProject(t *testing.T) {
	a := start(t)
	ada, project := a.user("ada"), a.project(a.root)
	a.do("POST", "/userpermission/user/"+nobody+"/project/"+project, `{}`).fails(404, "NOT_FOUND", "")
	a.do("POST", "/userpermission/user/"+ada.id+"/project/"+nobody, `{}`).fails(404, "NOT_FOUND", "")
	a.get("/userpermission/user/"+nobody+"/project/"+project).fails(404, "NOT_FOUND", "")
	a.get("/userpermission/user/"+ada.id+"/project/"+nobody).fails(404, "NOT_FOUND", "")
}

func TestPermissionsAreListedByProjectName(t *testing.T) {
	a := start(t)
	ada := a.user("ada")
	a.get("/user/"+ada.id+"/permissions", as(ada)).is(pageJSON(0))
	var want []string
	grants := map[string]string{}
	for _, name := range []string{"pine", "acorn", "moss"} {
		project := a.do("POST", "/project", fmt.Sprintf(`{"name":%q}`, name)).id()
		id := a.permit(ada, project, "read update")
		grants[name] = grantJSON(id, ada, project, name, "read update")
	}
	for _, name := range []string{"acorn", "moss", "pine"} {
		want = append(want, grants[name])
	}
	a.get("/user/"+ada.id+"/permissions", as(ada)).is(pageJSON(3, want...))
	a.get("/user/" + ada.id + "/permissions").is(pageJSON(3, want...))
	a.get("/user/"+nobody+"/permissions").fails(404, "NOT_FOUND", "")
}

func TestMembersAreListedByUserName(t *testing.T) {
	a := start(t)
	owner, zoe, bob := a.user("owner"), a.user("zoe"), a.user("bob")
	project := a.project(owner)
	z, b := a.permit(zoe, project, "read"), a.permit(bob, project, "create read")
	o := a.permit(owner, project, "create read update delete")
	for _, p := range []person{owner, zoe, a.root} {
		a.get("/project/"+project+"/members", as(p)).is(pageJSON(3,
			grantJSON(b, bob, project, "iris", "create read"),
			grantJSON(o, owner, project, "iris", "create read update delete owner"),
			grantJSON(z, zoe, project, "iris", "read")))
	}
}

// An owner shares a project, makes others owners, and can't leave as the last owner. Members can't
// share.
func TestOwnersShare(t *testing.T) {
	a := start(t)
	ada, bob, eve := a.user("ada"), a.user("bob"), a.user("eve")
	project := a.do("POST", "/project", `{"name":"vision"}`, as(ada)).id()
	members := "/project/" + project + "/members"
	b := a.do("POST", members, `{"username":"bob"}`, as(ada)).wants(201).id()
	a.get("/project/"+project, as(bob)).wants(200)
	limited := as(a.keyOf(ada, users.NewAPIKey{Scope: new(users.KeyLog)}))
	a.unchanged(func() {
		a.do("POST", members, `{"username":"eve"}`, as(bob)).fails(403, "ADMIN_REQUIRED", "")
		a.do("PATCH", "/userpermission/"+b, `{"owner":true}`, as(bob)).fails(403, "ADMIN_REQUIRED", "")
		a.do("DELETE", "/userpermission/"+b, "", as(eve)).fails(403, "ADMIN_REQUIRED", "")
		a.do("POST", members, `{"username":"nobody"}`, as(ada)).fails(422, "INVALID_PAYLOAD", "username")
		a.do("POST", members, `{"username":"ada","owner":false}`, as(ada)).fails(409, "CONFLICT", "")
		a.do("POST", members, `{"username":"eve"}`, limited).fails(403, "ADMIN_REQUIRED", "")
	})
	a.do("POST", members, `{"username":"bob","create_permission":true,"owner":true}`, as(ada)).wants(200)
	var own string
	for _, p := range a.members(project) {
		if p.UserID == ada.id {
			own = p.ID
		}
	}
	a.do("DELETE", "/userpermission/"+own, "", as(ada)).wants(204)
	a.unchanged(func() { a.do("DELETE", "/userpermission/"+b, "", as(bob)).fails(409, "CONFLICT", "") })
	a.do("DELETE", "/userpermission/"+b, "").wants(204)
	a.get("/project/"+project, as(bob)).fails(403, "PROJECT_PERMISSION_REQUIRED", "")
}

// members returns the permissions in a project.
func (a api) members(project string) []domain.Permission {
	a.t.Helper()
	l, err := a.db.Users.ProjectMembers(a.t.Context(), domain.System, project, domain.FirstPage)
	a.must(err)
	return l.Data
}

// A name never leads into a project that the caller was not given, also for an admin. Otherwise bob
// could read what an admin logs to a project of this name.
func TestNamesLeadOnlyIntoGivenProjects(t *testing.T) {
	a := start(t)
	ada, bob := a.user("ada"), a.user("bob")
	bobs := a.do("POST", "/project", `{"name":"vision"}`, as(bob)).id()
	found := func(p person) string {
		t.Helper()
		var page struct{ Data []struct{ ID string } }
		a.must(json.Unmarshal([]byte(a.get("/project?name=vision&given=true", as(p)).wants(200).body), &page))
		var ids []string
		for _, r := range page.Data {
			ids = append(ids, r.ID)
		}
		return strings.Join(ids, " ")
	}
	named := func(p person) string {
		t.Helper()
		id, err := a.db.Projects.ProjectNamed(t.Context(), p.actor(), "vision")
		if err != nil && domain.AsError(err).Code != domain.CodeNotFound {
			t.Fatal(err)
		}
		return id
	}
	for _, p := range []person{ada, a.root} {
		if found(p) != "" || named(p) != "" {
			t.Errorf("%s finds the project of bob", p.name)
		}
	}
	id, err := a.db.Projects.EnsureProject(t.Context(), a.root.actor(), domain.NewProject{Name: "vision"})
	a.must(err)
	if id == bobs || found(a.root) != id || named(a.root) != id {
		t.Error("the admin logs to the project of bob")
	}
	if named(bob) != bobs || found(bob) != bobs {
		t.Error("bob does not find his project")
	}
	a.do("POST", "/project/"+bobs+"/members", `{"username":"ada"}`, as(bob)).wants(201)
	if named(ada) != bobs {
		t.Error("ada does not find the shared project")
	}
	own := a.do("POST", "/project", `{"name":"vision"}`, as(ada)).id()
	if named(ada) != own || found(ada) != own+" "+bobs {
		t.Errorf("ada finds %s", found(ada))
	}
	// A project without members is left to the admins.
	a.must(a.db.Users.DeleteUser(t.Context(), domain.System, bob.id))
	a.do("POST", "/project/"+bobs+"/members", `{"username":"ada","read_permission":false}`).wants(200)
	for _, m := range a.members(bobs) {
		a.do("DELETE", "/userpermission/"+m.ID, "").wants(204)
	}
	if found(a.root) != id+" "+bobs && found(a.root) != bobs+" "+id {
		t.Errorf("the admin finds %s", found(a.root))
	}
	a.get("/project?given=yes").fails(422, "INVALID_PAYLOAD", "given")
}
