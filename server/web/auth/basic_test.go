package auth

import (
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/users"
)

// A correct password is cached and not hashed again, so that many concurrent requests do not look
// like an attack. It leaves the cache when the password is changed or the entry is too old.
func TestBasicPasswordsAreRemembered(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	db, err := store.Open(t.Context(), store.Options{Path: t.TempDir() + "/t.db", BcryptCost: 4, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Users.Seed(t.Context(), "correct horse"); err != nil {
		t.Fatal(err)
	}
	a := New(db, Options{Enabled: true, Secret: "the secret of these tests", Now: func() time.Time { return now }})
	ask := func(password string) error {
		r := httptest.NewRequest("GET", "/", nil)
		r.SetBasicAuth(users.DefaultUsername, password)
		_, err := a.Account(r)
		return err
	}
	if ask("wrong") == nil || len(a.checked.known) != 0 {
		t.Error("a wrong password is right, or remembered")
	}
	if err := ask("correct horse"); err != nil || len(a.checked.known) != 1 {
		t.Fatalf("%v, and %d passwords are remembered", err, len(a.checked.known))
	}
	// No password can be hashed now, so only a cached password can be accepted.
	a.hashing = newGate(0)
	if err := ask("correct horse"); err != nil {
		t.Error(err)
	}
	a.hashing = newGate(1)
	now = now.Add(time.Second)
	u, err := db.Users.DefaultUser(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Users.UpdateUser(t.Context(), domain.System, u.ID, users.UserPatch{Password: new("another horse")}); err != nil {
		t.Fatal(err)
	}
	if ask("correct horse") == nil || len(a.checked.known) != 0 {
		t.Error("a former password is right, or remembered")
	}
	if err := ask("another horse"); err != nil {
		t.Error(err)
	}
	for i := range 2 * maxBasic {
		a.checked.put(a.passwordKey("u", strconv.Itoa(i)), checkedPassword{until: now.Add(time.Hour)}, now)
	}
	if n := len(a.checked.known); n > maxBasic {
		t.Errorf("%d passwords are remembered", n)
	}
}
