package cmd

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tracker/server/web/auth"
	"tracker/store/domain"
	"tracker/store/users"
)

func TestToken(t *testing.T) {
	seeded(t)
	secret := strings.Repeat("k", 32)
	env := []string{"SERVICE_JWT_SECRET=" + secret}
	r := runMain(t, env, "", "token", "--user", "default", "--expires", "29d24h")
	token := strings.TrimSuffix(r.must(t), "\n")
	if strings.Count(token, ".") != 2 || strings.ContainsAny(token, " \n") || r.stderr != "" {
		t.Fatalf("not a token alone: %q, stderr %q", r.stdout, r.stderr)
	}

	// who returns the user for whom a server with the given secret accepts the token at the given
	// time.
	db := openDB(t)
	who := func(secret string, now time.Time) string {
		request := httptest.NewRequest("GET", "/", nil)
		request.Header.Set("Authorization", "Bearer "+token)
		a := auth.New(db, auth.Options{Enabled: true, Secret: secret, Now: func() time.Time { return now }})
		u, err := a.User(request)
		if err != nil {
			return string(domain.AsError(err).Code)
		}
		return u.Username
	}
	for _, c := range []struct {
		secret string
		after  time.Duration
		want   string
	}{
		{secret, 0, "default"},
		{secret, 719 * time.Hour, "default"},
		{secret, 721 * time.Hour, "TOKEN_EXPIRED"},
		{strings.Repeat("x", 32), 0, "TOKEN_INVALID"},
	} {
		if got := who(c.secret, time.Now().Add(c.after)); got != c.want {
			t.Errorf("after %v with the secret %.1s: %s, want %s", c.after, c.secret, got, c.want)
		}
	}
}

func TestTokenRefuses(t *testing.T) {
	seeded(t)
	strong := "SERVICE_JWT_SECRET=" + strings.Repeat("k", 32)
	runMain(t, nil, "", "token", "--user", "default").refused(t, 1, "SERVICE_JWT_SECRET")
	runMain(t, []string{"SERVICE_JWT_SECRET=change-me"}, "", "token", "--user", "default").refused(t, 1, "SERVICE_JWT_SECRET")
	runMain(t, []string{strong}, "", "token", "--user", "nobody").refused(t, 1, `"nobody"`)

	runMain(t, []string{"SERVICE_JWT_SECRET=" + strings.Repeat("k", 15)}, "", "token", "--user", "default").refused(t, 1, "SERVICE_JWT_SECRET")
	r := runMain(t, []string{"SERVICE_JWT_SECRET=" + strings.Repeat("k", 16)}, "", "token", "--user", "default")
	if r.must(t) == "" || !strings.HasPrefix(r.stderr, "tracker: warning: SERVICE_JWT_SECRET has only 16 bytes") {
		t.Errorf("a short secret is not warned of: %q", r.stderr)
	}
}

func TestTokenForWandb(t *testing.T) {
	seeded(t)
	key := strings.TrimSuffix(runMain(t, nil, "", "token", "--user", "default", "--wandb", "--name", "cluster").must(t), "\n")
	if !users.IsAPIKey(key) {
		t.Fatalf("not a key: %q", key)
	}
	if u, err := openDB(t).Users.UserOfAPIKey(t.Context(), key); err != nil || u.Username != "default" {
		t.Errorf("the key is of %v, %v", u.Username, err)
	}
	runMain(t, nil, "", "token", "--user", "default", "--wandb", "--expires", "1h", "--scope", "log").must(t)
	runMain(t, nil, "", "token", "--user", "default", "--wandb", "--scope", "all of it").refused(t, 1, "scope")
	runMain(t, nil, "", "token", "--user", "default", "--scope", "log").refused(t, 2, "--wandb")
}
