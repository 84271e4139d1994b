package ui_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// A table that is wider than a narrow window has a shadow at the edge where it continues. At the
// end of the table the shadow is covered by an element that moves with the table.
func TestTableEdges(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(2, 4)
	b := s.openBrowser(t)
	for page, selector := range map[string]string{
		"/experiment/" + w.experiment:                 "#scroll",
		"/project/" + w.project + "/runs":             ".across",
		"/compare?i=" + w.runs[0] + "&i=" + w.runs[1]: ".runs-compared",
		"/iteration/" + w.runs[0]:                     ".across",
	} {
		edge := `getComputedStyle(document.querySelector('` + selector + `')).backgroundAttachment`
		b.do(chromedp.EmulateViewport(400, 800), chromedp.Navigate(s.url+page))
		b.is(edge, "local, scroll")
		b.do(chromedp.EmulateViewport(1280, 800))
		b.is(edge, "scroll")
	}
	b.quiet()
}
