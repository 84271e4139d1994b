package ui_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestBrowser drives the pages in Chromium: it signs in, searches, switches
// the theme and signs out, and works with runs while they log, behind a proxy.
func TestBrowser(t *testing.T) {
	t.Parallel()
	ctx := chromium(t)
	t.Run("browse", func(t *testing.T) { browse(t, ctx, "") })
	t.Run("work", func(t *testing.T) { work(t, ctx, setup{auth: true, base: notebook, proxy: strips}) })
	t.Run("arrangement", func(t *testing.T) { arrange(t, ctx, "/lab/one") })
}

func browse(t *testing.T, ctx context.Context, base string) {
	s := start(t, setup{auth: true, base: base})
	s.project("alice", "iris", "Softmax classifiers on 150 measurements", 2, 3)
	s.project("alice", `<script>alert(1)</script>`+strings.Repeat("long", 50), strings.Repeat("wide", 100), 0, 0)
	// The browser rejects cookies that have expired by its own clock.
	s.clock.move(time.Since(s.clock.now()))

	ctx, cancel := chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
	defer cancel()
	b := newBrowser(t, ctx, s.url)

	b.do(chromedp.Navigate(s.url + base + "/?q=iris"))
	b.at(base + "/login?next=%2F%3Fq%3Diris")
	b.fits()
	// The keyboard is sufficient: the first field has the focus.
	b.logIn("alice")
	b.do(chromedp.WaitVisible(chromedp.CSS(`[data-testid="project"]`)))
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

	// The first link in the tab order skips to the content.
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
