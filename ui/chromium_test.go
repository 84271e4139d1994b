package ui_test

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is the maximum time for one step in the browser. A busy machine can need minutes.
const patience = 3 * time.Minute

// closeChromium ends the browser that the tests share.
var closeChromium = func() {}

func TestMain(m *testing.M) {
	code := m.Run()
	closeChromium()
	os.Exit(code)
}

// chromium is the browser for all tests. The first test that needs it starts it.
func chromium(t testing.TB) context.Context {
	if testing.Short() {
		t.Skip("needs a browser")
	}
	t.Helper()
	ctx, err := startChromium()
	if err != nil {
		t.Fatal(err)
	}
	return ctx
}

var startChromium = sync.OnceValues(func() (context.Context, error) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		return nil, fmt.Errorf("this test needs Chromium, in Debian's package chromium: %w", err)
	}
	ctx, cancelAllocator := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.CombinedOutput(io.Discard),
		chromedp.WSURLReadTimeout(patience),
		chromedp.NoFirstRun,
		chromedp.NoSandbox,
		chromedp.DisableGPU,
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true),
		// Simulate a mouse.
		chromedp.Flag("blink-settings", "primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4"),
	)...)
	ctx, cancel := chromedp.NewContext(ctx)
	closeChromium = func() {
		cancel()
		cancelAllocator()
	}
	return ctx, chromedp.Do(ctx) // starts it
})

// browser is one page with its error messages.
type browser struct {
	t   testing.TB
	ctx context.Context
	url string // URL of the only server that pages may request

	mu         sync.Mutex
	complaints []string
	expected   []string // parts of expected messages
	requests   int
	refused    string // address from which the test expects an error
}

func newBrowser(t testing.TB, ctx context.Context, url string) *browser {
	t.Helper()
	b := &browser{t: t, ctx: ctx, url: url}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, audits.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	// Tests run in parallel, but only one window can have the focus.
	focus := emulation.SetFocusEmulationEnabledParams{Enabled: true}
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, focus); err != nil {
		t.Fatal(err)
	}
	return b
}

// openBrowser opens a page in a new session without data of other tests.
func (s *site) openBrowser(t testing.TB) *browser {
	t.Helper()
	ctx, cancel := chromedp.NewContext(chromium(t), chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	return newBrowser(t, ctx, s.url)
}

// signIn sets the cookie of a user who has signed in.
func (b *browser) signIn(s *site, username string) {
	b.t.Helper()
	// The browser rejects cookies that have expired by its own clock.
	c := s.signIn(username)
	_, err := chromedp.Call(b.ctx, network.SetCookie, network.SetCookieParams{Name: c.Name, Value: c.Value, URL: b.url,
		Path: c.Path, HTTPOnly: new(true), SameSite: network.CookieSameSiteStrict})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) listen(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	complain := func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		if !slices.ContainsFunc(b.expected, func(part string) bool { return strings.Contains(text, part) }) {
			b.complaints = append(b.complaints, text)
		}
	}
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		b.requests++
		// The browser contains the icons of the player as data URLs.
		if !strings.HasPrefix(ev.Request.URL, "data:") && !strings.HasPrefix(ev.Request.URL, b.url+"/") {
			complain("a request to %s", ev.Request.URL)
		}
	case *runtime.EventConsoleAPICalled:
		complain("console.%s in %v", ev.Type, ev.StackTrace)
	case *runtime.EventExceptionThrown:
		text := ev.ExceptionDetails.Text
		if e := ev.ExceptionDetails.Exception; e != nil {
			text += " " + e.Description
		}
		complain("an exception: %s", text)
	case *log.EventEntryAdded:
		if ev.Entry.URL != b.refused {
			complain("%s: %s (%s)", ev.Entry.Level, ev.Entry.Text, ev.Entry.URL)
		}
	case *page.EventJavascriptDialogOpening:
		complain("a dialog: %s", ev.Message)
	case *audits.EventIssueAdded:
		// The back button skips a page that the user has not touched. Tests leave pages without a
		// touch.
		if g := ev.Issue.Details.GenericIssueDetails; g != nil && g.ErrorType == "NavigationEntryMarkedSkippable" {
			return
		}
		complain("an issue: %s %+v", ev.Issue.Code, ev.Issue.Details.GenericIssueDetails)
	}
}

