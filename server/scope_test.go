package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tracker/store/domain"
	"tracker/store/scalar"
	"tracker/store/users"
)

// keyOf creates an API key and returns its owner with the key as the token.
func (a api) keyOf(p person, n users.NewAPIKey) person {
	a.t.Helper()
	if n.Name == "" {
		n.Name = "k"
	}
	made, err := a.db.Users.CreateAPIKey(a.t.Context(), domain.System, p.id, n)
	a.must(err)
	p.token = made.Key
	return p
}

// scopedKey is a kind of limited key in the test of all routes.
type scopedKey struct {
	name    string
	scope   users.KeyScope
	project string // name of the key's project in the world, "" for all
}

// found holds the routes with which a key that is limited to logging finds the place of a run.
var found = []string{"GET /project/{id}", "GET /experiment/{id}", "GET /experiment/project/{project_id}"}

// refusal returns the status and code with which the server must reject the sample from a key of an
// account with all rights, or 0 if the sample must succeed. self reports whether the account is the
// user in the world.
func (k scopedKey) refusal(s sample, self bool) (status int, code string) {
	const other, project = "SAME_USER_REQUIRED", "PROJECT_PERMISSION_REQUIRED"
	permitted := map[users.KeyScope]string{users.KeyAll: "create read update delete", users.KeyRead: "read", users.KeyLog: "create"}[k.scope]
	switch {
	case s.needs == "":
		return 0, ""
	case s.route == "/auth/refresh": // for tokens only
		return http.StatusUnauthorized, "TOKEN_INVALID"
	case s.method+" "+s.route == "POST /project":
		if k.scope == users.KeyRead || k.project != "" {
			return http.StatusForbidden, project
		}
		return 0, ""
	case s.needs == "token":
		return 0, ""
	case s.needs == "admin":
		return http.StatusForbidden, "ADMIN_REQUIRED"
	case s.needs == "same user":
		if self && k.scope == users.KeyRead && k.project == "" && s.method == http.MethodGet {
			return 0, ""
		}
		return http.StatusForbidden, other
	case k.project == "other":
		return http.StatusForbidden, project
	case s.allowedBy(permitted), k.scope == users.KeyLog && slices.Contains(found, s.method+" "+s.route):
		return 0, ""
	}
	return http.StatusForbidden, project
}

// Every route rejects a limited key, of an admin and of a member with all rights, for all that is
// beyond the limits of the key.
func TestRoutesByKeyScope(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	a := start(t)
	common := a.world()
	scopes := []scopedKey{
		{"read", users.KeyRead, ""},
		{"log", users.KeyLog, ""},
		{"project", users.KeyAll, "project"},
		{"other project", users.KeyAll, "other"},
		{"read in other project", users.KeyRead, "other"},
	}
	// caller returns the option for requests with a new key of an admin, or of a member with all rights.
	caller := func(a api, k scopedKey, self bool, w world) opt {
		owner := a.root
		if self {
			u, err := a.db.Users.User(a.t.Context(), domain.System, w["user"])
			a.must(err)
			owner = a.person(u, time.Hour)
			a.permit(owner, w["project"], "create read update delete")
			a.permit(owner, w["other"], "create read update delete")
		}
		n := users.NewAPIKey{Scope: &k.scope}
		if k.project != "" {
			n.ProjectID = new(w[k.project])
		}
		return as(a.keyOf(owner, n))
	}
	selves := func(k scopedKey) []bool {
		if k.project != "" {
			return []bool{false} // the rule is the same for admins and members
		}
		return []bool{false, true}
	}
	for _, k := range scopes { // first, while nothing changes the database, so that a.unchanged seldom reads all of it
		for _, self := range selves(k) {
			t.Run(fmt.Sprintf("%s, member %t", k.name, self), func(t *testing.T) {
				a := a.on(t)
				o := caller(a, k, self, common)
				for _, s := range samples {
					if status, code := k.refusal(s, self); status != 0 {
						t.Run(s.name(), func(t *testing.T) {
							a := a.on(t)
							a.unchanged(func() { s.send(a, common, o).fails(status, code, "") })
						})
					}
				}
			})
		}
	}
	for _, s := range samples {
		t.Run(s.name(), func(t *testing.T) {
			a := a.on(t)
			for _, k := range scopes {
				for _, self := range selves(k) {
					if status, _ := k.refusal(s, self); status == 0 {
						w := common
						if self || s.method != http.MethodGet {
							w = a.world()
						}
						s.send(a, w, caller(a, k, self, w)).wants(s.status)
					}
				}
			}
		})
	}
}

