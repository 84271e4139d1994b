package server_test

import (
	"net/http"
	"testing"
	"time"

	"tracker/store/domain"
)

// identity is a kind of caller: a user with rights in the project of the world, an admin, or a
// caller whose token is rejected with code.
type identity struct {
	name   string
	rights string
	admin  bool
	self   bool   // the caller is the user in the world
	code   string // error code of a rejected token, "" if the token is valid
	opt    opt    // sets the token, nil for ada's token
}

// identities returns all kinds of callers.
func identities(a api) []identity {
	gone := a.user("gone")
	a.must(a.db.Users.DeleteUser(a.t.Context(), domain.System, gone.id))
	foreign := a.user("foreign")
	foreign.token = foreign.token[:len(foreign.token)-4] + "AAAA"
	u, err := a.db.Users.User(a.t.Context(), domain.System, a.user("late").id)
	a.must(err)
	expired := a.person(u, -time.Minute)
	return []identity{
		{name: "nobody", code: "TOKEN_MISSING", opt: anonymous},
		{name: "nonsense", code: "TOKEN_INVALID", opt: header("Authorization", "Bearer nonsense")},
		{name: "cookie", code: "TOKEN_MISSING", opt: func(r *request) {
			anonymous(r)
			r.AddCookie(&http.Cookie{Name: "tracker_token", Value: a.root.token})
		}},
		{name: "forged", code: "TOKEN_INVALID", opt: as(foreign)},
		{name: "expired", code: "TOKEN_EXPIRED", opt: as(expired)},
		{name: "deleted", code: "TOKEN_INVALID", opt: as(gone)},
		{name: "outsider"},
		{name: "reader", rights: "read"},
		{name: "creator", rights: "create"},
		{name: "updater", rights: "update"},
		{name: "deleter", rights: "delete"},
		{name: "member", rights: "create read update delete"},
		{name: "self", self: true},
		{name: "admin", admin: true},
	}
}

// refusal returns the status and code with which the server must reject the sample from this
// caller, or 0 if the sample must succeed.
func (i identity) refusal(s sample) (status int, code string) {
	switch {
	case s.needs == "":
		return 0, ""
	case i.code != "":
		return http.StatusUnauthorized, i.code
	case i.admin || s.needs == "token":
		return 0, ""
	case s.needs == "admin":
		return http.StatusForbidden, "ADMIN_REQUIRED"
	case s.needs == "same user":
		if i.self {
			return 0, ""
		}
		return http.StatusForbidden, "SAME_USER_REQUIRED"
	case s.allowedBy(i.rights):
		return 0, ""
	}
	return http.StatusForbidden, "PROJECT_PERMISSION_REQUIRED"
}

// For every kind of caller, every route responds as its sample specifies. TestSamplesHaveEveryRoute
// fails for a route without a sample.
func TestRoutesByIdentity(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	a := start(t)
	all := identities(a)
	ada := a.user("ada")
	common := a.world()
	// option returns how a caller of this kind signs its requests. It gives the caller its rights in the world.
	option := func(a api, i identity, w world) opt {
		caller := ada
		switch {
		case i.admin:
			caller = a.root
		case i.self:
			u, err := a.db.Users.User(a.t.Context(), domain.System, w["user"])
			a.must(err)
			caller = a.person(u, time.Hour)
			a.permit(caller, w["project"], "")
		default:
			a.permit(ada, w["project"], i.rights)
		}
		if i.opt != nil {
			return i.opt
		}
		return as(caller)
	}
	for _, i := range all { // first, while nothing changes the database, so that a.unchanged seldom reads all of it
		t.Run(i.name, func(t *testing.T) {
			a := a.on(t)
			o := option(a, i, common)
			for _, s := range samples {
				if status, code := i.refusal(s); status != 0 {
					t.Run(s.name(), func(t *testing.T) {
						a := a.on(t)
						a.unchanged(func() { s.send(a, common, o).fails(status, code, "") })
					})
				}
			}
		})
	}
	for _, s := range samples {
		t.Run(s.name(), func(t *testing.T) {
			a := a.on(t)
			for _, i := range all {
				if status, _ := i.refusal(s); status == 0 {
					w := a.worldFor(s, common)
					s.send(a, w, option(a, i, w)).wants(s.status)
				}
			}
		})
	}
}
