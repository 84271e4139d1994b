package auth_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"tracker/server/web"
	"tracker/server/web/auth"
	"tracker/store/domain"
	"tracker/store/users"
)

func TestSignInRefusesEveryWrongPairAlike(t *testing.T) {
	f := newFixture(t, true)
	long := strings.Repeat("x", domain.MaxPassword)
	if err := f.db.Users.UpdateUser(t.Context(), domain.System, f.ada.ID, users.UserPatch{Password: &long}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.SignIn(t.Context(), "ada", long, "a"); err != nil {
		t.Fatal(err)
	}
	_, want := f.SignIn(t.Context(), "ada", "wrong", "a")
	wantCode(t, want, domain.CodeInvalidCredentials)
	for _, pair := range [][2]string{
		{"nobody", long},
		{"Ada", long},
		{"ada ", long},
		{"ada\x00", long},
		{"ada' OR 1=1 --", long},
		{"ada", ""},
		{"ada", password},
		{"ada", long + "x"}, // bcrypt alone would ignore the last byte
		{"ada", long[:len(long)-1]},
		{"ada", strings.Repeat("y", 1<<20)},
		{"", ""},
		{strings.Repeat("n", 1<<20), "p"},
		{"\xff\xfe", "\xff"},
	} {
		g, err := f.SignIn(t.Context(), pair[0], pair[1], "b")
		wantCode(t, err, domain.CodeInvalidCredentials)
		if err == nil || err.Error() != want.Error() || g != (auth.Grant{}) {
			t.Errorf("%.20q gives %v, %+v; a wrong password gives %v", pair[0], err, g, want)
		}
	}
}

// bcryptRuns returns how often fn sets up the cipher that makes bcrypt slow. It counts the
// allocations of this function in the memory profile.
func bcryptRuns(fn func()) int64 {
	count := func() (n int64) {
		runtime.GC() // the memory profile is up to two collections behind
		runtime.GC()
		records := make([]runtime.MemProfileRecord, 4096)
		size, ok := runtime.MemProfile(records, true)
		for !ok {
			records = make([]runtime.MemProfileRecord, 2*size)
			size, ok = runtime.MemProfile(records, true)
		}
		for _, r := range records[:size] {
			frames := runtime.CallersFrames(r.Stack())
			for more := true; more; {
				var frame runtime.Frame
				frame, more = frames.Next()
				if strings.HasSuffix(frame.Function, "blowfish.NewSaltedCipher") {
					n += r.AllocObjects
					break
				}
			}
		}
		return n
	}
	before := count()
	fn()
	return count() - before
}

func TestUnknownUserCostsAsMuchAsWrongPassword(t *testing.T) {
	rate := runtime.MemProfileRate
	runtime.MemProfileRate = 1 // record every allocation
	defer func() { runtime.MemProfileRate = rate }()
	f := newFixture(t, true)
	try := func(name, password string) func() {
		return func() { f.SignIn(t.Context(), name, password, name) }
	}
	try("nobody", "wrong")() // creates the hash that unknown users are compared with
	tooLong := strings.Repeat("x", domain.MaxPassword+1)
	for _, tt := range []struct {
		name string
		fn   func()
	}{
		{"right password", try("ada", password)},
		{"wrong password", try("ada", "wrong")},
		{"unknown user", try("nobody", "wrong")},
		{"another unknown user", try("somebody", password)},
		{"too long a password", try("ada", tooLong)},
		{"unknown user with too long a password", try("nobody", tooLong)},
	} {
		if n := bcryptRuns(tt.fn); n != 1 {
			t.Errorf("%s runs bcrypt %d times, want 1", tt.name, n)
		}
	}
}

func TestAccountIsReadOnEachRequest(t *testing.T) {
	f := newFixture(t, true)
	token := f.token(t)
	set := func(p users.UserPatch) {
		t.Helper()
		if err := f.db.Users.UpdateUser(t.Context(), domain.System, f.ada.ID, p); err != nil {
			t.Fatal(err)
		}
	}
	for _, admin := range []bool{true, false} {
		set(users.UserPatch{IsAdmin: &admin})
		if u, err := f.asked(t, "Bearer "+token); err != nil || u.IsAdmin != admin {
			t.Errorf("got %+v, %v; want is_admin %t", u, err, admin)
		}
	}
	// The server keeps no state for tokens: old tokens stay valid after the password is changed.
	set(users.UserPatch{Password: new("another password")})
	if _, err := f.asked(t, "Bearer "+token); err != nil {
		t.Error(err)
	}
	if err := f.db.Users.DeleteUser(t.Context(), domain.System, f.ada.ID); err != nil {
		t.Fatal(err)
	}
	_, err := f.asked(t, "Bearer "+token)
	wantCode(t, err, web.CodeTokenInvalid)
	f.user(t, "ada") // another account with the same name
	_, err = f.asked(t, "Bearer "+token)
	wantCode(t, err, web.CodeTokenInvalid)
}

// A token issued before a password change is not refreshed, so it ends with its own lifetime.
func TestNewPasswordEndsRefreshing(t *testing.T) {
	f := newFixture(t, true)
	refresh := func(token string) error {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/auth/refresh", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		_, err := f.Refresh(r)
		return err
	}
	before := f.token(t)
	wantCode(t, refresh(before), "")
	f.clock.advance(2 * time.Second)
	if err := f.db.Users.UpdateUser(t.Context(), domain.System, f.ada.ID, users.UserPatch{FirstName: new("Ada")}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, refresh(before), "") // other changes of the account do not end refreshing
	if err := f.db.Users.UpdateUser(t.Context(), domain.System, f.ada.ID, users.UserPatch{Password: new("another password")}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, refresh(before), web.CodeTokenInvalid)
	g, err := f.SignIn(t.Context(), "ada", "another password", "a")
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, refresh(g.AccessToken), "")
	f.clock.advance(time.Hour)
	wantCode(t, refresh(g.AccessToken), "")
	wantCode(t, refresh(before), web.CodeTokenInvalid)
	wantCode(t, refresh("nonsense"), web.CodeTokenInvalid)
}

