package ui_test

import (
	"net/url"
	"testing"

	"github.com/chromedp/chromedp"

	"tracker/store/runs"
)

// dragXY drags over a part of an element. The positions are fractions of its width and height.
func (b *browser) dragXY(selector string, fromX, fromY, toX, toY float64) {
	b.t.Helper()
	left, top, width, height := b.box(selector)
	b.do(chromedp.DragAndDropXY(left+fromX*width, top+fromY*height, left+toX*width, top+toY*height))
}

// TestPinnedCharts pins a chart far below. The chart then comes first, even if the page is opened
// by its address or through a saved view. A second click unpins the chart.
func TestPinnedCharts(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	experiment, _ := s.tuning(t, 4)
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+"/experiment/"+experiment))
	const first = `document.querySelector('[data-testid="chart"]').dataset.key + ' in ' + document.querySelector('.groups summary').firstChild.textContent`
	const pin = `[data-key="lr"] button[aria-label="Pin: lr"]`
	b.is(first, "val/loss in val")
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('` + pin + `').focus()`))
	b.do(chromedp.KeyEvent("\r"))
	b.is(first, "lr in Pinned")
	b.is(`document.activeElement === document.querySelector('`+pin+`')`, "true")
	b.is(`document.querySelectorAll('[data-key="lr"]').length`, "1")
	b.is(`document.querySelector('`+pin+`').ariaPressed`, "true")
	b.is(`document.querySelector('[data-key="lr"]').dataset.drawn`, "4")

	b.menu("table-view")
	b.press(`[data-testid="views"]`)
	b.do(chromedp.WaitVisible(chromedp.CSS("#view-name")), chromedp.SendKeys(chromedp.CSS("#view-name"), "mine\r"))
	b.is(`document.querySelector('.views a')?.textContent`, "mine")
	link := b.text(`document.querySelector('.views a').href`)
	b.do(chromedp.Navigate(s.url+"/experiment/"+experiment), chromedp.WaitVisible(chromedp.CSS(`[data-testid="chart"]`)))
	b.is(first, "val/loss in val")
	b.do(chromedp.Navigate(link))
	b.is(first, "lr in Pinned")
	b.is(`document.querySelector('[data-key="lr"]').dataset.drawn`, "4")

	// A search for metrics includes pinned metrics.
	b.do(chromedp.SendKeys(chromedp.CSS("#metric-search"), "acc"))
	b.is(first, "val/accuracy in val")
	b.do(chromedp.Navigate(link))
	b.is(first, "lr in Pinned")
	b.press(pin)
	b.is(first, "val/loss in val")
	b.is(`location.search`, "")
	b.quiet()
}

// TestChartOptions changes the axes, the range, the smoothing and the size of one chart, and adds a
// metric. The other charts do not change. The address contains the options.
func TestChartOptions(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	experiment, _ := s.tuning(t, 4)
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+"/experiment/"+experiment))
	const loss, acc = `[data-key="val/loss"]`, `[data-key="val/accuracy"]`
	options := func() string { return `new URLSearchParams(location.search).get('charts')` }
	choose := func(name, value string) {
		t.Helper()
		b.do(chromedp.Evaluate[chromedp.Void](`(() => { const e = document.querySelector('.options [name="` + name + `"]'); e.value = '` + value + `'; e.dispatchEvent(new Event('change')) })()`))
	}
	open := func() {
		t.Helper()
		b.is(`document.querySelector('`+loss+`')?.dataset.drawn > 0`, "true")
		b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[aria-label="Options: val/loss"]').click()`))
		b.is(`Boolean(document.querySelector('[data-testid="chart-options"]')?.open)`, "true")
	}
	open()
	choose("y", "log")
	b.is(options(), "val/loss\ty=log")
	choose("own-smooth", "0.5")
	b.is(options(), "val/loss\ty=log\tsmooth=0.5")
	choose("size", "large")
	b.is(options(), "val/loss\ty=log\tsmooth=0.5\tsize=large")
	b.is(`document.querySelector('`+loss+`').offsetHeight > 1.5 * document.querySelector('`+acc+`').offsetHeight`, "true")
	b.press(`[data-testid="add-pair"]`)
	b.is(options(), "val/loss\ty=log\tsmooth=0.5\tsize=large\twith=train/loss")
	b.is(`document.querySelector('`+loss+`').dataset.drawn`, "8")
	b.is(`document.querySelector('[data-key="train/loss"]')`, "null")
	b.press(`[data-testid="add-metric"]`)
	b.do(chromedp.WaitVisible(chromedp.CSS(`[data-testid="pick-name"]`)), chromedp.SendKeys(chromedp.CSS(`[data-testid="pick-name"]`), "lr"))
	b.is(`[...document.querySelectorAll('[data-testid="pick"] li bdi')].map((e) => e.textContent)`, "lr")
	b.do(chromedp.KeyEvent("\r"))
	b.is(`document.querySelector('`+loss+`').dataset.drawn`, "12")
	b.is(`document.querySelector('`+loss+` [data-testid="with"]').textContent`, " and train/loss (dashed) and lr (dotted)")
	b.is(`document.querySelectorAll('`+loss+` [data-testid="with"] .dash').length`, "2")
	choose("low", "5")
	choose("high", "2")
	b.is(`document.querySelector('.options .message').textContent`, "The minimum of the Y axis must be less than the maximum.")
	choose("low", "0.5")
	b.is(options()+`.includes('range=0.5~2')`, "true")
	b.fits()
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Reload())
	b.is(`document.querySelector('`+loss+`').dataset.drawn`, "12")
	b.is(`document.querySelector('`+loss+`').classList.contains('large')`, "true")
	b.is(`document.querySelector('`+acc+`').classList.contains('large')`, "false")
	open()
	b.is(`['y', 'x', 'low', 'high', 'own-smooth', 'size'].map((n) => document.querySelector('.options [name="' + n + '"]').value)`, "log,,0.5,2,0.5,large")
	b.do(chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll('.options button')].find((e) => e.textContent === 'Reset').click()`))
	b.is(options(), "null")
	b.is(`document.querySelector('`+loss+`').dataset.drawn + ' ' + document.querySelector('[data-key="train/loss"]').dataset.drawn`, "4 4")

	// Invalid options are ignored.
	b.do(chromedp.Navigate(s.url + "/experiment/" + experiment + "?" + url.Values{"charts": {"val/loss\ty=steep\trange=2~1\tsmooth=7\twith=val/loss\n\tq\nnone\ty=log"}}.Encode()))
	b.is(`document.querySelector('`+loss+`').dataset.drawn`, "4")
	b.quiet()
}

// TestZoomOfY drags along the Y axis of a chart, and over a part of the chart.
func TestZoomOfY(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(0, 0)
	run := s.run(w.experiment, runs.NewIteration{})
	s.record(run, "val/acc", upTo(101), func(i int) float64 { return float64(i) })
	s.record(run, "val/loss", upTo(101), func(i int) float64 { return float64(100 - i) })
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+"/iteration/"+run))
	b.is(said("val/acc"), "101 points")
	over := chart("val/acc") + " .u-over"
	read := func(name string) string { return `new URLSearchParams(location.search).get('` + name + `')` }
	b.dragXY(over, 0.5, 0.25, 0.5, 0.75)
	b.is(read("charts")+`.startsWith('val/acc\trange=')`, "true")
	b.is(read("zoom"), "null")
	// The range is half of the previous one, which was 110 with its margins.
	b.is(`(([low, high]) => Math.abs(high - low - 55) < 3 && Math.abs(low - 22.5) < 3)(`+read("charts")+`.split('range=')[1].split('~').map(Number))`, "true")
	b.do(chromedp.Click(chromedp.CSS(`[data-testid="reset-zoom"]`)))
	b.is(`location.search`, "")
	b.dragXY(over, 0.2, 0.2, 0.8, 0.8)
	b.is(read("zoom")+` !== null && `+read("charts")+`.includes('range=')`, "true")
	b.is(said("val/loss")+` !== '101 points'`, "true") // charts share the range of steps
	b.do(chromedp.Focus(chromedp.CSS(chart("val/acc")+" .plot")), chromedp.KeyEvent("0"))
	b.is(`location.search`, "")
	b.is(said("val/loss"), "101 points")

	// Smoothing can be entered as a number.
	b.do(chromedp.Evaluate[chromedp.Void](`(() => { const e = document.querySelector('[data-testid="weight"]'); e.value = '0.875'; e.dispatchEvent(new Event('input')) })()`))
	b.is(read("smooth"), "0.875")
	b.is(`document.querySelector('[data-testid="smooth"]').value`, "0.88")
	b.quiet()
}
