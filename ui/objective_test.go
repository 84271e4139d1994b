package ui_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/runs"
)

// visible returns an expression that reports whether an element is completely inside the window.
func visible(selector string) string {
	return `[...document.querySelectorAll(` + strconv.Quote(selector) + `)].every((e) => { const r = e.getBoundingClientRect();
		return r.height > 0 && r.top >= 0 && r.left >= 0 && r.bottom <= innerHeight && r.right <= innerWidth; })`
}

// TestClicksToTheBestRun counts the clicks from the list of experiments to the best of 300 runs
// with its parameters visible, and to the importance of parameters.
func TestClicksToTheBestRun(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	experiment, _ := s.tuning(t, 300)
	e := must(s.db.Projects.Experiment(t.Context(), domain.System, experiment))(t)
	runs := must(s.db.Runs.Iterations(t.Context(), domain.System, experiment, runs.IterationQuery{Sort: "metric.val/loss.min", Page: domain.FirstPage}))(t)
	best := runs.Data[0]
	// With many metrics, the parameters are still visible.
	for i := range 12 {
		key := "layer" + strconv.Itoa(i)
		if err := s.db.Runs.CreateMetrics(t.Context(), domain.System, best.ID, []points.Sample{{Key: "norm/" + key, Value: 1}}); err != nil {
			t.Fatal(err)
		}
		if i < 6 {
			must(s.db.Runs.CreateParameter(t.Context(), domain.System, best.ID, key, "1"))(t)
		}
	}
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800))
	clicks := 0
	click := func(selector string) {
		t.Helper()
		b.is(`document.querySelectorAll(`+strconv.Quote(selector)+`).length === 1 && `+visible(selector), "true")
		b.press(selector)
		clicks++
	}

	list := "/project/" + e.ProjectID
	b.do(chromedp.Navigate(s.url + list))
	click(`[data-testid="experiment"] a`)
	// The best run comes first and is marked, like its best value.
	b.is(`document.querySelector('#table tbody tr[data-id]').dataset.id`, best.ID)
	b.is(`document.querySelector('[data-testid="best-tag"]').closest('tr').dataset.id`, best.ID)
	b.is(`document.querySelectorAll('td.best').length`, "1")
	b.is(`document.querySelector('[data-testid="chart"]').closest('[data-key]').dataset.key`, "val/loss")
	click(`[data-testid="best"]`)
	b.at("/iteration/" + best.ID)
	b.is(`document.querySelectorAll('#params tbody tr').length`, "10")
	b.is(visible("#params tbody tr:nth-child(-n+7)"), "true")
	b.is(`document.querySelector('#metrics tbody th').textContent`, "val/loss")
	b.is(visible("#metrics tbody tr:first-child"), "true")
	if clicks != 2 {
		t.Errorf("%d clicks to the best run, want 2", clicks)
	}

	clicks = 0
	b.do(chromedp.Navigate(s.url + list))
	click(`[data-testid="experiment"] a`)
	b.is(`document.querySelector('#table tbody tr[data-id]').dataset.id`, best.ID)
	click(`[data-testid="show-analyse"]`)
	b.is(`document.querySelector('[data-testid="parameter"] .name').textContent`, "lr")
	b.is(`document.querySelector('[data-testid="parameter"] .words').textContent.startsWith('best near ')`, "true")
	b.is(visible(`[data-testid="fit"]`), "true")
	if clicks > 3 {
		t.Errorf("%d clicks to what matters, want up to 3", clicks)
	}
	b.quiet()
}

// TestBestRunFollowsFilter checks that the link to the best run and its mark change with the
// filter, and with points that are logged while the page is open.
func TestBestRunFollowsFilter(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	experiment, ids := s.tuning(t, 20)
	bestOf := func(filter string) string {
		return must(s.db.Runs.Iterations(t.Context(), domain.System, experiment, runs.IterationQuery{Sort: "metric.val/loss.min", Filter: filter, Page: domain.FirstPage}))(t).Data[0].ID
	}
	b := s.openBrowser(t)
	b.do(chromedp.Navigate(s.url + "/experiment/" + experiment))
	const link, tag = `document.querySelector('#best').pathname`, `document.querySelector('[data-testid="best-tag"]').closest('tr').dataset.id`
	b.is(tag, bestOf(""))
	filter := "param.optimizer = 'sgd'"
	b.do(chromedp.SendKeys(chromedp.CSS("#filter"), filter+"\r"))
	b.is(link, "/iteration/"+bestOf(filter))
	b.is(tag, bestOf(filter))
	b.do(chromedp.Navigate(s.url + "/experiment/" + experiment + "?" + url.Values{"sort": {"name"}}.Encode()))
	b.is(tag, bestOf(""))
	worse := ids[0]
	if worse == bestOf("") {
		worse = ids[1]
	}
	if err := s.db.Runs.CreateMetrics(t.Context(), domain.System, worse, []points.Sample{{Key: "val/loss", Value: -1}}); err != nil {
		t.Fatal(err)
	}
	b.is(link, "/iteration/"+worse)
	b.is(tag, worse)
	b.do(chromedp.Navigate(s.url + "/experiment/" + experiment + "?" + url.Values{"filter": {"metric.none > 1"}}.Encode()))
	b.is(`document.querySelector('#best').hidden`, "true")
	b.quiet()
}

func TestObjective(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	experiment, ids := s.tuning(t, 8)
	page, settings := "/experiment/"+experiment, "/experiment/"+experiment+"/settings"
	s.get(page).wants(t, 200, "minimize val/loss", "Guessed from the names", `data-order="metric.val/loss.min"`, `id="best"`)
	s.get(settings).wants(t, 200, `placeholder="minimize val/loss"`, `<option value="maximize val/accuracy">`)
	set := func(objective string) answer {
		return s.post(settings, url.Values{"name": {"sweep"}, "objective": {objective}, "do": {"save"}})
	}
	set("smallest val/loss").wants(t, 422, "The objective is &#34;minimize&#34; or &#34;maximize&#34;", `value="smallest val/loss"`)
	set("maximize val/accuracy").redirects(t, page)
	a := s.get(page)
	a.wants(t, 200, "maximize val/accuracy", `data-order="-metric.val/accuracy.max"`, `data-columns="metric.val/accuracy.max, param.`)
	a.lacks(t, "Guessed")
	// The first rows and the comparison use the objective's order.
	best := must(s.db.Runs.Iterations(t.Context(), domain.System, experiment, runs.IterationQuery{Sort: "-metric.val/accuracy.max", Page: domain.FirstPage}))(t).Data[0].ID
	if !strings.Contains(a.body, `{"rows":{"data":[{"id":"`+best) || !strings.Contains(a.body, `href="/iteration/`+best+`"`) {
		t.Error("the best run is not the first")
	}
	compare := s.get("/compare?" + url.Values{"i": ids}.Encode())
	compare.wants(t, 200, "val/accuracy max", `class="best" title="Best value"`)
	if n := strings.Count(compare.body, `data-testid="best-tag"`); n != 1 {
		t.Errorf("%d runs are marked as the best", n)
	}
	set("none").redirects(t, page)
	a = s.get(page)
	a.wants(t, 200, `{"rows":{"data":[{"id":"`+ids[7])
	a.lacks(t, `id="best"`, "data-order")
	set("").redirects(t, page)
	s.get(page).wants(t, 200, "minimize val/loss", "Guessed")
}
