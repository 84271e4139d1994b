package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"
)

type session struct {
	AccessToken string `json:"access_token"`
	ExpiresAt   int64  `json:"expires_at"`
}

func (r answer) session() session {
	r.t.Helper()
	r.wants(http.StatusOK)
	var s session
	if err := json.Unmarshal([]byte(r.body), &s); err != nil {
		r.t.Fatal(err)
	}
	return s
}

func credentials(username, password string) string {
	return fmt.Sprintf(`{"username":%q,"password":%q}`, username, password)
}

// sessionJSON returns the expected response to a sign-in.
func (a api) sessionJSON(p person, expires time.Time) string {
	return fmt.Sprintf(`{"access_token":"<any>","token_type":"Bearer","expires_at":%d,"user":%s}`,
		expires.Unix(), a.get("/user/"+p.id).body)
}

func TestTokenFlow1SignInGivesToken(t *testing.T) {
	a := start(t)
	ada := a.user("ada")
	got := a.do("POST", "/auth", credentials("ada", password), anonymous)
	got.is(a.sessionJSON(ada, a.clock.now().Add(24*time.Hour)))
	if got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("Cache-Control is %q", got.header.Get("Cache-Control"))
	}
}

func TestTokenFlow2TokenOpensLaterRequests(t *testing.T) {
	a := start(t)
	ada := a.user("ada")
	ada.token = a.do("POST", "/auth", credentials("ada", password), anonymous).session().AccessToken
	for range 3 {
		a.get("/auth/me", as(ada)).has(`{"username":"ada"}`)
	}
	a.get("/auth/me", header("Authorization", "bearer "+ada.token)).has(`{"username":"ada"}`)
}

func TestTokenFlow3TokenExpiresAfter24Hours(t *testing.T) {
	a := start(t)
	ada := a.user("ada")
	a.clock.move(24*time.Hour - time.Second)
	a.get("/auth/me", as(ada)).wants(200)
	a.clock.move(time.Second)
	got := a.get("/auth/me", as(ada)).fails(401, "TOKEN_EXPIRED", "")
	if got.header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("WWW-Authenticate is %q", got.header.Get("WWW-Authenticate"))
	}
}

func TestTokenFlow4RefreshGivesFreshToken(t *testing.T) {
	a := start(t)
	ada := a.user("ada")
	a.clock.move(23 * time.Hour)
	got := a.do("POST", "/auth/refresh", "", as(ada))
	got.is(a.sessionJSON(ada, a.clock.now().Add(24*time.Hour)))
	fresh := person{token: got.session().AccessToken}
	if fresh.token == ada.token {
		t.Error("the token is the old one")
	}
	a.clock.move(2 * time.Hour)
	a.do("POST", "/auth/refresh", "", as(ada)).fails(401, "TOKEN_EXPIRED", "")
	a.get("/auth/me", as(ada)).fails(401, "TOKEN_EXPIRED", "")
	a.get("/auth/me", as(fresh)).has(`{"username":"ada"}`)
}

func TestTokenFlow5MeIsTheUserBehindTheToken(t *testing.T) {
	a := start(t)
	ada := a.user("ada")
	for _, p := range []person{ada, a.root} {
		got := a.get("/auth/me", as(p))
		got.is(a.get("/user/" + p.id).body)
		got.has(fmt.Sprintf(`{"id":%q,"username":%q,"is_admin":%v}`, p.id, p.name, p == a.root))
	}
	a.do("PATCH", "/user/"+ada.id, `{"first_name":"Ada","is_admin":true}`).wants(204)
	a.get("/auth/me", as(ada)).has(`{"first_name":"Ada","is_admin":true}`)
}

func TestTokenFlow6ServerKeepsNoSessions(t *testing.T) {
	a := start(t)
	ada := a.user("ada")
	first := a.do("POST", "/auth", credentials("ada", password), anonymous).session()
	a.clock.move(time.Minute)
	second := a.do("POST", "/auth", credentials("ada", password), anonymous).session()
	a.do("POST", "/auth/refresh", "", as(person{token: second.AccessToken})).wants(200)
	a.do("PATCH", "/user/"+ada.id, `{"password":"another password"}`, as(ada)).wants(204)
	a.reopen()
	for _, s := range []session{first, second} {
		a.get("/auth/me", as(person{token: s.AccessToken})).has(`{"username":"ada"}`)
	}
}

