package ui_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"tracker/store/runs"
	"tracker/store/scalar"
)

// menu opens a View menu unless it is open.
func (b *browser) menu(id string) {
	b.t.Helper()
	b.is(`(() => { document.querySelector('[data-testid="`+id+`"]').parentElement.open = true; return 'open' })()`, "open")
}

// TestGroupByAllButSeed groups runs by all parameters that differ except the seed.
func TestGroupByAllButSeed(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(0, 0)
	for i := range 8 {
		run := s.run(w.experiment, runs.NewIteration{})
		for key, value := range map[string]int{"lr": i % 2, "optimizer": i / 4, "model.random_state": i, "batch_size": 64, "depth": i % 2, "width": i % 2} {
			must(s.db.Runs.CreateParameter(t.Context(), s.actor("alice"), run, key, scalar.Text(fmt.Sprint(value))))(t)
		}
	}
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+"/experiment/"+w.experiment))
	b.is(rows, "8")
	b.press(`[data-testid="group-by"]`)
	b.is(`[...document.querySelectorAll('[data-testid="pick"] li bdi')].map((e) => e.textContent)`, "All but seed,tag,lr,optimizer,width,depth,model.random_state")
	b.press(`[data-testid="pick"] li button`)
	b.is(`new URLSearchParams(location.search).get('group')`, "param.lr, param.optimizer, param.width, param.depth")
	b.is(`document.querySelectorAll('#table tbody tr.group').length`, "4")
	b.quiet()
}

// TestBarsHaveOneRow checks that each bar fits in one row of a window of 1280 pixels, and that the other controls
// are in menus.
func TestBarsHaveOneRow(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(3, 2)
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+"/experiment/"+w.experiment))
	b.is(rows, "3")
	for _, bar := range []string{".charts .strip", ".runs .whole"} {
		b.is(`new Set([...document.querySelector('`+bar+`').children].filter((e) => e.checkVisibility() && e.offsetWidth > 1).map((e) => {
			const { top, height } = e.getBoundingClientRect();
			return Math.round((top + height / 2) / 8);
		})).size`, "1")
	}
	b.is(`document.querySelector('[name="logx"]').checkVisibility()`, "false")
	b.press(`[data-testid="charts-view"]`)
	b.press(`[name="logx"]`)
	b.is(`new URLSearchParams(location.search).get('logx')`, "1")
	b.do(chromedp.KeyEvent("\u001b"))
	b.is(`document.querySelector('[name="logx"]').checkVisibility()`, "false")
	b.menu("table-view")
	b.is(`document.querySelector('#csv').checkVisibility()`, "true")
	b.fits()
	b.quiet()
}
