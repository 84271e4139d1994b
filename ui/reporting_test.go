package ui_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"tracker/store/domain"
	"tracker/store/projects"
)

// A chart can be added to a new report and to an existing report, with its drawn runs.
func TestAddToReport(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	experiment, ids := s.tuning(t, 4)
	b := s.openBrowser(t)
	page := s.url + "/experiment/" + experiment
	add := func(key string) {
		t.Helper()
		b.is(`document.querySelector('`+chart(key)+`')?.dataset.drawn > 0`, "true")
		b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[aria-label="Options: ` + key + `"]').click()`))
		b.is(`Boolean(document.querySelector('[data-testid="chart-options"]')?.open)`, "true")
		b.do(chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll('.options button')].find((e) => e.textContent === 'Add to a report').click()`))
		b.is(`Boolean(document.querySelector('[data-testid="reports"]')?.open)`, "true")
	}
	const said = `document.querySelector('[data-testid="report-said"]').textContent`
	report := func() projects.Report {
		t.Helper()
		b.is(`document.querySelector('[data-testid="to-report"]') !== null`, "true")
		href := b.text(`document.querySelector('[data-testid="to-report"]').getAttribute('href')`)
		return must(s.db.Projects.Report(t.Context(), domain.System, href[strings.LastIndex(href, "/")+1:]))(t)
	}
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(page+"?filter=param.lr+%3C+1&sort=name&top=5&logy=1"))
	add("val/loss")
	b.is(said, "A report shows curves over steps, without smoothing or zoom.")
	b.do(chromedp.SendKeys(chromedp.CSS(`[data-testid="new-report"]`), "Findings\r"))
	b.is(said, "The chart was added at the end of Findings.")
	first := "```chart\nexperiment: " + experiment + "\nmetrics: val/loss\nfilter: param.lr < 1\nsort: name\nruns: 4\ny: log\n```\n"
	if r := report(); r.Name != "Findings" || r.Text != first {
		t.Errorf("%q has %q, want %q", r.Name, r.Text, first)
	}
	b.fits()

	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+"/compare?i="+ids[0]+"&i="+ids[2]))
	add("lr")
	b.press(`[aria-label="Add to Findings"]`)
	b.is(said, "The chart was added at the end of Findings.")
	want := first + "\n```chart\nexperiment: " + experiment + "\nmetrics: lr\nfilter: id in ('" + ids[0] + "', '" + ids[2] + "')\nruns: 2\n```\n"
	r := report()
	if r.Text != want {
		t.Errorf("the report has %q, want %q", r.Text, want)
	}
	b.press(`[data-testid="to-report"]`)
	b.is(`[...document.querySelectorAll('[data-testid="block"]')].map((e) => e.querySelectorAll('.line').length)`, "4,2")

	b.do(chromedp.Navigate(page + "?group=param.optimizer"))
	add("val/loss")
	b.is(said, "Reports show runs, not groups. Remove the grouping first.")
	b.is(`document.querySelector('[data-testid="new-report"]').checkVisibility()`, "false")
	b.quiet()
}