func TestSignInDoesNotTellWhatIsWrong(t *testing.T) {
	a := start(t)
	a.user("ada")
	wrong := a.do("POST", "/auth", credentials("ada", "wrong password"), anonymous).fails(401, "INVALID_CREDENTIALS", "")
	unknown := a.do("POST", "/auth", credentials("nobody", password), anonymous).fails(401, "INVALID_CREDENTIALS", "")
	if wrong.body != unknown.body {
		t.Errorf("a wrong password gets %s, an unknown name %s", wrong.body, unknown.body)
	}
	if got := wrong.header.Get("WWW-Authenticate"); got != "Bearer" {
		t.Errorf("WWW-Authenticate is %q", got)
	}
	// Names are case-sensitive.
	a.do("POST", "/auth", credentials("Ada", password), anonymous).fails(401, "INVALID_CREDENTIALS", "")
}

func TestTenFailedSignInsAreEnough(t *testing.T) {
	a := start(t)
	a.user("ada")
	a.user("bob")
	for range 10 {
		a.do("POST", "/auth", credentials("ada", "wrong password"), anonymous).fails(401, "INVALID_CREDENTIALS", "")
	}
	got := a.do("POST", "/auth", credentials("ada", password), anonymous).fails(429, "RATE_LIMITED", "")
	if got.header.Get("Retry-After") != "60" {
		t.Errorf("Retry-After is %q", got.header.Get("Retry-After"))
	}
	a.do("POST", "/auth", credentials("bob", password), anonymous).wants(200)
	a.clock.move(time.Minute)
	a.do("POST", "/auth", credentials("ada", password), anonymous).wants(200)
}

// Without authentication every caller is the default admin, whatever headers it sends.
func TestAuthOffRunsAsDefaultUser(t *testing.T) {
	t.Parallel()
	a := startWith(t, setup{open: true})
	w := a.world()
	for _, s := range samples {
		t.Run(s.name(), func(t *testing.T) {
			a := a.on(t)
			s.send(a, a.worldFor(s, w)).wants(s.status)
			s.send(a, a.worldFor(s, w), header("Authorization", "Bearer nonsense")).wants(s.status)
		})
	}
	ada := a.user("ada")
	for _, o := range []opt{anonymous, as(ada), header("Authorization", "Basic x")} {
		a.get("/auth/me", o).has(`{"username":"default","is_admin":true}`)
	}
	project := a.do("POST", "/project", `{"name":"iris"}`).id()
	a.get("/project/" + project + "/members").has(`{"data":[{"username":"default","create_permission":true}]}`)
}

func TestAuthOffSignInStillChecks(t *testing.T) {
	a := startWith(t, setup{open: true})
	ada := a.user("ada")
	a.do("POST", "/auth", credentials("ada", password)).is(a.sessionJSON(ada, a.clock.now().Add(24*time.Hour)))
	a.do("POST", "/auth", credentials("ada", "wrong password")).fails(401, "INVALID_CREDENTIALS", "")
	a.do("POST", "/auth", credentials("nobody", password)).fails(401, "INVALID_CREDENTIALS", "")
	a.do("POST", "/auth", `{"username":"ada"}`).fails(422, "INVALID_PAYLOAD", "password")
	a.do("POST", "/auth/refresh", "").has(`{"user":{"username":"default"}}`)
}

func TestHealth(t *testing.T) {
	a := start(t)
	want := `{"status":"ok","app_name":"tracker","version":"` + version + `","server_time":%q}`
	a.get("/health", anonymous).is(fmt.Sprintf(want, nowText))
	a.clock.move(90 * time.Minute)
	a.get("/health", anonymous).is(fmt.Sprintf(want, "2026-11-21T11:00:00.123Z"))
}
