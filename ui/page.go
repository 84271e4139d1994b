package ui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/a-h/templ"
	"github.com/dustin/go-humanize"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/scalar"
)

const (
	// maxForm is the maximum size in bytes of a JSON body from a script, and of the sign-out
	// form.
	maxForm = 64 << 10
	// maxKept is the maximum size in bytes of a form that is submitted after the session
	// expired. The same limit applies to the sign-in form, which includes the fields of the
	// expired form. Every text that the store accepts must fit. URL encoding takes three bytes
	// for a byte and six for a line end.
	maxKept = 8 * domain.MaxText
	// maxStrangers is the maximum memory in bytes of all requests that are not signed in.
	maxStrangers = 16 << 20
	// maxPage is the maximum size in bytes of a form from a signed-in user. If a field of a smaller
	// form is too long, the store returns an error, and the dashboard shows the form again with the
	// input and the error.
	maxPage = 32 * domain.MaxText
)

// handler responds to a request or returns an error. A handler that returns an error must not
// have written anything to the response.
type handler func(http.ResponseWriter, *http.Request) error

// page returns a handler for signed-in users. Other users are redirected to the sign-in form.
// The input of a submitted form is kept during the sign-in.
func (s *site) page(next func(http.ResponseWriter, *http.Request, domain.User) error) handler {
	return s.signedIn(func(w http.ResponseWriter, r *http.Request, user domain.User) error {
		err := s.holding(s.memory, bounded(maxPage, func(w http.ResponseWriter, r *http.Request) error { return next(w, r, user) }))(w, r)
		if r.ContentLength > maxPage {
			_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, drained)) // returns an error if the sender has disconnected
		}
		return err
	})
}

// posted returns a handler for a form of a signed-in user. next receives the fields of the form.
func (s *site) posted(next func(http.ResponseWriter, *http.Request, domain.User, url.Values) error) handler {
	return s.page(func(w http.ResponseWriter, r *http.Request, user domain.User) error {
		fields, err := form(r)
		if err != nil {
			return err
		}
		return next(w, r, user, fields)
	})
}

// bounded returns a handler that rejects request bodies larger than limit bytes.
func bounded(limit int64, next handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if r.ContentLength > limit {
			return errTooLarge(limit)
		}
		r.Body = http.MaxBytesReader(w, r.Body, limit)
		return next(w, r)
	}
}

// holding returns a handler whose requests share the memory budget m. The request body and the
// data read for the page count against the budget.
func (s *site) holding(m *web.Memory, next handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		share := m.Share(r.Context())
		defer share.Release()
		share.HoldBody(r)
		return next(w, r.WithContext(context.WithValue(r.Context(), shareContext{}, share)))
	}
}

type shareContext struct{}

// pageBytes is the number of bytes of memory for each byte that is read for a page, because the
// data is held as records, as view model and as HTML.
const pageBytes = 3

// fromStranger returns a handler for requests that are not signed in. A form that the user
// submits after the session expired can be large. All these requests share a small memory
// budget.
func (s *site) fromStranger(next handler) handler {
	return s.holding(s.strangers, bounded(maxKept, next))
}

func (s *site) signedIn(next func(http.ResponseWriter, *http.Request, domain.User) error) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		user, err := s.Auth.CookieUser(r)
		if err == nil {
			web.InfoOf(r).User = user.Username
			err = next(w, r, user)
		}
		if err != nil && s.Auth.Enabled() && !inPlace(r) && web.StatusOf(web.AsError(err).Code) == http.StatusUnauthorized {
			return s.fromStranger(s.askWho)(w, r)
		}
		return err
	}
}

// redirect sends the browser to a path of this site.
func (s *site) redirect(w http.ResponseWriter, r *http.Request, path string) {
	http.Redirect(w, r, s.BasePath+path, http.StatusSeeOther)
}

// redirectUnless returns err. If err is nil, it sends the browser to a path of this site.
func (s *site) redirectUnless(err error, w http.ResponseWriter, r *http.Request, path string) error {
	if err == nil {
		s.redirect(w, r, path)
	}
	return err
}

// view runs fn on a snapshot of the data that the user can read. If memory runs short, view stops
// fn and calls it again later, so fn must be repeatable.
func (s *site) view(r *http.Request, user domain.User, fn func(*store.View) error) error {
	actor := user.Actor()
	return withBudget(r.Context(), func(ctx context.Context) error { return s.DB.View(ctx, actor, fn) })
}

