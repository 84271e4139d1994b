package ui_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"tracker/store/domain"
	"tracker/store/search"
)

func TestKeysByPattern(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(1, 1)
	for _, key := range []string{"val/loss", "val/acc", "layer1/norm", "layer12/norm"} {
		s.log(w.runs[0], key, 1)
	}
	keys := func(q string) string {
		var list domain.List[search.Key]
		s.get("/data/experiment/"+w.experiment+"/keys?kind=metric&pattern=1&q="+url.QueryEscape(q)).json(t, 200, &list)
		var all []string
		for _, k := range list.Data {
			all = append(all, k.Key)
		}
		return strings.Join(all, " ")
	}
	for q, want := range map[string]string{`^val/`: "val/loss val/acc", `^(val|train)/LOSS$`: "train/loss val/loss", `layer\d/`: "layer1/norm", `^$`: ""} {
		got := strings.Fields(keys(q))
		if len(got) != len(strings.Fields(want)) || want != "" && !strings.Contains(want, got[0]) {
			t.Errorf("%s gives %v and not %s", q, got, want)
		}
	}
	bad := "/data/experiment/" + w.experiment + "/keys?kind=metric&pattern=1&q="
	s.get(bad+url.QueryEscape("val(")).wants(t, 422, "This is not a valid regular expression: missing closing ).")
	s.get(bad+url.QueryEscape(strings.Repeat("a", 300))).wants(t, 422)
	s.get(bad+url.QueryEscape("(?=a)")).wants(t, 422, "not a valid regular expression")
	// The page itself is still shown.
	s.get("/experiment/"+w.experiment+"?pattern=1&m="+url.QueryEscape("val(")).wants(t, 200, `"keys":null`)
}

// TestPattern searches metrics by a regular expression, which the address contains.
func TestPattern(t *testing.T) {
	t.Parallel()
	s := start(t, setup{base: "/lab"})
	w := s.sweep(2, 2)
	for _, run := range w.runs {
		for _, key := range []string{"val/loss", "val/acc", "layer1/norm"} {
			s.log(run, key, 3)
		}
	}
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800))
	const charts = `[...document.querySelectorAll('[data-testid="chart"]')].map((c) => c.dataset.key).sort().join(' ')`
	for _, page := range []string{"/experiment/" + w.experiment, "/iteration/" + w.runs[0], "/compare?i=" + w.runs[0] + "&i=" + w.runs[1]} {
		b.do(chromedp.Navigate(s.url + "/lab" + page))
		b.is(`document.querySelectorAll('[data-testid="chart"]').length`, "4")
		b.do(chromedp.Click(chromedp.CSS(`[data-testid="pattern"]`)), chromedp.SendKeys(chromedp.CSS("#metric-search"), "loss$|norm"))
		b.is(charts, "layer1/norm train/loss val/loss")
		b.is(`new URLSearchParams(location.search).get('m') + ' ' + new URLSearchParams(location.search).has('pattern')`, "loss$|norm true")
		b.do(chromedp.Reload())
		b.is(charts, "layer1/norm train/loss val/loss")
		b.is(`document.querySelector('[data-testid="pattern"]').ariaPressed`, "true")
		b.do(chromedp.SendKeys(chromedp.CSS("#metric-search"), "("))
		b.is(`document.querySelector('[data-testid="pattern-wrong"]').textContent`, "This is not a valid regular expression: missing closing ).")
		b.is(`document.getElementById('metric-search').ariaInvalid`, "true")
		b.is(charts, "layer1/norm train/loss val/loss") // the found charts stay
		b.do(chromedp.Click(chromedp.CSS(`[data-testid="pattern"]`)))
		b.is(`document.querySelectorAll('[data-testid="chart"]').length`, "0")
		b.is(`document.querySelector('[data-testid="pattern-wrong"]').textContent`, "")
	}
}