func TestExpiredKey(t *testing.T) {
	a := start(t)
	ada := a.user("ada")
	until := scalar.TimeOf(a.clock.now().Add(time.Hour))
	k := a.keyOf(ada, users.NewAPIKey{ExpiresDate: &until})
	a.get("/auth/me", as(k)).wants(200)
	a.clock.move(time.Hour)
	if got := a.get("/auth/me", as(k)).fails(401, "TOKEN_EXPIRED", ""); !strings.Contains(got.body, "The API key has expired") {
		t.Error(got.body)
	}
}

// A key that is limited to logging finds the project, logs a run and reads its own run, but no
// other run.
func TestLoggingKey(t *testing.T) {
	a := start(t)
	ada := a.user("ada")
	project := a.do("POST", "/project", `{"name":"vision"}`, as(ada)).id()
	experiment := a.do("POST", "/experiment/project/"+project, `{"name":"e"}`, as(ada)).id()
	theirs := a.do("POST", "/iteration/experiment/"+experiment, `{"name":"a"}`, as(ada)).id()
	key := as(a.keyOf(ada, users.NewAPIKey{Name: "job", Scope: new(users.KeyLog)}))
	sibling := as(a.keyOf(ada, users.NewAPIKey{Name: "other job", Scope: new(users.KeyLog)}))

	if got := a.get("/project?name=vision", key).wants(200); !strings.Contains(got.body, project) {
		t.Error(got.body)
	}
	if got := a.get("/experiment/project/"+project+"?name=e", key).wants(200); !strings.Contains(got.body, experiment) {
		t.Error(got.body)
	}
	own := a.do("POST", "/iteration/experiment/"+experiment, `{"name":"b"}`, key).id()
	a.do("POST", "/metric/iteration/"+own, `{"key":"loss","value":0.5}`, key).wants(201)
	a.do("PATCH", "/property/iteration/"+own, `{"properties":{"k":"v"}}`, key).wants(204)
	a.do("PATCH", "/property/iteration/"+own, `{"properties":{"k":"w"}}`, key).wants(204)
	a.get("/iteration/"+own, key).wants(200)
	a.get("/iteration/"+own+"/summary", key).wants(200)
	a.do("POST", "/iteration/"+own+"/heartbeat", "", key).wants(204)
	a.do("PATCH", "/iteration/"+own, `{"status":"SUCCEEDED"}`, key).wants(204)
	a.unchanged(func() {
		const denied = "PROJECT_PERMISSION_REQUIRED"
		a.do("DELETE", "/iteration/"+own, "", key).fails(403, denied, "")
		a.get("/iteration/"+own, sibling).fails(403, denied, "")
		a.do("PATCH", "/iteration/"+own, `{"status":"FAILED"}`, sibling).fails(403, denied, "")
		a.get("/iteration/"+theirs, key).fails(403, denied, "")
		a.get("/iteration/experiment/"+experiment, key).fails(403, denied, "")
		a.do("POST", "/series", `{"iterations":["`+theirs+`"]}`, key).fails(403, denied, "")
		a.get("/project/"+project+"/archive", key).fails(403, denied, "")
	})
	a.permit(ada, project, "create read")
	a.unchanged(func() {
		a.do("PATCH", "/iteration/"+own, `{"status":"FAILED"}`, key).fails(403, "PROJECT_PERMISSION_REQUIRED", "")
	})
}
