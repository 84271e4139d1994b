package ui_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestDrawMoreThanIsLoaded draws runs whose rows are not loaded yet.
func TestDrawMoreThanIsLoaded(t *testing.T) {
	t.Parallel()
	s := start(t, setup{auth: true})
	s.clock.move(time.Since(s.clock.now()))
	w := s.sweep(250, 2)
	b := s.openTable(t, w.experiment, "")
	curves := `[document.querySelector('` + chart("train/loss") + `').dataset.drawn, document.querySelector('[data-testid="drawn-of"]').textContent].join()`
	draw := func(n int) {
		b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(
			`(() => { const e = document.querySelector('[name="top"]'); e.value = '%d'; e.dispatchEvent(new Event('change')) })()`, n)))
	}
	// last returns an expression that scrolls to rows n and n+1 of the table and reports whether
	// they are drawn. It scrolls each time, because a sorted table returns to the top.
	last := func(n int) string {
		return fmt.Sprintf(`(document.querySelector('#scroll').scrollTop = %d * 28, [%d, %d].map((n) =>
			document.querySelector('tr[aria-rowindex="' + (n + 1) + '"] .swatch')?.getAttribute('aria-pressed')).join())`, n-4, n, n+1)
	}
	b.is(curves, "10,10 of 250 runs drawn")
	draw(200)
	b.is(curves, "200,200 of 250 runs drawn")
	draw(100)
	b.is(curves, "100,100 of 250 runs drawn")
	b.is(last(100), "true,false")

	// A new filter or a new order begins with one page of rows.
	draw(200)
	b.is(curves, "200,200 of 250 runs drawn")
	b.filter(t, "name != 'run 250'")
	b.is(curves, "200,200 of 249 runs drawn")
	b.do(chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll('#table thead th')].find((th) => th.textContent.startsWith('train/loss')).querySelector('button').click()`))
	b.is(`new URLSearchParams(location.search).get('sort')`, "metric.train/loss")
	b.is(curves, "200,200 of 249 runs drawn")
	b.is(last(200), "true,false")
	draw(100)
	b.is(curves, "100,100 of 249 runs drawn")

	// The rows in the HTML can end in the middle of a page of rows.
	b.do(chromedp.Navigate(s.url + "/experiment/" + w.experiment + "?top=61"))
	b.is(curves, "61,61 of 250 runs drawn")
	draw(100)
	b.is(curves, "100,100 of 250 runs drawn")
	b.quiet()
}