// withBudget runs read with a context that counts the data read for a page against the memory
// budget. If memory runs short, withBudget stops read and calls it again later.
func withBudget(ctx context.Context, read func(context.Context) error) error {
	share, ok := ctx.Value(shareContext{}).(*web.Share)
	if !ok {
		return read(ctx)
	}
	return share.Hold(ctx, func(ctx context.Context) error {
		return read(domain.WithBudget(ctx, func(n int64) error { return domain.Take(ctx, pageBytes*n) }))
	})
}

// show responds with the page that build returns. All data of the page comes from one snapshot.
func (s *site) show(w http.ResponseWriter, r *http.Request, user domain.User, status int,
	build func(*store.View) (templ.Component, error)) error {
	var page templ.Component
	err := s.view(r, user, func(db *store.View) (err error) {
		if page, err = build(db); err == nil {
			r, err = s.offerUndo(r, db)
		}
		return err
	})
	if err != nil {
		return err
	}
	return s.render(w, r, status, page)
}

// render responds with a page, or with the part of the page that htmx requests. render completes
// the page before it sends the first byte, so that the caller can send an error page if rendering
// fails.
func (s *site) render(w http.ResponseWriter, r *http.Request, status int, c templ.Component) error {
	var b bytes.Buffer
	ctx := context.WithoutCancel(r.Context())
	if part := partOf(r); part != "" {
		if err := templ.RenderFragments(ctx, &b, c, part); err != nil {
			return err
		}
		if b.Len() == 0 { // the page has no part with this name
			w.Header().Set("HX-Redirect", s.BasePath+r.URL.RequestURI())
			return nil
		}
		if s.current(r, r.URL.Path) { // the part belongs to the open page, not to an item in a list
			if err := templ.RenderFragments(ctx, &b, c, titlePart, crumbsPart); err != nil {
				return err
			}
		}
	} else if err := c.Render(ctx, &b); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Add("Vary", "HX-Request")
	w.WriteHeader(status)
	b.WriteTo(w) // returns an error if the client has disconnected
	return nil
}

var (
	errNoPage = domain.Errorf(domain.CodeNotFound,
		"There is no page at this address. It may have been deleted, or the link may be incomplete.")
	errNotForm    = domain.Errorf(web.CodeUnsupportedMediaType, "This address accepts only forms of the dashboard.")
	errBrokenForm = domain.Errorf(web.CodeMalformedBody, "The form is incomplete. Go back and send it again.")
)

func errTooLarge(limit int64) error {
	return domain.Errorf(domain.CodePayloadTooLarge, "The form is larger than %s. Go back, shorten your text and send it again.", humanize.IBytes(uint64(limit)))
}

var headlines = map[int]string{
	http.StatusUnauthorized:          "Sign in first",
	http.StatusForbidden:             "Not allowed",
	http.StatusNotFound:              "Not found",
	http.StatusMethodNotAllowed:      "Not possible",
	http.StatusRequestEntityTooLarge: "Too large",
	http.StatusTooManyRequests:       "Too many attempts",
	http.StatusServiceUnavailable:    "Not available",
	http.StatusInsufficientStorage:   "The disk is full",
}

func headline(status int) string {
	if h, ok := headlines[status]; ok {
		return h
	}
	if status < 500 {
		return "The request failed"
	}
	return "Something went wrong"
}

// errorView is the view of an error page.
type errorView struct {
	Status    int
	Headline  string
	Message   string
	RequestID string // "" for client errors
	SignIn    string // path of the sign-in page, "" if signing in would not help
}