func TestWithoutAuthenticationNoTokenIsInspected(t *testing.T) {
	f := newFixture(t, false)
	if f.Enabled() {
		t.Error("it says that it is enabled")
	}
	for _, header := range []string{"", "Bearer ..", "Bearer " + f.token(t), "Basic x"} {
		if u, err := f.asked(t, header); err != nil || u.Username != users.DefaultUsername || !u.IsAdmin {
			t.Errorf("%q is %+v, %v", header, u, err)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	if u, err := f.CookieUser(r); err != nil || u.Username != users.DefaultUsername {
		t.Errorf("without a cookie it is %+v, %v", u, err)
	}
	_, err := f.SignIn(t.Context(), "ada", "wrong", "a")
	wantCode(t, err, domain.CodeInvalidCredentials)
}

func TestSecretThatWasNotSetIsRandom(t *testing.T) {
	f := newFixture(t, true)
	for _, weak := range []string{"", auth.DefaultSecret} {
		o := auth.Options{Enabled: true, Secret: weak, Now: f.clock.Now}
		first, second := f, f
		first.Auth, second.Auth = auth.New(f.db, o), auth.New(f.db, o)
		token := first.token(t)
		if _, err := first.asked(t, "Bearer "+token); err != nil {
			t.Errorf("secret %q: its own token: %v", weak, err)
		}
		_, err := second.asked(t, "Bearer "+token)
		wantCode(t, err, web.CodeTokenInvalid)
		_, err = first.asked(t, "Bearer "+f.token(t))
		wantCode(t, err, web.CodeTokenInvalid)
	}
	same := f
	same.Auth = auth.New(f.db, auth.Options{Enabled: true, Secret: secret, Now: f.clock.Now})
	if _, err := same.asked(t, "Bearer "+f.token(t)); err != nil {
		t.Errorf("a token of the server before its restart: %v", err)
	}
}

func TestClockIsTheMachinesByDefault(t *testing.T) {
	f := newFixture(t, true)
	f.Auth = auth.New(f.db, auth.Options{Enabled: true, Secret: secret})
	before := time.Now().Add(auth.Lifetime).Unix()
	g, err := f.SignIn(t.Context(), "ada", password, "a")
	if err != nil {
		t.Fatal(err)
	}
	if after := time.Now().Add(auth.Lifetime).Unix(); g.ExpiresAt < before || g.ExpiresAt > after {
		t.Errorf("it expires at %d, want %d to %d", g.ExpiresAt, before, after)
	}
}

func TestGivenUpRequestIsNotASignIn(t *testing.T) {
	f := newFixture(t, true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.SignIn(ctx, "ada", password, "a")
	wantCode(t, err, domain.CodeUnavailable)
}
