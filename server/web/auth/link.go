package auth

import (
	"context"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"tracker/store/domain"
)

// linkIssuer is the issuer of links. It differs from the issuer of tokens, so a link is not
// valid as a token, and a token is not valid as a link.
const linkIssuer = "tracker-link"

// linkClaims are the claims of a link. A link that was made for a request with an API key has the
// limits of the key, and ends with it.
type linkClaims struct {
	KeyID string `json:"key,omitempty"`
	jwt.RegisteredClaims
}

// Link returns a string that, as part of a request's address, authenticates user. The string is
// valid only for subject and only for lifetime. Links are for clients that send no credentials when
// they request an address that the server gave them.
func (a *Auth) Link(user domain.User, subject string, lifetime time.Duration) (string, error) {
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, linkClaims{user.KeyID, jwt.RegisteredClaims{
		Subject:   user.ID,
		Issuer:    linkIssuer,
		Audience:  jwt.ClaimStrings{subject},
		ExpiresAt: jwt.NewNumericDate(a.now().Add(lifetime)),
	}})
	return token.SignedString(a.secret)
}

// Linked returns the account for a string that Link returned. It returns TOKEN_INVALID or
// TOKEN_EXPIRED if link is not valid for subject. If requests need no token, Linked returns the
// default user for any link.
func (a *Auth) Linked(ctx context.Context, link, subject string) (domain.User, error) {
	if !a.enabled {
		return a.defaultUser(ctx)
	}
	var c linkClaims
	err := a.parse(link, &c, linkIssuer, jwt.WithAudience(subject))
	if err == nil && c.Subject == "" {
		err = errInvalid
	}
	if err != nil {
		return domain.User{}, err
	}
	if c.KeyID != "" {
		u, err := a.db.Users.UserOfKeyID(ctx, c.KeyID)
		return u, keyError(err)
	}
	return a.db.Users.Authenticate(ctx, domain.Actor{UserID: c.Subject})
}