// fail responds with an error page for err. The cause of an internal error is logged, and pages
// never show it.
func (s *site) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := web.AsError(err)
	status := web.StatusOf(e.Code)
	v := errorView{Status: status, Headline: headline(status), Message: e.Message}
	info := web.InfoOf(r)
	if status >= 500 {
		v.RequestID = info.RequestID
		info.Err = err
	}
	web.RetryAfter(w, e)
	// Read the user again. Errors are rare, and fail must also work if the user can't be read.
	user, err := s.Auth.CookieUser(r)
	if err == nil {
		info.User = user.Username
	}
	if status == http.StatusUnauthorized {
		v.Message, v.SignIn = "Your session has expired. Your input is kept.", s.BasePath+"/login"
	}
	if inPlace(r) { // keep the page and all input, and show only the message
		w.Header().Set("HX-Retarget", "#problem")
		w.Header().Set("HX-Reswap", "innerHTML")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		problem(v).Render(r.Context(), w) // returns an error if the client has disconnected
		return
	}
	f := s.frame(v.Headline, user)
	f.Crumbs = []crumb{{Name: "Projects", Path: "/"}, {Name: v.Headline}}
	if err := s.render(w, r, status, errorPage(f, v)); err != nil {
		info.Err = errors.Join(info.Err, err)
		http.Error(w, v.Headline, status)
	}
}

// isForm reports whether the request body is a form without files.
func isForm(r *http.Request) bool {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return kind == "application/x-www-form-urlencoded"
}

// form parses the form fields in the request body. The error has the code MALFORMED_BODY,
// PAYLOAD_TOO_LARGE or UNSUPPORTED_MEDIA_TYPE.
func form(r *http.Request) (url.Values, error) {
	if !isForm(r) {
		return nil, errNotForm
	}
	if err := r.ParseForm(); err != nil {
		var known *domain.Error
		if errors.As(err, &known) {
			return nil, known
		}
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return nil, errTooLarge(tooLarge.Limit)
		}
		return nil, errBrokenForm
	}
	return r.PostForm, nil
}

// frame is the layout of every page.
type frame struct {
	Title    string
	Crumbs   []crumb
	User     string // name of the signed-in user, "" for none
	Open     bool   // whether sign-in is off
	Admin    bool   // whether the user can manage accounts
	Version  string
	Document bool // whether the server provides an API description
	Side     []sideLink
	Trash    bool   // whether the page is the trash page
	Undoing  string // message about whether and how a deletion can be undone
	Module   string // script module of the page, "" for the default
	Charts   bool   // whether scripts draw charts on the page
	Early    string // URL of data that the scripts need first, "" for none
	InPlace  bool   // whether htmx updates parts of the page
	Wide     bool   // whether the page fills the window and its parts scroll separately
	base     string
	assets   assets
}

// crumb is an element of a page's breadcrumbs. The last crumb has no path.
type crumb struct {
	Name string
	Path string
}

func (s *site) frame(title string, user domain.User) frame {
	f := frame{Title: title, Open: !s.Auth.Enabled(), Version: s.Version, Document: s.Document != nil, Undoing: s.undoing(),
		base: s.BasePath, assets: s.assets}
	if !f.Open {
		f.User = user.Username
	}
	return f
}

// inside returns the frame of a page with a sidebar.
func (s *site) inside(db *store.View, title string, user domain.User, at place) (frame, error) {
	f := s.frame(title, user)
	side, err := s.side(db, at)
	f.Side, f.Admin, f.Trash = side, user.IsAdmin, at.trash
	return f, err
}

// url returns the URL of a path of this site, which begins with the base path.
func (f frame) url(path string) string { return f.base + path }

// static returns the URL of the bundled file for the source with the given name.
func (f frame) static(name string) string {
	return f.base + "/static/" + f.assets.bySource[name].File
}

// module returns the source name of the script module that the page loads.
func (f frame) module() string {
	switch {
	case f.Module != "":
		return f.Module
	case f.InPlace:
		return "record.js"
	}
	return "frame.js"
}

// imports returns the URLs of the files that the page's module imports. The page lists these URLs
// so that the browser can load all files at once.
func (f frame) imports() []string {
	var all []string
	for _, file := range f.assets.bySource[f.module()].Imports {
		all = append(all, f.base+"/static/"+file)
	}
	return all
}

// moment is a time in the formats that pages show.
type moment struct {
	Text    string `json:"text"`    // relative, for example "3 minutes ago"
	Exact   string `json:"exact"`   // date and time in UTC
	Machine string `json:"machine"` // in RFC 3339 format
}

func (s *site) moment(t scalar.Time) moment {
	return moment{
		Text:    humanize.RelTime(t.Time(), s.Now(), "ago", "from now"),
		Exact:   t.Time().Format("2 Jan 2006, 15:04:05 UTC"),
		Machine: t.Time().Format(time.RFC3339),
	}
}

const crossOrigin = "The request came from a page of another site. Make the change on the dashboard itself."
