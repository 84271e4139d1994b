// Package auth implements the sign-in to the API and the dashboard. It issues and checks
// tokens, limits the number of wrong passwords, and returns the account of a request.
package auth

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/audit"
	"tracker/store/domain"
	"tracker/store/users"
)

const (
	// Lifetime is the time for which a token from a sign-in is valid.
	Lifetime = 24 * time.Hour
	// DefaultSecret is a value of SERVICE_JWT_SECRET that is invalid if authentication is
	// enabled.
	DefaultSecret = "change-me"
	// MinSecret is the minimum length of the secret in bytes if authentication is enabled.
	MinSecret = 16

	issuer = "tracker"
)

// Options configures an Auth.
type Options struct {
	// Enabled reports whether requests need a token. If Enabled is false, all requests act as
	// the default user.
	Enabled bool
	// Secret is the key that signs tokens. If it is empty or DefaultSecret, New generates a random
	// key. This key is never stored, so only the running server can create tokens.
	Secret string
	// Now returns the current time. If Now is nil, time.Now is used.
	Now func() time.Time
}

// Auth signs users in and returns the user of a request. It does not store tokens.
type Auth struct {
	db       *store.DB
	enabled  bool
	secret   []byte
	now      func() time.Time
	failures *throttle                   // failed sign-ins by username and address
	sprays   *throttle                   // failed sign-ins by address
	hashing  *gate                       // limits the number of concurrent password hashes
	fallback atomic.Pointer[domain.User] // cached default user, for requests when authentication is disabled

	checked        checkedPasswords
	passwordSecret []byte // key of the hashes in checked; differs from secret
}

// Grant is the response to a sign-in.
type Grant struct {
	AccessToken string      `json:"access_token"`
	TokenType   string      `json:"token_type"` // always "Bearer"
	ExpiresAt   int64       `json:"expires_at"` // in Unix seconds
	User        domain.User `json:"user"`
}

type claims struct {
	Username string `json:"username"`
	jwt.RegisteredClaims
}

// New returns an Auth that uses the accounts in db.
func New(db *store.DB, o Options) *Auth {
	a := &Auth{db: db, enabled: o.Enabled, secret: []byte(o.Secret), now: o.Now}
	if a.now == nil {
		a.now = time.Now
	}
	if o.Secret == "" || o.Secret == DefaultSecret {
		a.secret = make([]byte, 32)
		rand.Read(a.secret) // never fails
	}
	a.passwordSecret = make([]byte, 32)
	rand.Read(a.passwordSecret) // never fails
	a.failures, a.sprays = newThrottle(a.now, maxFailures), newThrottle(a.now, maxSpray)
	// Reserve half of the processors for other requests.
	a.hashing = newGate(max(1, runtime.GOMAXPROCS(0)/2))
	return a
}

// Enabled reports whether requests need a token.
func (a *Auth) Enabled() bool { return a.enabled }

// SignIn checks a username and a password, and returns a token. It returns INVALID_CREDENTIALS if
// they do not match, and RATE_LIMITED after ten failures in a minute for the same name and address
// or after sixty for the same address. Failures from other addresses do not count.
func (a *Auth) SignIn(ctx context.Context, username, password, address string) (Grant, error) {
	user, err := a.signIn(ctx, username, password, address)
	if err != nil {
		return Grant{}, err
	}
	a.db.Audit.SignedIn(domain.WithAddress(ctx, address), user)
	return a.Grant(user, Lifetime)
}

// Check checks a password like SignIn, but returns no token. The audit trail gets an entry only if the
// password is wrong.
func (a *Auth) Check(ctx context.Context, username, password, address string) error {
	_, err := a.signIn(ctx, username, password, address)
	return err
}

// signIn returns the account with the given username and password. It returns the errors of
// SignIn.
func (a *Auth) signIn(ctx context.Context, username, password, address string) (_ domain.User, err error) {
	defer func() {
		if err == nil {
			return
		}
		if code := domain.AsError(err).Code; code == domain.CodeInvalidCredentials || code == web.CodeRateLimited {
			a.db.Audit.SignInFailed(domain.WithAddress(ctx, address), username)
		}
	}()
	return a.limitedSignIn(ctx, username, password, audit.Network(address))
}

// limitedSignIn is signIn without the audit trail. It limits the failed sign-ins from a network.
func (a *Auth) limitedSignIn(ctx context.Context, username, password, address string) (domain.User, error) {
	from, who := visitorOf("", address), visitorOf(username, address)
	if wait := a.sprays.begin(from); wait > 0 {
		return domain.User{}, &domain.Error{Code: web.CodeRateLimited, RetryAfter: wait,
			Message: "Too many failed sign-ins from your address; wait a minute and try again."}
	}
	ended := undecided // an aborted request must not reset earlier failures
	defer func() {
		if ended == right {
			a.sprays.end(from, undecided) // a correct password must not reset failures with other names
			return
		}
		a.sprays.end(from, ended)
	}()
	if wait := a.failures.begin(who); wait > 0 {
		return domain.User{}, &domain.Error{Code: web.CodeRateLimited, RetryAfter: wait,
			Message: "Too many failed sign-ins for this user from your address; wait a minute and try again."}
	}
	defer func() { a.failures.end(who, ended) }()
	if err := a.hashing.enter(ctx, address); err != nil {
		return domain.User{}, err
	}
	defer a.hashing.leave()
	user, err := a.db.Users.SignIn(ctx, username, password)
	if err != nil {
		if domain.AsError(err).Code == domain.CodeInvalidCredentials {
			ended = wrong
		}
		return domain.User{}, err
	}
	ended = right
	return user, nil
}

