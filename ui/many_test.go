package ui_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"tracker/store/points"
	"tracker/store/scalar"
)

// TestRunOfManyMetrics limits the height and the number of elements of the page of a run with 1,000
// metrics. All metrics can be reached from the page.
func TestRunOfManyMetrics(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(1, 3)
	var all []points.Sample
	for m := range 1000 {
		for step := range 2 {
			all = append(all, points.Sample{Key: fmt.Sprintf("block%d/unit%03d/norm", m/20, m), Step: new(scalar.Step(step)), Value: scalar.Value(m + step)})
		}
	}
	if err := s.db.Runs.CreateMetrics(t.Context(), s.actor("alice"), w.runs[0], all); err != nil {
		t.Fatal(err)
	}
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+"/iteration/"+w.runs[0]))
	b.is(`document.querySelector('[data-testid="chart"]').dataset.key + document.querySelector('[data-testid="chart"]').dataset.drawn`, "train/loss1")
	t.Log(b.text(`document.documentElement.scrollHeight`), "pixels,", b.text(`document.querySelectorAll('*').length`), "elements")
	b.is(`document.documentElement.scrollHeight < 10 * innerHeight`, "true")
	b.is(`document.querySelectorAll('*').length < 9500`, "true")
	b.do(chromedp.SendKeys(chromedp.CSS("#metric-search"), "unit777"))
	b.is(`[...document.querySelectorAll('[data-testid="chart"]')].map((c) => c.dataset.key + c.dataset.drawn).join()`, "block38/unit777/norm1")
	b.quiet()
}
