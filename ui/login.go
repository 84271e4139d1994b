package ui

import (
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"

	"tracker/server/web"
	"tracker/server/web/auth"
	"tracker/store/domain"
	"tracker/ui/plain"
)

// loginView is the view of the sign-in page.
type loginView struct {
	Username string
	Next     string // path to open after sign-in
	Message  string // error message of the last attempt, "" for none
	Kept     []keptField
}

// keptField is a field of a form that the user submitted after the session had expired.
type keptField struct{ Name, Value string }

// keptPrefix is the name prefix of kept fields in the sign-in form.
const keptPrefix = "kept."

// secretFields holds the names of form fields that are never kept.
var secretFields = map[string]bool{"password": true, "current": true, "again": true}

// askWho responds with the sign-in form. After sign-in, the browser opens the requested page.
// If the request submitted a form, its input is kept during the sign-in.
func (s *site) askWho(w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodPost && isForm(r) {
		fields, err := form(r)
		if err != nil {
			return err
		}
		v := loginView{Next: localPath(r.URL.Path), Message: "Your session has expired. Sign in again. Your input is kept, and nothing has been changed yet."}
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			for _, value := range fields[name] {
				if !secretFields[name] {
					v.Kept = append(v.Kept, keptField{name, plain.Readable(value)})
				}
			}
		}
		return s.render(w, r, http.StatusUnauthorized, loginPage(s.frame("Sign in", domain.User{}), v))
	}
	// Browsers do not send the cookie when the user follows a link from another site. The arrival
	// page requests the same address again, and this request comes from this site, so it includes
	// the cookie.
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") == "navigate" {
		return s.render(w, r, http.StatusOK, arrivalPage(s.frame("Opening", domain.User{}), localPath(returnPath(r))))
	}
	s.redirect(w, r, "/login?next="+url.QueryEscape(returnPath(r)))
	return nil
}

// keptFields returns the fields that askWho kept, without keptPrefix.
func keptFields(fields url.Values) (kept []keptField) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if bare, ok := strings.CutPrefix(name, keptPrefix); ok {
			for _, value := range fields[name] {
				kept = append(kept, keptField{bare, plain.Readable(value)})
			}
		}
	}
	return kept
}

// login shows the sign-in form. A user who is signed in is redirected.
func (s *site) login(w http.ResponseWriter, r *http.Request) error {
	next := localPath(r.URL.Query().Get("next"))
	if !s.Auth.Enabled() {
		next = "/"
	}
	user, err := s.Auth.CookieUser(r)
	if err == nil {
		web.InfoOf(r).User = user.Username
		s.redirect(w, r, next)
		return nil
	}
	e := web.AsError(err)
	if web.StatusOf(e.Code) != http.StatusUnauthorized {
		return err
	}
	v := loginView{Next: next}
	if e.Code != web.CodeTokenMissing {
		v.Message = "Your session has expired. Sign in again."
	}
	return s.render(w, r, http.StatusOK, loginPage(s.frame("Sign in", domain.User{}), v))
}

// signIn checks the password and sets the cookie with the access token.
func (s *site) signIn(w http.ResponseWriter, r *http.Request) error {
	if !s.Auth.Enabled() {
		s.redirect(w, r, "/")
		return nil
	}
	fields, err := form(r)
	if err != nil {
		return err
	}
	username, next := fields.Get("username"), localPath(fields.Get("next"))
	grant, err := s.Auth.SignIn(r.Context(), username, fields.Get("password"), web.ClientAddress(r))
	if err != nil {
		e := web.AsError(err)
		status := web.StatusOf(e.Code)
		if status >= 500 {
			return err
		}
		web.RetryAfter(w, e)
		v := loginView{Username: plain.Readable(username), Next: next, Message: e.Message, Kept: keptFields(fields)}
		return s.render(w, r, status, loginPage(s.frame("Sign in", domain.User{}), v))
	}
	web.InfoOf(r).User = grant.User.Username
	auth.SetCookie(w, r, s.BasePath, grant)
	if kept := keptFields(fields); len(kept) > 0 {
		return s.render(w, r, http.StatusOK, keptPage(s.frame("Signed in again", grant.User), loginView{Next: next, Kept: kept}))
	}
	s.redirect(w, r, next)
	return nil
}

// signOut removes the token cookie from this browser. Copies of the token elsewhere stay valid
// until they expire.
func (s *site) signOut(w http.ResponseWriter, r *http.Request) error {
	if user, err := s.Auth.CookieUser(r); err == nil {
		web.InfoOf(r).User = user.Username
		if s.Auth.Enabled() {
			s.DB.Audit.SignedOut(r.Context(), user)
		}
	}
	auth.ClearCookie(w, r, s.BasePath)
	s.redirect(w, r, "/login")
	return nil
}

// returnPath returns the path and query of a page request, without the base path. It returns
// "/" if the method is not GET or HEAD.
func returnPath(r *http.Request) string {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return "/"
	}
	return r.URL.RequestURI()
}

// maxNext is the maximum length in bytes of the path to open after sign-in.
const maxNext = 2000

// localPath returns next if it is a path of this site, with an optional query. Otherwise
// localPath returns "/". Callers put the base path before the result. Redirects therefore stay
// below the base path.
func localPath(next string) string {
	if len(next) > maxNext || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") ||
		strings.ContainsFunc(next, unicode.IsControl) {
		return "/"
	}
	u, err := url.Parse(next)
	if err != nil || strings.ContainsFunc(u.Path, unicode.IsControl) || strings.Contains(u.Path, `\`) {
		return "/"
	}
	// Browsers resolve dot segments, and some treat two slashes as the start of a host name.
	if path.Clean(u.Path) != u.Path {
		return "/"
	}
	return u.RequestURI()
}
