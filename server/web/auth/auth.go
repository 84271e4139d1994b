// Package auth implements the sign-in of the API and the dashboard: tokens, the throttling
// of wrong passwords, and the account of a request.
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
	"tracker/store/domain"
	"tracker/store/users"
)

const (
	// Lifetime is the validity of a token from a sign-in.
	Lifetime = 24 * time.Hour
	// DefaultSecret is a value of SERVICE_JWT_SECRET that is refused when authentication is
	// on.
	DefaultSecret = "change-me"
	// MinSecret is the minimum length of the secret in bytes when authentication is
	// on.
	MinSecret = 16

	issuer = "tracker"
)

// Options configure an Auth.
type Options struct {
	// Enabled reports whether tokens are required. If it is false, every request is made by
	// the default user.
	Enabled bool
	// Secret signs the tokens. If it is empty or DefaultSecret, a random secret is used and
	// never stored, so that nobody else can create a token.
	Secret string
	// Now returns the time; nil means time.Now.
	Now func() time.Time
}

// Auth signs users in and returns the user of a request. It stores no tokens.
type Auth struct {
	db       *store.DB
	enabled  bool
	secret   []byte
	now      func() time.Time
	failures *throttle                   // by name and address
	sprays   *throttle                   // by address
	hashing  *gate                       // bounds the passwords that are hashed at once
	fallback atomic.Pointer[domain.User] // the user of all requests when authentication is off

	checked        checkedPasswords
	passwordSecret []byte // for the keys in checked; never the secret of the tokens
}

// Grant is the answer to a sign-in.
type Grant struct {
	AccessToken string      `json:"access_token"`
	TokenType   string      `json:"token_type"` // always "Bearer"
	ExpiresAt   int64       `json:"expires_at"` // Unix seconds
	User        domain.User `json:"user"`
}

type claims struct {
	Username string `json:"username"`
	jwt.RegisteredClaims
}

// New returns an Auth on the accounts of db.
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
	// Hashing leaves half of the processors to other requests.
	a.hashing = newGate(max(1, runtime.GOMAXPROCS(0)/2))
	return a
}

// Enabled reports whether tokens are required.
func (a *Auth) Enabled() bool { return a.enabled }

// SignIn checks a name and a password from address. Errors: INVALID_CREDENTIALS, and
// RATE_LIMITED after ten failures within a minute for the same name and address, or sixty
// for the address. Failures from other addresses do not count.
func (a *Auth) SignIn(ctx context.Context, username, password, address string) (Grant, error) {
	user, err := a.signIn(ctx, username, password, address)
	if err != nil {
		return Grant{}, err
	}
	return a.Grant(user, Lifetime)
}

// signIn returns the account with a name and a password. It returns the errors of SignIn.
func (a *Auth) signIn(ctx context.Context, username, password, address string) (domain.User, error) {
	address = network(address)
	from, who := visitorOf("", address), visitorOf(username, address)
	if wait := a.sprays.begin(from); wait > 0 {
		return domain.User{}, &domain.Error{Code: web.CodeRateLimited, RetryAfter: wait,
			Message: "There were too many failed sign-ins from your address; wait a minute and try again."}
	}
	ended := undecided // an aborted request must not reset the earlier failures
	defer func() {
		if ended == right {
			a.sprays.end(from, undecided) // a correct password does not reset the failures with other names
			return
		}
		a.sprays.end(from, ended)
	}()
	if wait := a.failures.begin(who); wait > 0 {
		return domain.User{}, &domain.Error{Code: web.CodeRateLimited, RetryAfter: wait,
			Message: "There were too many failed sign-ins for this user from your address; wait a minute and try again."}
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

// Grant returns a token for user that is valid for lifetime.
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

// Refresh returns a new token for the account of a request. A token from before the last
// change of the password is TOKEN_INVALID. Refresh also returns the errors of User.
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

// User returns the account of a request, by its bearer token or API key. A key may also be
// the password of Basic authentication, with any name. Errors: TOKEN_MISSING,
// TOKEN_INVALID, TOKEN_EXPIRED.
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

// keyOwner returns the account of an API key.
func (a *Auth) keyOwner(ctx context.Context, key string) (domain.User, error) {
	u, err := a.db.Users.UserOfAPIKey(ctx, key)
	if err != nil && domain.AsError(err).Code == domain.CodeInvalidCredentials {
		err = errKey
	}
	return u, err
}

// bearer returns the token of a request.
func bearer(r *http.Request) (string, error) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", errMissing
	}
	return strings.TrimSpace(token), nil
}

// defaultUser returns the default user. It is cached: its id never changes, it
// can't be deleted or demoted, and every write reads the account again.
func (a *Auth) defaultUser(ctx context.Context) (domain.User, error) {
	if u := a.fallback.Load(); u != nil {
		return *u, nil
	}
	u, err := a.db.Users.DefaultUser(ctx)
	if err == nil {
		a.fallback.Store(&u)
	}
	return u, err
}

var (
	errMissing = domain.Errorf(web.CodeTokenMissing,
		"This needs the header `Authorization: Bearer <token>`; get a token with POST /auth.")
	errInvalid = domain.Errorf(web.CodeTokenInvalid, "The token is not valid; sign in again.")
	errKey     = domain.Errorf(web.CodeTokenInvalid, "The API key is invalid or was revoked; create another one.")
	errChanged = domain.Errorf(web.CodeTokenInvalid, "The password was changed after this token was issued; sign in again.")
	errExpired = domain.Errorf(web.CodeTokenExpired, "The token has expired; sign in again.")
)

// verify returns the current account of a token, and the claims of the token.
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

// parse reads the claims of a token that was issued here. Errors: TOKEN_INVALID,
// TOKEN_EXPIRED.
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

// Now returns the time that tokens are checked against.
func (a *Auth) Now() time.Time { return a.now() }
