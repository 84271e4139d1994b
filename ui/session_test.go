package ui_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tracker/store/domain"
)

// A form that is sent after the session has expired is shown again after the sign-in, but without
// passwords.
func TestFormOfEndedSignIn(t *testing.T) {
	s := start(t, setup{auth: true, base: "/lab"})
	w := s.sweep(1, 1)
	page := "/lab/iteration/" + w.runs[0]
	const typed = "long \"thoughts\"\r\n<b>two</b> lines"
	old := with(s.signIn("alice"))
	s.clock.move(25 * time.Hour)

	fields := url.Values{"name": {"better"}, "notes": {typed}}
	kept := s.post(page, fields, old)
	kept.wants(t, 401, "Your input is kept", `name="next" value="/iteration/`+w.runs[0]+`"`,
		`name="kept.notes" value="long &#34;thoughts&#34;`, `name="kept.name" value="better"`)
	s.post(page, fields).wants(t, 401, `name="kept.name" value="better"`)

	login := credentials("alice", "wrong", "/iteration/"+w.runs[0])
	login.Set("kept.name", "better")
	login.Set("kept.notes", typed)
	s.post("/lab/login", login).wants(t, 401, "The user name or the password is wrong.", `name="kept.name" value="better"`)
	login.Set("password", password)
	again := s.post("/lab/login", login)
	again.wants(t, 200, `data-testid="kept"`, `action="/lab/iteration/`+w.runs[0]+`"`, `name="name" value="better"`, "&lt;b&gt;two&lt;/b&gt; lines")
	again.lacks(t, "<b>two")
	alice := with(again.Cookies()[0])
	s.get(page, alice).lacks(t, "better")
	s.post(page, fields, alice).redirects(t, page)
	s.get(page, alice).wants(t, 200, "<bdi>better</bdi>")

	secret := s.post("/lab/account/password", url.Values{"current": {"my secret"}, "password": {"my secret"}, "again": {"my secret"}, "x": {"y"}}, old)
	secret.wants(t, 401, `name="kept.x"`)
	secret.lacks(t, "my secret", "kept.current")
	// A form from a page of another site is not kept.
	s.post("/lab/login", login, header("Sec-Fetch-Site", "cross-site")).wants(t, 403)
}

func TestLargeNotes(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(1, 1)
	page := "/iteration/" + w.runs[0]
	for _, text := range []string{strings.Repeat("é", 500_000), strings.Repeat("x", 1<<20)} {
		s.post(page, url.Values{"name": {"x"}, "notes": {text}}).redirects(t, page)
	}
	s.post(page, url.Values{"name": {"x"}, "notes": {strings.Repeat("x", 1<<20+1)}}).wants(t, 422, `data-testid="wrong-notes"`, "xxx</textarea>")
}

// TestTypingWhileSignInEnds ends the session of a user who is writing notes while the run logs.
func TestTypingWhileSignInEnds(t *testing.T) {
	t.Parallel()
	s := start(t, setup{auth: true})
	s.clock.move(time.Since(s.clock.now()))
	w := s.sweep(1, 3)
	b := s.openBrowser(t)
	b.signIn(s, "alice")
	page := "/iteration/" + w.runs[0]
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(b.url+page))
	b.is(pointsText, "3 points")
	b.is(`document.documentElement.dataset.live`, "yes")
	b.press(`[data-testid="edit"]`)
	b.do(chromedp.SendKeys(chromedp.CSS("#notes"), "first line\nsecond <b>line</b>"))
	s.clock.move(25 * time.Hour)
	// The page's event stream ends, and the next stream is rejected.
	refused := make(chan struct{})
	refuse := sync.OnceFunc(func() { close(refused) })
	b.watch(func(status int64, url string) {
		if status == http.StatusUnauthorized && strings.Contains(url, "/events") {
			refuse()
		}
	})
	select {
	case <-refused:
	case <-time.After(patience):
		t.Fatal("the page has not asked")
	}
	b.at(page)
	b.is(`document.querySelector('#problem').textContent`, "Your session has expired. What you typed is still here: sign in in another window, then try again.")
	b.press(".edit[open] button")
	b.is(`document.querySelector('#problem a')?.textContent`, "Sign in in another window")
	b.is(`document.querySelector('#problem a').href`, b.url+"/login")
	b.accessible("ended sign-in", false)
	b.fits()
	b.is(`document.querySelector('#notes').value`, "first line\nsecond <b>line</b>")
	b.signIn(s, "alice")
	b.press(".edit[open] button")
	b.is(`document.querySelector('[data-testid="notes"]')?.textContent.trim()`, "first line\nsecond line")
	b.at(page)
}

// TestStreamEndsWithSignIn checks that pages with an event stream open the sign-in page after the
// user has signed out.
func TestStreamEndsWithSignIn(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*site, ...*browser){
		"expired": func(s *site, _ ...*browser) { s.clock.move(25 * time.Hour) },
		"signed out": func(s *site, all ...*browser) {
			for _, b := range all {
				b.do(chromedp.Evaluate[chromedp.Void](`void fetch('/lab/logout', { method: 'POST' }).then(() => { window.out = true })`))
				b.is(`window.out`, "true")
			}
			s.clock.move(2 * time.Minute)
		},
		"deleted": func(s *site, _ ...*browser) {
			if err := s.db.Users.DeleteUser(t.Context(), domain.System, s.actor("alice").UserID); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, setup{auth: true, base: "/lab"})
			s.clock.move(time.Since(s.clock.now()))
			w := s.sweep(1, 3)
			pages := []string{"/iteration/" + w.runs[0], "/experiment/" + w.experiment}
			var open []*browser
			for _, page := range pages {
				b := s.openBrowser(t)
				b.signIn(s, "alice")
				b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(b.url+"/lab"+page))
				b.is(`document.documentElement.dataset.live`, "yes")
				open = append(open, b)
			}
			end(s, open...)
			for i, b := range open {
				b.at("/lab/login?next=" + url.QueryEscape(pages[i]))
			}
		})
	}
}

// TestLinkFromElsewhere follows a link on a page of another site. The browser sends no cookie with
// this request.
func TestLinkFromElsewhere(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", notebook} {
		s := start(t, setup{auth: true, base: base})
		w := s.sweep(1, 1)
		page := base + "/iteration/" + w.runs[0] + "?x=relative"
		chat := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Write([]byte(`<!DOCTYPE html><link rel="icon" href="data:,"><a href="` + s.url + page + `">look</a>`))
		}))
		t.Cleanup(chat.Close)
		elsewhere := strings.Replace(chat.URL, "127.0.0.1", "localhost", 1) // another site
		b := s.openBrowser(t)
		b.do(chromedp.Navigate(elsewhere))
		b.press("a")
		b.is(`document.querySelector('#username') !== null`, "true")
		b.signIn(s, "alice")
		b.do(chromedp.Navigate(elsewhere))
		b.press("a")
		b.is(`document.querySelector('h1')?.textContent`, "run 1")
		b.at(page)
		s.get(page, header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Mode", "cors")).redirects(t, base+"/login?next="+url.QueryEscape(strings.TrimPrefix(page, base)))
	}
}