// Grant returns a new token for user. The token is valid for lifetime.
func (a *Auth) Grant(user domain.User, lifetime time.Duration) (Grant, error) {
	now := a.now()
	expires := jwt.NewNumericDate(now.Add(lifetime))
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
		Username: user.Username,
		RegisteredClaims: jwt.RegisteredClaims{
			Subject:   user.ID,
			Issuer:    issuer,
			IssuedAt:  jwt.NewNumericDate(now),
			ExpiresAt: expires,
		},
	})
	signed, err := token.SignedString(a.secret)
	if err != nil {
		return Grant{}, err
	}
	return Grant{AccessToken: signed, TokenType: "Bearer", ExpiresAt: expires.Unix(), User: user}, nil
}

// Refresh returns a new token for the account of a request. It returns TOKEN_INVALID if the
// request's token is older than the account's password. Refresh also returns the errors of
// User.
func (a *Auth) Refresh(r *http.Request) (Grant, error) {
	if !a.enabled {
		u, err := a.defaultUser(r.Context())
		if err != nil {
			return Grant{}, err
		}
		return a.Grant(u, Lifetime)
	}
	token, err := bearer(r)
	if err != nil {
		return Grant{}, err
	}
	u, c, err := a.verify(r.Context(), token)
	if err != nil {
		return Grant{}, err
	}
	if c.IssuedAt == nil || c.IssuedAt.Unix() < u.PasswordChanged.Time().Unix() {
		return Grant{}, errChanged
	}
	return a.Grant(u, Lifetime)
}

// User returns the account that a request authenticates as: with a bearer token, an API key, or
// Basic authentication with an API key as the password. The username in Basic authentication is
// ignored. User returns TOKEN_MISSING, TOKEN_INVALID or TOKEN_EXPIRED if the authentication fails.
func (a *Auth) User(r *http.Request) (domain.User, error) {
	if !a.enabled {
		return a.defaultUser(r.Context())
	}
	if _, password, ok := r.BasicAuth(); ok && users.IsAPIKey(password) {
		return a.keyOwner(r.Context(), password)
	}
	token, err := bearer(r)
	if err != nil {
		return domain.User{}, err
	}
	if users.IsAPIKey(token) {
		return a.keyOwner(r.Context(), token)
	}
	u, _, err := a.verify(r.Context(), token)
	return u, err
}

// keyOwner returns the account to which an API key belongs.
func (a *Auth) keyOwner(ctx context.Context, key string) (domain.User, error) {
	u, err := a.db.Users.UserOfAPIKey(ctx, key)
	return u, keyError(err)
}

// keyError returns the error of a request for an error of the store about its API key.
func keyError(err error) error {
	switch {
	case errors.Is(err, users.ErrKeyExpired):
		return errKeyExpired
	case err != nil && domain.AsError(err).Code == domain.CodeInvalidCredentials:
		return errKey
	}
	return err
}

// bearer returns the bearer token of a request.
func bearer(r *http.Request) (string, error) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", errMissing
	}
	return strings.TrimSpace(token), nil
}

// defaultUser returns the default user from a cache. The cached record stays valid: its id
// never changes, and it can't be deleted or demoted. Writes read the account from the database.
func (a *Auth) defaultUser(ctx context.Context) (domain.User, error) {
	if u := a.fallback.Load(); u != nil {
		return *u, nil
	}
	u, err := a.db.Users.DefaultUser(ctx)
	if err == nil {
		u.Anonymous = true
		a.fallback.Store(&u)
	}
	return u, err
}

var (
	errMissing = domain.Errorf(web.CodeTokenMissing,
		"This needs the header `Authorization: Bearer <token>`; get a token with POST /auth.")
	errInvalid    = domain.Errorf(web.CodeTokenInvalid, "The token is not valid; sign in again.")
	errKey        = domain.Errorf(web.CodeTokenInvalid, "The API key is invalid or was revoked; create another one.")
	errKeyExpired = domain.Errorf(web.CodeTokenExpired, "The API key has expired; create another one.")
	errChanged    = domain.Errorf(web.CodeTokenInvalid, "The password was changed after this token was issued; sign in again.")
	errExpired    = domain.Errorf(web.CodeTokenExpired, "The token has expired; sign in again.")
)

// verify checks a token. It returns the current account of the token, and the token's claims.
func (a *Auth) verify(ctx context.Context, token string) (u domain.User, c claims, err error) {
	if err := a.parse(token, &c, issuer); err != nil {
		return u, c, err
	}
	if c.Subject == "" {
		return u, c, errInvalid
	}
	u, err = a.db.Users.Authenticate(ctx, domain.Actor{UserID: c.Subject})
	return u, c, err
}

// parse checks a token that this server has issued, and decodes its claims into c. It returns
// TOKEN_INVALID or TOKEN_EXPIRED if the token is not valid.
func (a *Auth) parse(token string, c jwt.Claims, issuer string, further ...jwt.ParserOption) error {
	_, err := jwt.ParseWithClaims(token, c,
		func(*jwt.Token) (any, error) { return a.secret, nil },
		append(further,
			jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
			jwt.WithIssuer(issuer),
			jwt.WithExpirationRequired(),
			jwt.WithStrictDecoding(),
			jwt.WithTimeFunc(a.now),
		)...)
	switch {
	case errors.Is(err, jwt.ErrTokenExpired) && !errors.Is(err, jwt.ErrTokenSignatureInvalid):
		return errExpired
	case err != nil:
		return errInvalid
	}
	return nil
}

// Now returns the current time, as used for checking tokens.
func (a *Auth) Now() time.Time { return a.now() }
