package server_test

import (
	"net/http"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/users"
)

// A request without the needed permission is rejected and changes nothing. With only that
// permission it succeeds.
func TestEachPermissionMissingInTurn(t *testing.T) {
	t.Parallel()
	a := start(t)
	ada, stranger, outsider := a.user("ada"), a.user("stranger"), a.user("outsider")
	w := a.world()
	a.permit(stranger, w["other"], "create read update delete") // on another project
	for _, s := range samples {
		if !s.onProject() {
			continue
		}
		t.Run(s.name(), func(t *testing.T) {
			a := a.on(t)
			a.permit(ada, w["project"], strings.Replace("create read update delete", s.needs, "", 1))
			a.unchanged(func() {
				s.send(a, w, as(outsider)).fails(403, "PROJECT_PERMISSION_REQUIRED", "")
				s.send(a, w, as(stranger)).fails(403, "PROJECT_PERMISSION_REQUIRED", "")
				s.send(a, w, as(ada)).fails(403, "PROJECT_PERMISSION_REQUIRED", "")
				if s.method == http.MethodGet {
					s.method = http.MethodHead
					s.send(a, w, as(ada)).wants(403)
					s.method = http.MethodGet
				}
			})
			w := a.worldFor(s, w)
			a.permit(ada, w["project"], s.needs)
			s.send(a, w, as(ada)).wants(s.status)
		})
	}
}

func TestAdminRoutesRefuseOthers(t *testing.T) {
	a := start(t)
	ada := a.user("ada")
	for _, s := range samples {
		if s.needs != "admin" {
			continue
		}
		t.Run(s.name(), func(t *testing.T) {
			a, w := a.on(t), a.world()
			a.permit(ada, w["project"], "create read update delete")
			a.permit(ada, w["other"], "create read update delete")
			a.unchanged(func() { s.send(a, w, as(ada)).fails(403, "ADMIN_REQUIRED", "") })
			s.send(a, w, as(a.admin("admin of "+w["project"]))).wants(s.status)
		})
	}
}

func TestAccountRoutesAreForTheSameUserAndAdmins(t *testing.T) {
	a := start(t)
	ada, admin := a.user("ada"), a.admin("ada's admin")
	for _, s := range samples {
		if s.needs != "same user" {
			continue
		}
		t.Run(s.name(), func(t *testing.T) {
			a := a.on(t)
			for _, w := range []world{a.world(), empty()} {
				a.unchanged(func() { s.send(a, w, as(ada)).fails(403, "SAME_USER_REQUIRED", "") })
			}
			w := a.world()
			bob := a.user("bob for " + s.name())
			made, err := a.db.Users.CreateAPIKey(t.Context(), domain.System, bob.id, users.NewAPIKey{Name: "key"})
			a.must(err)
			s.send(a, world{"user": bob.id, "key": made.ID}, as(bob)).wants(s.status)
			s.send(a, w, as(admin)).wants(s.status)
		})
	}
}

// Without a token only the sign-in and the health check succeed.
func TestTokenIsNeededButForSignInAndHealth(t *testing.T) {
	a := start(t)
	w := a.world()
	for _, s := range samples {
		t.Run(s.name(), func(t *testing.T) {
			a := a.on(t)
			if open := s.route == "/auth" || s.route == "/health" || s.route == "/connection"; open != (s.needs == "") {
				t.Fatalf("%q is needed", s.needs)
			}
			if s.needs == "" {
				s.send(a, w, anonymous).wants(s.status)
				s.send(a, w, header("Authorization", "Bearer nonsense")).wants(s.status)
				return
			}
			a.unchanged(func() {
				got := s.send(a, w, anonymous).fails(401, "TOKEN_MISSING", "")
				if got.header.Get("WWW-Authenticate") != "Bearer" {
					t.Errorf("WWW-Authenticate is %q", got.header.Get("WWW-Authenticate"))
				}
				s.send(a, w, header("Authorization", "Bearer nonsense")).fails(401, "TOKEN_INVALID", "")
				s.send(a, w, header("Authorization", "Basic bm9ib2R5")).fails(401, "TOKEN_MISSING", "")
			})
		})
	}
}

// A malformed or unknown id gives 404. A caller without a token gets 401 and so does not learn
// which records exist.
func TestWhatDoesNotExistIs404(t *testing.T) {
	t.Parallel()
	a := start(t)
	ada := a.user("ada")
	for _, s := range samples {
		if !strings.Contains(s.path, "$") {
			continue
		}
		t.Run(s.name(), func(t *testing.T) {
			a := a.on(t)
			a.unchanged(func() {
				for _, id := range []string{nobody, "x", "%00", "'%20OR%201=1", strings.Repeat("9", 300), "%F0%9F%99%82", "1.2.3", "%2F", "null"} {
					w := empty()
					for name := range w {
						w[name] = id
					}
					s.send(a, w).fails(404, "NOT_FOUND", "")
					s.send(a, w, anonymous).fails(401, "TOKEN_MISSING", "")
					if s.onProject() {
						s.send(a, w, as(ada)).fails(404, "NOT_FOUND", "")
					}
				}
			})
		})
	}
}

// The id of a record of another kind gives 404.
func TestForeignIDIs404(t *testing.T) {
	t.Parallel()
	a := start(t)
	w := a.world()
	foreign := world{"user": w["project"], "project": w["experiment"], "other": w["iteration"],
		"permission": w["user"], "experiment": w["project"], "iteration": w["experiment"],
		"parameter": w["metric"], "metric": w["parameter"], "model": w["version"], "version": w["model"], "trashed": w["iteration"],
		"key": w["permission"], "maker": w["experiment"], "artifactversion": w["maker"]}
	for _, s := range samples {
		if !strings.Contains(s.path, "$") {
			continue
		}
		t.Run(s.name(), func(t *testing.T) {
			a := a.on(t)
			a.unchanged(func() { s.send(a, foreign).fails(404, "NOT_FOUND", "") })
		})
	}
}