// watch calls fn with each later response.
func (b *browser) watch(fn func(status int64, url string)) {
	b.t.Helper()
	err := chromedp.Listen(b.ctx, func(ev any) {
		if ev, ok := ev.(*network.EventResponseReceived); ok {
			fn(ev.Response.Status, ev.Response.URL)
		}
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for _, step := range steps {
		err := chromedp.Do(ctx, step)
		for err != nil && ctx.Err() == nil && slices.ContainsFunc(drawnAnew, func(part string) bool { return strings.Contains(err.Error(), part) }) {
			time.Sleep(10 * time.Millisecond)
			err = chromedp.Do(ctx, step)
		}
		if err != nil {
			b.quiet()
			b.t.Fatal(err)
		}
	}
}

// drawnAnew holds the error messages that a step returns if the page replaced the element after the
// step located it and before it acted on the element.
var drawnAnew = []string{"Could not find node with given id", "Node is detached from document", "Node does not have a layout object",
	"Could not compute content quads", "Could not compute box model"}

// press clicks on an element after the page was loaded and painted, because the browser ignores
// earlier clicks.
func (b *browser) press(selector string) {
	b.t.Helper()
	b.is(`document.readyState === 'complete' && performance.getEntriesByName('first-contentful-paint').length > 0
		&& document.querySelector(`+strconv.Quote(selector)+`) !== null`, "true")
	b.do(chromedp.Click(chromedp.CSS(selector)))
}

// logIn signs in on the sign-in page once its first field has the focus.
func (b *browser) logIn(username string) {
	b.t.Helper()
	b.is(`document.activeElement.id`, "username")
	b.do(chromedp.KeyEvent(username + "\t" + password + "\r"))
}

// prefer sets the theme of the system.
func (b *browser) prefer(theme string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
	if err != nil {
		b.t.Fatal(err)
	}
}

// evaluate returns the value of a JavaScript expression as text. It returns an error while another
// page is loading.
func (b *browser) evaluate(expression string, options ...chromedp.EvaluateOption) (string, error) {
	ctx, cancel := context.WithTimeout(b.ctx, patience/6)
	defer cancel()
	options = append(options, func(p *runtime.EvaluateParams) { p.UserGesture = new(true) })
	return chromedp.Run(ctx, chromedp.Evaluate[string](expression, options...))
}

// is waits until the value of a JavaScript expression, as text, equals want. In the meantime, the
// browser can load several pages. It works even if the page's scripts are disabled.
func (b *browser) is(expression, want string) {
	b.t.Helper()
	text := "(() => { try { return String(" + expression + ") } catch (e) { return String(e) } })()"
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		got, err := b.evaluate(text)
		if err == nil && got == want {
			return
		}
		if b.ctx.Err() != nil || time.Now().After(end) {
			b.t.Errorf("%s is %q, want %q (%v)", expression, got, want, err)
			return
		}
	}
}

// text returns the value of a JavaScript expression as text.
func (b *browser) text(expression string) string {
	b.t.Helper()
	return b.read("String(" + expression + ")")
}

// read waits until a JavaScript expression has a value, and returns the value.
func (b *browser) read(expression string, options ...chromedp.EvaluateOption) string {
	b.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		got, err := b.evaluate(expression, options...)
		if err == nil {
			return got
		}
		if b.ctx.Err() != nil || time.Now().After(end) {
			b.t.Fatal(err)
		}
	}
}

// at waits until the browser's address equals the given path on the server.
func (b *browser) at(want string) {
	b.t.Helper()
	u, err := url.Parse(b.url + want)
	if err != nil {
		b.t.Fatal(err)
	}
	b.is("location.href", u.String())
}

// tooWide returns the names of the elements that make a page scroll horizontally, or "".
const tooWide = `document.documentElement.scrollWidth <= innerWidth ? '' : [...document.querySelectorAll('main *')]
	.filter((e) => e.getBoundingClientRect().right > innerWidth).slice(0, 8).map((e) => e.outerHTML.slice(0, 80)).join('\n') || 'outside main'`

// fits checks that the page does not scroll horizontally, in a wide window and on a phone.
func (b *browser) fits() {
	b.t.Helper()
	for _, width := range []int64{400, 1280} {
		b.do(chromedp.EmulateViewport(width, 800))
		b.is(tooWide, "")
	}
}

// asked returns the number of requests that the browser has sent.
func (b *browser) asked() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.requests
}

// quiet checks that the browser has logged no error.
func (b *browser) quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complaints {
		b.t.Error(c)
	}
	b.complaints = nil
	if b.requests == 0 {
		b.t.Error("no request was seen")
	}
}
