package ui_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// TestPrintDrawsAllCharts prints a page with charts that were not scrolled to.
func TestPrintDrawsAllCharts(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(2, 5)
	for n := range 30 {
		s.log(w.runs[0], fmt.Sprintf("layer/%02d", n), 3)
	}
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+"/experiment/"+w.experiment))
	const drawn = `document.querySelectorAll('figure[data-drawn]').length`
	b.is(`document.querySelectorAll('figure').length`, "31")
	b.is(drawn+` > 0 && `+drawn+` < 31`, "true")
	b.do(chromedp.Evaluate[chromedp.Void](`window.printed = 0; window.print = () => { window.printed = ` + drawn + ` }`))
	b.do(chromedp.Evaluate[chromedp.Void](`document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'p', ctrlKey: true, bubbles: true, cancelable: true }))`))
	b.is(`window.printed`, "31")
	b.quiet()
}

// TestPrintedPages checks that paper shows titles, whole tables and no controls.
func TestPrintedPages(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(40, 2)
	b := s.openBrowser(t)
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}); err != nil {
		t.Fatal(err)
	}
	seen := func(selector string) string {
		return `[...document.querySelectorAll('` + selector + `')].filter((e) => e.checkVisibility()).length`
	}
	b.do(chromedp.EmulateViewport(800, 1100))
	for _, page := range []string{"/experiment/" + w.experiment, "/iteration/" + w.runs[0], "/project/" + w.project + "/runs", "/compare?i=" + w.runs[0] + "&i=" + w.runs[1], "/"} {
		b.do(chromedp.Navigate(s.url + page))
		b.is(seen("h1"), "1")
		b.is(seen(".bar, .side, footer, .links, .edits, input, select, button:not(.swatch, th *)"), "0")
		b.is(`[...document.querySelectorAll('.scroll, .across, pre')].filter((e) => e.checkVisibility() && getComputedStyle(e).overflowX !== 'visible').length`, "0")
	}
	b.do(chromedp.Navigate(s.url + "/experiment/" + w.experiment))
	b.is(seen("#table tbody tr[data-id] a"), "40")
	b.is(seen("#table thead [data-column]")+` > 2`, "true")
	b.quiet()
}

// TestNarrowPages checks that a phone shows a chart on the first screen, and that nothing in the
// bar overlaps at 200 %.
func TestNarrowPages(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(12, 5)
	b := s.openBrowser(t)
	for _, page := range []string{"/experiment/" + w.experiment, "/iteration/" + w.runs[0]} {
		b.do(chromedp.EmulateViewport(400, 800), chromedp.Navigate(s.url+page))
		b.is(`document.querySelector('figure[data-drawn] canvas').getBoundingClientRect().bottom <= 800`, "true")
		b.fits()
		b.do(chromedp.EmulateViewport(640, 400))
		b.is(`(() => {
			const [crumbs, tools] = ['.crumbs', '.tools'].map((e) => document.querySelector(e).getBoundingClientRect());
			const inside = [...document.querySelectorAll('.crumbs li')].every((e) => e.getBoundingClientRect().right <= crumbs.right + 1);
			return inside && (crumbs.right <= tools.left || crumbs.top >= tools.bottom);
		})()`, "true")
	}
	b.quiet()
}
