package auth

import (
	"context"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"tracker/store/domain"
)

// linkIssuer distinguishes links from tokens, so that neither is accepted as the
// other.
const linkIssuer = "tracker-link"

// Link returns a text that authenticates user when it is part of the address of a
// request. It is valid for subject alone and for lifetime. It is for clients that
// send no credentials to an address that the server gave them.
func (a *Auth) Link(user domain.User, subject string, lifetime time.Duration) (string, error) {
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.RegisteredClaims{
		Subject:   user.ID,
		Issuer:    linkIssuer,
		Audience:  jwt.ClaimStrings{subject},
		ExpiresAt: jwt.NewNumericDate(a.now().Add(lifetime)),
	})
	return token.SignedString(a.secret)
}

// Linked returns the account for a text of Link. If tokens are not required it
// returns the default user for any text. Errors: TOKEN_INVALID, TOKEN_EXPIRED.
func (a *Auth) Linked(ctx context.Context, link, subject string) (domain.User, error) {
	if !a.enabled {
		return a.defaultUser(ctx)
	}
	var c jwt.RegisteredClaims
	err := a.parse(link, &c, linkIssuer, jwt.WithAudience(subject))
	if err == nil && c.Subject == "" {
		err = errInvalid
	}
	if err != nil {
		return domain.User{}, err
	}
	return a.db.Users.Authenticate(ctx, domain.Actor{UserID: c.Subject})
}
