package ui_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"tracker/store/domain"
)

func TestOwnAccount(t *testing.T) {
	s := start(t, setup{auth: true})
	bob := with(s.signIn("bob"))
	s.get("/").redirects(t, "/login?next=%2F")
	s.get("/account", bob).wants(t, 200, "<bdi>bob</bdi>", `name="current"`)
	s.post("/account", url.Values{"first_name": {"Bob"}, "last_name": {"<b>Stone"}}, bob).redirects(t, "/account?saved=names")
	s.get("/account?saved=names", bob).wants(t, 200, `value="&lt;b&gt;Stone"`, "The account was saved.")
	s.get("/account?saved=%3Cscript%3E", bob).lacks(t, `data-testid="saved"`, "<script>")
	s.post("/account", url.Values{"first_name": {strings.Repeat("x", 300)}}, bob).wants(t, 422, `data-testid="wrong-first_name"`, `aria-describedby="wrong-first_name"`, "xxxx")
	// Users can't make themselves admins.
	s.post("/account", url.Values{"first_name": {"Bob"}, "is_admin": {"yes"}}, bob).redirects(t, "/account?saved=names")
	s.get("/users", bob).wants(t, 403)

	change := func(current, password, again string) answer {
		return s.post("/account/password", url.Values{"current": {current}, "password": {password}, "again": {again}}, bob)
	}
	change("wrong", "new secret", "new secret").wants(t, 422, "The current password is wrong.")
	change(password, "new secret", "other").wants(t, 422, "The new passwords differ")
	a := change(password, "short", "short")
	a.wants(t, 422, `data-testid="wrong-password"`)
	a.lacks(t, `value="short"`, password)
	change(password, "new secret", "new secret").redirects(t, "/account?saved=password")
	s.post("/login", credentials("bob", password, "/")).wants(t, 401)
	s.post("/login", credentials("bob", "new secret", "/")).redirects(t, "/")
}

func TestUsers(t *testing.T) {
	s := start(t, setup{auth: true})
	alice, bob := with(s.signIn("alice")), with(s.signIn("bob"))
	s.get("/users", alice).wants(t, 200, `class="name">bob</bdi>`, "by project")
	s.post("/users", url.Values{"username": {"bob"}, "password": {"long enough"}, "first_name": {"Bobby"}}, alice).
		wants(t, 409, `data-testid="wrong-username"`, `value="Bobby"`)
	s.post("/users", url.Values{"username": {"carol"}, "password": {"x"}}, alice).wants(t, 422, `data-testid="wrong-password"`, `value="carol"`)
	s.post("/users", url.Values{"username": {"dave"}, "password": {"long enough"}}, bob).wants(t, 403)
	s.post("/users", url.Values{"username": {"carol"}, "password": {password}}, alice).wants(t, 303)
	carol := "/user/" + s.actor("carol").UserID
	s.get(carol, bob).wants(t, 403)
	s.post(carol, url.Values{"is_admin": {"yes"}}, bob).wants(t, 403)
	s.post(carol, url.Values{"do": {"names"}, "is_admin": {"yes"}}, alice).redirects(t, carol+"?saved=names")
	s.get("/users", with(s.signIn("carol"))).wants(t, 200)
	s.post(carol, url.Values{"do": {"password"}, "password": {"another secret"}}, alice).redirects(t, carol+"?saved=password")
	s.post("/login", credentials("carol", "another secret", "/")).redirects(t, "/")
	s.post(carol, url.Values{"do": {"delete"}}, alice).redirects(t, "/users")
	s.get(carol, alice).wants(t, 404)
	s.post("/user/"+s.actor("default").UserID, url.Values{"do": {"delete"}}, alice).wants(t, 403, `data-testid="wrong-delete"`)
}

