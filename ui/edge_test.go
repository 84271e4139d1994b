package ui_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// A table that is larger than its box has a shadow at the edge where it continues. At the end of
// the table the shadow is covered by a layer that moves with the table.
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
		b.is(edge, "local, local, scroll, scroll, scroll")
	}
	b.quiet()
}

// A run with many metrics shows as many metrics as fit into the window, and a shadow where the list
// continues.
func TestManyMetricsHaveSpace(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(1, 1)
	for n := range 100 {
		s.log(w.runs[0], fmt.Sprintf("layer/%03d", n), 1)
	}
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+"/iteration/"+w.runs[0]))
	const box = `document.querySelector('#metrics')`
	b.is(box+`.clientHeight > 400 && `+box+`.scrollHeight > `+box+`.clientHeight`, "true")
	b.is(`getComputedStyle(`+box+`).backgroundAttachment`, "local, local, scroll, scroll, scroll")
	b.fits()
	b.quiet()
}
