package server_test

import (
	"fmt"
	"strings"
	"testing"
)

// grantJSON returns a permission as JSON. rights are separated by spaces.
func grantJSON(id string, p person, project, name, rights string) string {
	return fmt.Sprintf(`{"id":%q,"user_id":%q,"username":%q,"project_id":%q,"project_name":%q,
		"create_permission":%v,"read_permission":%v,"update_permission":%v,"delete_permission":%v}`,
		id, p.id, p.name, project, name,
		strings.Contains(rights, "create"), strings.Contains(rights, "read"),
		strings.Contains(rights, "update"), strings.Contains(rights, "delete"))
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
			grantJSON(o, owner, project, "iris", "create read update delete"),
			grantJSON(z, zoe, project, "iris", "read")))
	}
}
