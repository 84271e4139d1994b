package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"net/http"
	"sync"
	"time"

	"tracker/server/web"
	"tracker/store/domain"
	"tracker/store/scalar"
	"tracker/store/users"
)

const (
	// basicAge is the maximum age of a cached password.
	basicAge = 5 * time.Minute
	// keyUsername is the username that W&B's clients send together with an API key.
	keyUsername = "api"
	// maxBasic is the maximum number of cached passwords.
	maxBasic = 10_000
)

// checkedPasswords caches correct passwords, because bcrypt takes a tenth of a second. Some
// clients send a username and a password with every request. The cache contains keyed hashes,
// never passwords.
type checkedPasswords struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]checkedPassword
}

type checkedPassword struct {
	userID  string
	changed scalar.Time // time at which the password was last changed
	until   time.Time
}

// Account is like User, but also accepts Basic authentication with a username and a password (RFC
// 7617). The password can also be an API key. Account caches a correct password for basicAge, or
// until the password is changed. It returns the errors of User and SignIn.
func (a *Auth) Account(r *http.Request) (domain.User, error) {
	username, password, ok := r.BasicAuth()
	if !a.enabled || !ok {
		return a.User(r)
	}
	if users.IsAPIKey(password) {
		u, err := a.keyOwner(r.Context(), password)
		if err == nil || domain.AsError(err).Code != web.CodeTokenInvalid || username == keyUsername {
			return u, err
		}
	}
	key := a.passwordKey(username, password)
	if u, ok, err := a.remembered(r.Context(), key); ok || err != nil {
		return u, err
	}
	u, err := a.signIn(r.Context(), username, password, web.ClientAddress(r))
	if err == nil {
		a.db.Audit.SignedIn(r.Context(), u)
		a.checked.put(key, checkedPassword{u.ID, u.PasswordChanged, a.now().Add(basicAge)}, a.now())
	}
	return u, err
}

// remembered returns the account of a cached password. ok is false if the password is not
// cached.
func (a *Auth) remembered(ctx context.Context, key [sha256.Size]byte) (u domain.User, ok bool, err error) {
	a.checked.mu.Lock()
	c, ok := a.checked.known[key]
	a.checked.mu.Unlock()
	if !ok || !a.now().Before(c.until) {
		return u, false, nil
	}
	u, err = a.db.Users.Authenticate(ctx, domain.Actor{UserID: c.userID})
	gone := err != nil && domain.AsError(err).Code == domain.CodeActorGone
	if err != nil && !gone {
		return u, false, err
	}
	if gone || u.PasswordChanged != c.changed {
		a.checked.drop(key)
		return domain.User{}, false, nil
	}
	return u, true, nil
}

func (a *Auth) passwordKey(username, password string) (key [sha256.Size]byte) {
	mac := hmac.New(sha256.New, a.passwordSecret)
	mac.Write([]byte(username))
	mac.Write([]byte{0})
	mac.Write([]byte(password))
	mac.Sum(key[:0])
	return key
}

func (p *checkedPasswords) put(key [sha256.Size]byte, c checkedPassword, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) >= maxBasic {
		for k, old := range p.known {
			if !now.Before(old.until) {
				delete(p.known, k)
			}
		}
	}
	if p.known == nil || len(p.known) >= maxBasic {
		p.known = map[[sha256.Size]byte]checkedPassword{}
	}
	p.known[key] = c
}

func (p *checkedPasswords) drop(key [sha256.Size]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, key)
}
