package ui_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"tracker/store/domain"
	"tracker/store/points"
)

// TestTrainWithVal draws metrics whose names differ only by train and val in one chart.
func TestTrainWithVal(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	experiment, ids := s.tuning(t, 4)
	b := s.openBrowser(t)
	b.do(chromedp.Navigate(s.url + "/experiment/" + experiment))
	const charts = `[...document.querySelectorAll('[data-testid="chart"]')].map((c) => c.dataset.key).sort().join(' ')`
	const loss = `document.querySelector('[data-key="val/loss"]')`
	const drawn = loss + `.dataset.drawn`
	const samples = loss + `.querySelector('[data-testid="points"]').textContent`
	b.is(charts, "amp/scale lr train/loss val/accuracy val/loss")
	b.is(drawn, "4")
	b.menu("charts-view")
	b.press(`[name="together"]`)
	b.is(charts, "amp/scale lr val/accuracy val/loss")
	b.is(drawn, "8")
	b.is(samples, "32 points")
	b.is(loss+`.querySelector('[data-testid="with"]').textContent`, " and train/loss (dashed)")
	b.is(loss+`.querySelector('.plot').getAttribute('aria-label')`, "val/loss of 4 runs")
	b.is(`new URL(location.href).searchParams.get('together')`, "1")
	// Both curves grow while runs log.
	if err := s.db.Runs.CreateMetrics(t.Context(), domain.System, ids[0], []points.Sample{{Key: "train/loss", Value: 1}, {Key: "val/loss", Value: 2}}); err != nil {
		t.Fatal(err)
	}
	b.is(samples, "34 points")
	// The enlarged chart has both metrics, and the address contains the setting.
	b.press(`[data-key="val/loss"] button[aria-label="Enlarge: val/loss"]`)
	b.is(`document.querySelector('dialog[open] .plot canvas') !== null && document.querySelector('dialog[open] .caption .count').textContent`, "34 points")
	b.do(chromedp.KeyEvent("\x1b"), chromedp.Reload())
	b.is(drawn, "8")
	b.is(charts, "amp/scale lr val/accuracy val/loss")
	b.menu("charts-view")
	b.press(`[name="together"]`)
	b.is(charts, "amp/scale lr train/loss val/accuracy val/loss")
	b.is(drawn, "4")
	b.is(`document.querySelector('[data-key="train/loss"]').dataset.drawn`, "4")
	// The option is hidden if there are no such metrics.
	b.do(chromedp.SendKeys(chromedp.CSS("#metric-search"), "acc"))
	b.is(charts, "val/accuracy")
	b.is(`document.querySelector('[name="together"]').closest('label').hidden`, "true")
	b.quiet()
}