func TestPermissionChangeHoldsAtOnce(t *testing.T) {
	a := start(t)
	ada := a.user("ada")
	project := a.project(a.root)
	path := "/project/" + project
	body := `{"description":"changed"}`
	a.get(path, as(ada)).fails(403, "PROJECT_PERMISSION_REQUIRED", "")
	grant := a.do("POST", "/userpermission/user/"+ada.id+"/project/"+project, `{"update_permission":true}`).id()
	a.get(path, as(ada)).wants(200)
	a.do("PATCH", path, body, as(ada)).wants(204)
	a.do("PATCH", "/userpermission/"+grant, `{"update_permission":false}`).wants(204)
	a.do("PATCH", path, body, as(ada)).fails(403, "PROJECT_PERMISSION_REQUIRED", "")
	a.get(path, as(ada)).wants(200)
	a.do("DELETE", "/userpermission/"+grant, "").wants(204)
	a.get(path, as(ada)).fails(403, "PROJECT_PERMISSION_REQUIRED", "")
}

// The writer caches who may write points. Revoking a permission takes effect at once anyway.
func TestPointsAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(a api, ada person, w world)
		status int
		code   string
	}{
		{"permission taken", func(a api, ada person, w world) { a.permit(ada, w["project"], "read update delete") }, 403, "PROJECT_PERMISSION_REQUIRED"},
		{"user deleted", func(a api, ada person, _ world) { a.do("DELETE", "/user/"+ada.id, "").wants(204) }, 401, "TOKEN_INVALID"},
		{"iteration ended", func(a api, _ person, w world) { a.end(w["iteration"]) }, 422, "ITERATION_ENDED"},
		{"iteration deleted", func(a api, _ person, w world) { a.do("DELETE", "/iteration/"+w["iteration"], "").wants(204) }, 404, "NOT_FOUND"},
		{"experiment deleted", func(a api, _ person, w world) { a.do("DELETE", "/experiment/"+w["experiment"], "").wants(204) }, 404, "NOT_FOUND"},
		{"project deleted", func(a api, _ person, w world) { a.do("DELETE", "/project/"+w["project"], "").wants(204) }, 404, "NOT_FOUND"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := start(t)
			ada, w := a.user("ada"), a.world()
			a.permit(ada, w["project"], "create")
			path := "/metric/iteration/" + w["iteration"]
			a.do("POST", path, `{"key":"loss","value":1}`, as(ada)).wants(201)
			a.do("POST", path+"/batch", `{"metrics":{"loss":1}}`, as(ada)).wants(201)
			tt.change(a, ada, w)
			a.collect()
			a.unchanged(func() {
				a.do("POST", path, `{"key":"loss","value":1}`, as(ada)).fails(tt.status, tt.code, "")
				a.do("POST", path+"/batch", `{"metrics":{"loss":1}}`, as(ada)).fails(tt.status, tt.code, "")
			})
		})
	}
}

func TestPointsOfOneUserOpenNothingForAnother(t *testing.T) {
	a := start(t)
	ada, eve, w := a.user("ada"), a.user("eve"), a.world()
	a.permit(ada, w["project"], "create")
	path := "/metric/iteration/" + w["iteration"]
	a.do("POST", path, `{"key":"loss","value":1}`, as(ada)).wants(201)
	a.unchanged(func() {
		a.do("POST", path, `{"key":"loss","value":1}`, as(eve)).fails(403, "PROJECT_PERMISSION_REQUIRED", "")
		a.do("POST", path+"/batch", `{"metrics":{"loss":1}}`, as(eve)).fails(403, "PROJECT_PERMISSION_REQUIRED", "")
	})
	a.do("POST", path, `{"key":"loss","value":1}`, as(ada)).wants(201)
}

func TestDemotedAdminLosesAccessAtOnce(t *testing.T) {
	a := start(t)
	eve, w := a.admin("eve"), a.world()
	path := "/metric/iteration/" + w["iteration"]
	a.get("/user", as(eve)).wants(200)
	a.do("POST", path, `{"key":"loss","value":1}`, as(eve)).wants(201)
	a.do("PATCH", "/user/"+eve.id, `{"is_admin":false}`).wants(204)
	a.unchanged(func() {
		a.get("/user", as(eve)).fails(403, "ADMIN_REQUIRED", "")
		a.get("/project/"+w["project"], as(eve)).fails(403, "PROJECT_PERMISSION_REQUIRED", "")
		a.do("POST", path, `{"key":"loss","value":1}`, as(eve)).fails(403, "PROJECT_PERMISSION_REQUIRED", "")
		a.do("PATCH", "/user/"+eve.id, `{"is_admin":true}`, as(eve)).fails(403, "ADMIN_REQUIRED", "")
	})
	a.get("/auth/me", as(eve)).has(`{"is_admin":false}`)
}

func TestDeletedUserLosesAccessAtOnce(t *testing.T) {
	t.Parallel()
	a := start(t)
	w := a.world()
	for _, s := range samples {
		if s.needs == "" {
			continue
		}
		t.Run(s.name(), func(t *testing.T) {
			a := a.on(t)
			eve := a.admin("eve")
			a.get("/auth/me", as(eve)).wants(200)
			a.do("DELETE", "/user/"+eve.id, "").wants(204)
			a.unchanged(func() { s.send(a, w, as(eve)).fails(401, "TOKEN_INVALID", "") })
		})
	}
}
