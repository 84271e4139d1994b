// Package auth is what the API and the dashboard share of signing in: tokens,
// the throttling of wrong passwords, and who a request comes from.
package auth

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"tracker/store"
)

const (
	// Lifetime of a token from a sign-in.
	Lifetime = 24 * time.Hour
	// DefaultSecret is the value of SERVICE_JWT_SECRET that is refused when
	// authentication is on.
	DefaultSecret = "change-me"

	issuer = "tracker"
)

// Options configure an Auth.
type Options struct {
	// Enabled tells whether tokens are asked for. When it is false every
	// request is the default user's.
	Enabled bool
	// Secret signs the tokens. Empty, or DefaultSecret, means a random one
	// that dies with the process: nobody else can then make a token.
	Secret string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Auth signs users in and tells who a request comes from. It keeps no state
// for a token.
type Auth struct {
	db       *store.DB
	enabled  bool
	secret   []byte
	now      func() time.Time
	failures *throttle
	fallback atomic.Pointer[store.User] // who acts when authentication is off
}

// Grant is the answer to a sign-in.
type Grant struct {
	AccessToken string     `json:"access_token"`
	TokenType   string     `json:"token_type"` // always "Bearer"
	ExpiresAt   int64      `json:"expires_at"` // Unix seconds
	User        store.User `json:"user"`
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
	a.failures = newThrottle(a.now)
	return a
}

// Enabled tells whether tokens are asked for.
func (a *Auth) Enabled() bool { return a.enabled }

// SignIn checks a name and a password that came from address. Errors:
// INVALID_CREDENTIALS, and RATE_LIMITED after ten failures within a minute for
// the same name and address.
func (a *Auth) SignIn(ctx context.Context, username, password, address string) (Grant, error) {
	who := visitorOf(username, address)
	if wait := a.failures.begin(who); wait > 0 {
		return Grant{}, &store.Error{Code: store.CodeRateLimited, RetryAfter: wait,
			Message: "There were too many failed sign-ins for this user from your address; wait a minute and try again."}
	}
	ended := undecided // giving a request up must not wipe out the failures before it
	defer func() { a.failures.end(who, ended) }()
	user, err := a.db.SignIn(ctx, username, password)
	if err != nil {
		if store.AsError(err).Code == store.CodeInvalidCredentials {
			ended = wrong
		}
		return Grant{}, err
	}
	ended = right
	return a.Grant(user, Lifetime)
}

// Grant makes a token for user that is good for lifetime.
func (a *Auth) Grant(user store.User, lifetime time.Duration) (Grant, error) {
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

// User returns the account that a request comes from, by its bearer token.
// Errors: TOKEN_MISSING, TOKEN_INVALID, TOKEN_EXPIRED.
func (a *Auth) User(r *http.Request) (store.User, error) {
	if !a.enabled {
		return a.defaultUser(r.Context())
	}
	header := r.Header.Get("Authorization")
	if header == "" {
		return store.User{}, errMissing
	}
	scheme, token, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return store.User{}, errMissing
	}
	return a.verify(r.Context(), strings.TrimSpace(token))
}

// defaultUser is remembered: its id never changes, it can't be deleted or
// demoted, and every write reads the account again.
func (a *Auth) defaultUser(ctx context.Context) (store.User, error) {
	if u := a.fallback.Load(); u != nil {
		return *u, nil
	}
	u, err := a.db.DefaultUser(ctx)
	if err == nil {
		a.fallback.Store(&u)
	}
	return u, err
}

var (
	errMissing = store.Errorf(store.CodeTokenMissing,
		"This needs the header `Authorization: Bearer <token>`; get a token with POST /auth.")
	errInvalid = store.Errorf(store.CodeTokenInvalid, "The token is not valid; sign in again.")
	errExpired = store.Errorf(store.CodeTokenExpired, "The token has expired; sign in again.")
)

// verify returns the account behind a token, as it is now.
func (a *Auth) verify(ctx context.Context, token string) (store.User, error) {
	var c claims
	_, err := jwt.ParseWithClaims(token, &c,
		func(*jwt.Token) (any, error) { return a.secret, nil },
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
		jwt.WithIssuer(issuer),
		jwt.WithExpirationRequired(),
		jwt.WithStrictDecoding(),
		jwt.WithTimeFunc(a.now),
	)
	switch {
	case errors.Is(err, jwt.ErrTokenExpired) && !errors.Is(err, jwt.ErrTokenSignatureInvalid):
		return store.User{}, errExpired
	case err != nil || c.Subject == "":
		return store.User{}, errInvalid
	}
	return a.db.Authenticate(ctx, store.Actor{UserID: c.Subject})
}
