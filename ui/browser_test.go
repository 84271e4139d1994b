package ui_test

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// TestBrowser drives the pages in Chromium: it signs in, searches, switches
// the theme and signs out, and works with runs while they log, with and without
// a base path.
func TestBrowser(t *testing.T) {
	ctx := chromium(t)
	for _, base := range []string{"", "/lab/one"} {
		t.Run("base "+base, func(t *testing.T) { browse(t, ctx, base) })
		t.Run("workbench, base "+base, func(t *testing.T) { work(t, ctx, base) })
		t.Run("arrangement, base "+base, func(t *testing.T) { arrange(t, ctx, base) })
	}
}

// chromium starts a browser that ends with the test.
func chromium(t testing.TB) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("this test needs Chromium, in Debian's package chromium: %v", err)
	}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.CombinedOutput(io.Discard),
		chromedp.NoFirstRun,
		chromedp.NoSandbox,
		chromedp.DisableGPU,
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true),
	)...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil { // starts the browser
		t.Fatal(err)
	}
	return ctx
}

func browse(t *testing.T, ctx context.Context, base string) {
	s := start(t, setup{auth: true, base: base})
	s.project("alice", "iris", "Softmax classifiers on 150 measurements", 2, 3)
	s.project("alice", `<script>alert(1)</script>`+strings.Repeat("long", 50), strings.Repeat("wide", 100), 0, 0)
	// The browser takes no cookie that its own clock says is old.
	s.clock.move(time.Since(s.clock.now()))

	ctx, cancel := chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
	defer cancel()
	b := newBrowser(t, ctx, s.url)

	b.do(chromedp.Navigate(s.url + base + "/?q=iris"))
	b.at(base + "/login?next=%2F%3Fq%3Diris")
	b.fits()
	// The keyboard alone will do: the first field has the focus.
	b.is(`document.activeElement.id`, "username")
	b.do(chromedp.KeyEvent("alice\t"+password+"\r"), chromedp.WaitVisible(chromedp.CSS(`[data-testid="project"]`)))
	b.at(base + "/?q=iris")
	b.is(`document.querySelectorAll('[data-testid="project"]').length`, "1")
	b.is(`document.querySelector('[data-testid="user"]').textContent`, "alice")

	b.do(chromedp.Navigate(s.url + base + "/"))
	b.is(`document.querySelectorAll('[data-testid="project"]').length`, "2")
	b.fits()

	const theme = `document.documentElement.dataset.theme + ' ' + getComputedStyle(document.body).backgroundColor`
	const white, black = "rgb(255, 255, 255)", "rgb(19, 20, 23)"
	b.prefer("dark")
	b.is(theme, "system "+black)
	b.prefer("light")
	press := chromedp.Click(chromedp.CSS(`[data-testid="theme"]`))
	b.is(theme, "system "+white)
	b.do(press)
	b.is(theme, "light "+white)
	b.do(press)
	b.is(theme, "dark "+black)
	b.is(`document.querySelector('[data-testid="theme"]').getAttribute('aria-label')`, "Theme: dark")
	b.do(chromedp.Reload())
	b.is(theme, "dark "+black)
	b.do(press)
	b.is(theme, "system "+white)

	// The first stop of the keyboard leads past the bar.
	b.do(chromedp.Reload(), chromedp.KeyEvent("\t"))
	b.is(`document.activeElement.textContent`, "Skip to content")
	b.is(`document.activeElement.getBoundingClientRect().left >= 0`, "true")
	b.do(chromedp.KeyEvent("\r"))
	b.is(`document.activeElement.id`, "main")

	b.do(chromedp.SendKeys(chromedp.CSS(`input[name="q"]`), "zebra\r"),
		chromedp.WaitVisible(chromedp.CSS(`[data-testid="nothing"]`)))
	b.at(base + "/?q=zebra")

	b.do(chromedp.Click(chromedp.CSS(`[data-testid="sign-out"]`)), chromedp.WaitVisible(chromedp.CSS(`#username`)))
	b.at(base + "/login")
	b.do(chromedp.Navigate(s.url + base + "/"))
	b.at(base + "/login?next=%2F")
	b.quiet()
}

// browser is one page, and what it complained about.
type browser struct {
	t   testing.TB
	ctx context.Context
	url string // of the only server that may be asked

	mu         sync.Mutex
	complaints []string
	requests   int
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
	return b
}

func (b *browser) listen(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	complain := func(format string, args ...any) {
		b.complaints = append(b.complaints, fmt.Sprintf(format, args...))
	}
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		b.requests++
		if !strings.HasPrefix(ev.Request.URL, b.url+"/") {
			complain("a request to %s", ev.Request.URL)
		}
	case *runtime.EventConsoleAPICalled:
		complain("console.%s in %v", ev.Type, ev.StackTrace)
	case *runtime.EventExceptionThrown:
		complain("an exception: %s", ev.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		complain("%s: %s (%s)", ev.Entry.Level, ev.Entry.Text, ev.Entry.URL)
	case *audits.EventIssueAdded:
		complain("an issue: %s %+v", ev.Issue.Code, ev.Issue.Details.GenericIssueDetails)
	}
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.quiet()
		b.t.Fatal(err)
	}
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

// is waits until an expression of JavaScript gives want, as text. It may take
// several pages until it does.
func (b *browser) is(expression, want string) {
	b.t.Helper()
	text := "(() => { try { return String(" + expression + ") } catch (e) { return String(e) } })()"
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	for {
		_, err := chromedp.Run(ctx, chromedp.Poll[bool](fmt.Sprintf("%s === %q", text, want)))
		if err == nil {
			return
		}
		if ctx.Err() == nil {
			continue // another page came
		}
		got, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](text))
		b.t.Errorf("%s is %q, want %q (%v)", expression, got, want, err)
		return
	}
}

// at checks the address of the page, without the server.
func (b *browser) at(want string) {
	b.t.Helper()
	u, err := url.Parse(b.url + want)
	if err != nil {
		b.t.Fatal(err)
	}
	b.is("location.href", u.String())
}

// fits checks that the page needs no scrolling sideways, also on a phone.
func (b *browser) fits() {
	b.t.Helper()
	for _, width := range []int64{400, 1280} {
		b.do(chromedp.EmulateViewport(width, 800))
		b.is(`document.documentElement.scrollWidth <= innerWidth`, "true")
	}
}

// quiet checks that the browser had nothing to complain about.
func (b *browser) quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complaints {
		b.t.Error(c)
	}
	if b.requests == 0 {
		b.t.Error("no request was seen")
	}
}
