package auth

import (
	"cmp"
	"net/http"
	"time"

	"tracker/store/domain"
)

const cookieName = "tracker_token"

// SetCookie stores the token of g in the browser until the token expires. path is the
// dashboard's base path, or "".
func SetCookie(w http.ResponseWriter, r *http.Request, path string, g Grant) {
	c := cookie(r, path)
	c.Value, c.Expires = g.AccessToken, time.Unix(g.ExpiresAt, 0)
	http.SetCookie(w, c)
}

// ClearCookie removes the token from the browser.
func ClearCookie(w http.ResponseWriter, r *http.Request, path string) {
	c := cookie(r, path)
	c.MaxAge = -1
	http.SetCookie(w, c)
}

func cookie(r *http.Request, path string) *http.Cookie {
	return &http.Cookie{
		Name:     cookieName,
		Path:     cmp.Or(path, "/"), // no trailing slash, because the path of the start page has none
		HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
		Secure:   r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	}
}

// CookieUser returns the account that the cookie of a request identifies. It returns the errors
// of User.
func (a *Auth) CookieUser(r *http.Request) (domain.User, error) {
	if !a.enabled {
		return a.defaultUser(r.Context())
	}
	c, err := r.Cookie(cookieName)
	if err != nil || c.Value == "" {
		return domain.User{}, errMissing
	}
	u, _, err := a.verify(r.Context(), c.Value)
	return u, err
}