func TestMembers(t *testing.T) {
	s := start(t, setup{auth: true})
	w := s.sweep(1, 1)
	alice, bob := with(s.signIn("alice")), with(s.signIn("bob"))
	page := "/project/" + w.project + "/members"
	s.get(page, bob).wants(t, 403)
	s.post(page, url.Values{"username": {"nobody"}, "read": {"yes"}}, alice).wants(t, 422, "There is no user with this name.", `value="nobody"`)
	s.post(page, url.Values{"username": {"bob"}, "read": {"yes"}}, bob).wants(t, 403)
	s.post(page, url.Values{"username": {"bob"}, "read": {"yes"}}, alice).redirects(t, page)
	s.post(page, url.Values{"username": {"bob"}, "read": {"yes"}}, alice).wants(t, 409, "already has a permission")
	a := s.get(page, bob)
	a.wants(t, 200, `class="name">bob</bdi>`, "disabled")
	a.lacks(t, `value="save"`, `data-testid="add-member"`)

	list, err := s.db.Users.UserPermissions(t.Context(), domain.System, s.actor("bob").UserID, domain.FirstPage)
	if err != nil || len(list.Data) != 1 || list.Data[0].Update || !list.Data[0].Read {
		t.Fatalf("bob has %+v (%v)", list.Data, err)
	}
	id := list.Data[0].ID
	s.post(page, url.Values{"do": {"save"}, "permission": {id}, "read": {"yes"}, "update": {"yes"}}, alice).redirects(t, page)
	s.get("/iteration/"+w.runs[0], bob).wants(t, 200, `data-testid="edit"`)
	s.post(page, url.Values{"do": {"remove"}, "permission": {id}}, alice).redirects(t, page)
	s.get("/iteration/"+w.runs[0], bob).wants(t, 403)
}

func TestFindAsData(t *testing.T) {
	s := start(t, setup{auth: true})
	w := s.sweep(2, 1)
	var answer struct {
		Found []struct{ Kind, ID, Name, In string }
	}
	s.get("/data/find?q=RUN", with(s.signIn("alice"))).json(t, 200, &answer)
	if len(answer.Found) != 2 || answer.Found[0].ID != w.runs[1] || answer.Found[0].In != "sweep" {
		t.Errorf("found %+v", answer)
	}
	s.get("/data/find?q=run", with(s.signIn("bob"))).json(t, 200, &answer)
	if len(answer.Found) != 0 {
		t.Errorf("bob found %+v", answer)
	}
	s.get("/data/find?q=run").wants(t, 401)
}

// A key is shown only once, after its creation. Its owner can revoke it.
func TestKeys(t *testing.T) {
	s := start(t, setup{auth: true})
	bob := with(s.signIn("bob"))
	made := s.post("/account/keys", url.Values{"do": {"create"}, "name": {"clus<ter"}}, bob)
	made.wants(t, 200, `data-testid="key"`, "clus&lt;ter")
	key := regexp.MustCompile(`<code>([A-Za-z0-9]{40})</code>`).FindStringSubmatch(made.body)
	if key == nil {
		t.Fatal("no key is shown")
	}
	if u, err := s.db.Users.UserOfAPIKey(t.Context(), key[1]); err != nil || u.Username != "bob" {
		t.Fatalf("the key is of %v, %v", u.Username, err)
	}
	page := s.get("/account", bob)
	page.lacks(t, key[1])
	id := regexp.MustCompile(`name="id" value="([^"]+)"`).FindStringSubmatch(page.body)
	if id == nil {
		t.Fatal("the key is not listed")
	}
	s.post("/account/keys", url.Values{"do": {"create"}, "name": {""}}, bob).wants(t, 422, `data-testid="wrong-name"`)
	s.post("/account/keys", url.Values{"do": {"revoke"}, "id": {id[1]}}, with(s.signIn("alice"))).wants(t, 404)
	s.post("/account/keys", url.Values{"do": {"revoke"}, "id": {id[1]}}, bob).redirects(t, "/account?saved=key")
	if _, err := s.db.Users.UserOfAPIKey(t.Context(), key[1]); err == nil {
		t.Error("the key is still good")
	}
}
