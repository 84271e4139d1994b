package ui_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"tracker/store/domain"
	"tracker/store/runs"
	"tracker/store/scalar"
)

const (
	offers    = `document.querySelectorAll('[data-testid="offers"] [role="option"]').length`
	offered   = `[...document.querySelectorAll('[data-testid="offers"] .name')].map((e) => e.textContent).join(' ')`
	filtering = `document.querySelector('#filter').value`
	names     = `[...document.querySelectorAll('[data-testid="run"] a bdi')].map((e) => e.textContent).join(', ')`
	charts    = `[...document.querySelectorAll('[data-testid="chart"]')].filter((e) => e.checkVisibility()).length`
)

// openTable opens the page of an experiment for alice.
func (s *site) openTable(t *testing.T, experiment, query string) *browser {
	t.Helper()
	b := s.openBrowser(t)
	b.signIn(s, "alice")
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+"/experiment/"+experiment+query))
	return b
}

func key(name string) chromedp.Action[chromedp.Void] { return chromedp.KeyEvent(name) }

// TestFilterThatFindsNothing checks that the table, the count and the charts always belong to the
// same filter.
func TestFilterThatFindsNothing(t *testing.T) {
	t.Parallel()
	s := start(t, setup{auth: true})
	s.clock.move(time.Since(s.clock.now()))
	w := s.sweep(12, 20)
	b := s.openTable(t, w.experiment, "")
	total := `(document.querySelector('#counted').checkVisibility() ? document.querySelector('#total').textContent : 'hidden')`
	nothing := `document.querySelector('#nothing').textContent`
	b.is(rows, "12")
	b.is(charts+` > 0`, "true")

	b.filter(t, "metric.loss > 1")
	b.is(nothing, "No run of 12 matches. Clear the filterNo run here has a metric named loss. There is metric.train/loss.")
	b.is(total, "0")
	b.is(charts, "0")
	b.is(`document.querySelector('#table').checkVisibility()`, "false")
	b.is(`document.querySelector('[data-testid="drawn"]').textContent`, "There is nothing to draw.")
	b.fits()
	b.do(chromedp.EmulateViewport(1280, 800))
	b.press(`[data-testid="clear-filter"]`)
	b.is(rows, "12")
	b.is(nothing, "")
	b.is(charts+` > 0`, "true")
	b.is(`document.activeElement.id`, "filter")

	// An invalid filter does not change the rows, the count and the charts.
	b.filter(t, "param.lr < 0.25")
	b.is(rows, "5")
	b.is(pointsText, "100 points")
	b.filter(t, "param.lr < 0,25")
	b.is(wrong+`.textContent.includes('a decimal point, like 0.2')`, "true")
	b.is(rows+` + ' ' + `+total, "5 5")
	b.is(pointsText, "100 points")
	b.is(`document.querySelector('#table').classList.contains('old')`, "true")
	// The same holds while runs log: the page still requests data for the last valid filter.
	s.log(w.runs[0], "train/loss", 7)
	b.is(pointsText, "107 points")
	b.is(rows, "5")
	b.is(wrong+`.childElementCount > 0`, "true")
	// The address contains the invalid filter. A new page with this address shows the error, and no
	// data for a different filter.
	b.do(chromedp.Navigate(b.text("location.href")))
	b.is(wrong+`.textContent.includes('a decimal point, like 0.2')`, "true")
	b.is(rows+` + ' ' + `+total+` + ' ' + `+charts, "0 hidden 0")
	b.filter(t, "param.lr < 0.15")
	b.is(rows+` + ' ' + `+total, "4 4") // 0.1, 0.10, 0.11, 0.12
	b.is(`document.querySelector('#table').classList.contains('old')`, "false")
	b.is(charts+` > 0`, "true")
	b.quiet()
}

// TestCompletion writes a filter by keyboard.
func TestCompletion(t *testing.T) {
	t.Parallel()
	s := start(t, setup{auth: true})
	s.clock.move(time.Since(s.clock.now()))
	w := s.sweep(3, 2)
	ctx, actor := t.Context(), s.actor("alice")
	must(s.db.Runs.CreateParameter(ctx, actor, w.runs[0], "batch size", "32"))(t)
	for i := range 150 {
		must(s.db.Runs.CreateParameter(ctx, actor, w.runs[0], fmt.Sprintf("grid/%03d", i), "1"))(t)
	}
	b := s.openTable(t, w.experiment, "")
	b.is(rows, "3")
	b.do(chromedp.Focus(chromedp.CSS("#filter")))
	b.is(`document.querySelector('#filter').getAttribute('role')`, "combobox")
	b.do(key(kb.ArrowDown))
	b.is(offered, "param. metric. summary. tag name status created ended last_seen duration id created_by")
	b.do(key(kb.Escape))
	b.is(`document.querySelector('#filter').getAttribute('aria-expanded')`, "false")
	b.do(key("loss"))
	b.is(offered, "metric.train/loss")
	b.do(key(kb.ArrowDown))
	b.is(`document.getElementById(document.querySelector('#filter').getAttribute('aria-activedescendant')).getAttribute('aria-selected')`, "true")
	b.do(key("\r"))
	b.is(filtering, "metric.train/loss ")
	b.do(key("< 5 and metric.train/loss.m"))
	b.is(offered, "metric.train/loss.min metric.train/loss.max metric.train/loss.mean")
	b.do(key(kb.ArrowUp), key(kb.ArrowUp), key("\t"))
	b.is(filtering, "metric.train/loss < 5 and metric.train/loss.max ")
	b.is(`document.activeElement.id`, "filter")
	b.do(key("< 6 or (status = 'lo"))
	b.is(offered, "lost")
	b.do(chromedp.Click(chromedp.CSS(`[data-testid="offers"] li`)))
	b.is(filtering, "metric.train/loss < 5 and metric.train/loss.max < 6 or (status = 'lost' ")
	b.do(key("and batch"))
	b.is(offered, "param.`batch size`")
	b.do(key(kb.ArrowDown), key("\r"), key("= 32) and created > "))
	b.is(offered, "1h today yesterday 1d 2 weeks")
	b.do(key(kb.ArrowDown), key("\r"), key("or param.`grid/12"))
	b.is(offers, "10")
	b.do(key(" and nothing = "))
	b.is(offers, "0") // text in backquotes is part of a name
	// The completions depend on the text before the cursor, even in the middle of a name.
	b.do(chromedp.Evaluate[chromedp.Void](`(() => { const f = document.querySelector('#filter'); f.value = 'param.l < 1'; f.setSelectionRange(7, 7);
		f.dispatchEvent(new Event('input', { bubbles: true })) })()`))
	b.is(offered, "param.lr")
	b.do(key(kb.ArrowDown), key("\r"))
	b.is(filtering, "param.lr  < 1")
	b.do(key(kb.End), key("2\r"))
	b.is(`new URLSearchParams(location.search).get('filter')`, "param.lr  < 12")
	b.is(rows, "3")
	b.quiet()
}

// TestSelectAll selects all runs that pass the filter, including runs that are not loaded.
func TestSelectAll(t *testing.T) {
	t.Parallel()
	s := start(t, setup{auth: true})
	s.clock.move(time.Since(s.clock.now()))
	w := s.sweep(0, 0)
	const n = 230
	for i := range n {
		id := s.run(w.experiment, runs.NewIteration{Name: new(fmt.Sprintf("run %03d", i))})
		w.runs = append(w.runs, id)
	}
	selected := `document.querySelector('#selected .count')?.textContent`
	all := `[data-testid="pick-all"]`
	b := s.openTable(t, w.experiment, "?filter=name+%3E%3D+%27run+150%27&sort=name")
	b.is(`document.querySelector('#total').textContent`, "80")
	b.press(all)
	b.is(selected, "80 selected")
	b.is(`document.querySelector('[data-testid="do-compare"]').disabled`, "false")
	b.press(all)
	b.is(`document.querySelector('#selected').hidden`, "true")

	b.filter(t, "name >= 'run 010'")
	b.is(`document.querySelector('#total').textContent`, "220")
	b.press(all)
	b.is(selected, "220 selected")
	b.is(`document.querySelector('[data-testid="do-compare"]').disabled`, "true")
	b.press(`tr[data-id="` + w.runs[12] + `"] input`)
	b.is(selected, "219 selected")
	b.is(`document.querySelector('`+all+`').indeterminate`, "true")
	b.press(`[data-testid="do-tag"]`)
	b.is(`document.querySelector('h1').textContent`, "Change 219 runs")
	b.do(chromedp.SendKeys(chromedp.CSS("#tag"), "kept"), chromedp.Click(chromedp.CSS(`button[value="add"]`)))
	b.is(`document.querySelector('[data-testid="done"]').textContent.trim()`, "Tagged 219 runs.")
	b.do(chromedp.SendKeys(chromedp.CSS("#sure"), "219"), chromedp.Click(chromedp.CSS(`[data-testid="confirm"]`)))
	b.is(`document.querySelector('[data-testid="done"]').textContent.trim()`, "Deleted 219 runs.")
	b.do(chromedp.Navigate(s.url + "/experiment/" + w.experiment + "?sort=name"))
	b.is(rows, "11")
	b.is(names+`.endsWith('run 009, run 012')`, "true")
	b.quiet()
}

// TestTableOfMetrics sorts the best values to the top, and shows the steps of values by keyboard.
func TestTableOfMetrics(t *testing.T) {
	t.Parallel()
	s := start(t, setup{auth: true})
	s.clock.move(time.Since(s.clock.now()))
	w := s.sweep(3, 4)
	for i, id := range w.runs {
		s.log(id, "val/acc", i+2)
	}
	b := s.openTable(t, w.experiment, "?columns=metric.train/loss,metric.val/acc,param.lr")
	b.is(rows, "3")
	heads := `[...document.querySelectorAll('#table thead th')].find((th) => th.textContent.startsWith(%q)).querySelector('button').click()`
	for _, c := range []struct{ head, sort, order string }{
		{"val/acc", "-metric.val/acc", "run 3, run 2, run 1"},
		{"train/loss", "metric.train/loss", "run 1, run 2, run 3"},
		{"lr", "param.lr", "run 1, run 2, run 3"},
		{"val/acc", "-metric.val/acc", "run 3, run 2, run 1"},
		{"val/acc", "metric.val/acc", "run 1, run 2, run 3"},
	} {
		b.text(fmt.Sprintf(heads, c.head))
		b.is(`new URLSearchParams(location.search).get('sort')`, c.sort)
		b.is(names, c.order)
	}

	link := b.text(`document.querySelector('#csv').href`)
	if !strings.HasSuffix(link, "/runs.csv?filter=&sort=metric.val%2Facc&columns=metric.train%2Floss%2C+metric.val%2Facc%2C+param.lr") {
		t.Errorf("the file of the table is at %s", link)
	}

	// The arrow keys move the focus from the name to the numbers, and the page shows the steps of a
	// focused number.
	b.do(chromedp.Focus(chromedp.CSS(`tr[data-id="`+w.runs[1]+`"] a`)), key(kb.ArrowRight), key(kb.ArrowRight))
	b.is(`document.activeElement.dataset.metric`, "val/acc")
	b.is(`[...document.querySelectorAll('#cell-tip:not([hidden]) div')].map((e) => e.textContent).join(', ')`, "last 2 at step 2, min 0 at step 0, max 2 at step 2, 3 points")
	b.is(`(() => { const tip = document.querySelector('#cell-tip').getBoundingClientRect(), td = document.activeElement.getBoundingClientRect();
		return Math.abs(tip.top - td.bottom) < 2 && tip.right <= innerWidth })()`, "true")
	b.do(key(kb.ArrowLeft), key(kb.ArrowLeft))
	b.is(`document.activeElement.tagName + document.querySelector('#cell-tip').hidden`, "Atrue")
	b.quiet()
}

// TestReopenStandsInItsRow checks that the button Reopen is vertically aligned with another action
// in its row. In a narrow window the actions have two rows.
func TestReopenStandsInItsRow(t *testing.T) {
	t.Parallel()
	s := start(t, setup{auth: true})
	w := s.sweep(1, 1)
	if err := s.db.Runs.UpdateIteration(t.Context(), s.actor("alice"), w.runs[0], runs.IterationPatch{Status: new(domain.Succeeded)}); err != nil {
		t.Fatal(err)
	}
	b := s.openBrowser(t)
	b.signIn(s, "alice")
	for width, beside := range map[int64]string{1280: "edit", 400: "delete"} {
		b.do(chromedp.EmulateViewport(width, 800), chromedp.Navigate(s.url+"/iteration/"+w.runs[0]))
		b.is(`document.readyState`, "complete")
		// The vertical middles of the elements beside the button.
		b.is(`(() => { const middle = (e) => { const r = e.getBoundingClientRect(); return (r.top + r.bottom) / 2 };
			return Math.abs(middle(document.querySelector('[data-testid="reopen"]')) - middle(document.querySelector('[data-testid="`+beside+`"]'))) <= 2 })()`, "true")
	}
	b.quiet()
}

// TestClickWhileRowsChange presses the mouse on the name of a run, lets the run log, and releases
// the mouse. The click must not be lost, although the row changes.
func TestClickWhileRowsChange(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(2, 3)
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+"/experiment/"+w.experiment))
	row := `tr[data-id="` + w.runs[0] + `"]`
	cell := `document.querySelector('` + row + ` td[data-metric]').textContent`
	b.is(cell, "2")
	b.is(`document.documentElement.dataset.live`, "yes")
	left, top, width, height := b.box(row + " a")
	x, y := left+width/2, top+height/2
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y))
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
	s.log(w.runs[0], "train/loss", 40)
	b.is(`performance.getEntriesByType('resource').filter((e) => e.name.includes('/iterations?')).length > 0`, "true")
	b.is(`(window.drawn ??= (() => { let n = 0; const next = () => { n++; requestAnimationFrame(next) }; next(); return () => n })())() > 10`, "true") // and the run is in the table
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
	b.is(`document.querySelector('h1').textContent`, "run 1")
	b.quiet()
}

// TestSelectWhereScrolled selects runs in a scrolled table. The table must not scroll.
func TestSelectWhereScrolled(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(120, 2)
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 600), chromedp.Navigate(s.url+"/experiment/"+w.experiment))
	const scrolled = `document.querySelector('#scroll').scrollTop`
	b.is(scriptRuns, "true")
	b.is(rows+` > 10`, "true")
	b.is(`(`+scrolled+` = 1500, `+scrolled+`)`, "1500")
	for i, run := range []string{w.runs[62], w.runs[60]} {
		b.press(`tr[data-id="` + run + `"] input`)
		b.is(`document.querySelector('#selected .count')?.textContent`, fmt.Sprintf("%d selected", i+1))
		b.is(scrolled, "1500")
	}
	b.quiet()
}

// TestSelectingMovesNothing selects a run. The toolbar must keep its height, and the rows must not
// move.
func TestSelectingMovesNothing(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(60, 2)
	b := s.openBrowser(t)
	for _, width := range []int64{2560, 1280, 800, 400} {
		b.do(chromedp.EmulateViewport(width, 800), chromedp.Navigate(s.url+"/experiment/"+w.experiment))
		row := `tr[data-id="` + w.runs[57] + `"]`
		b.is(`Boolean(document.querySelector('`+row+`'))`, "true")
		b.is(`document.querySelectorAll('[data-testid="chart"][data-drawn]').length > 0`, "true")
		places := `JSON.stringify([document.querySelector('.runs > .strip').offsetHeight,
			Math.round(document.querySelector('` + row + `').getBoundingClientRect().top + scrollY)])`
		before := b.text(places)
		b.press(row + ` input`)
		b.is(`document.querySelector('#selected .count')?.textContent`, "1 selected")
		if after := b.text(places); after != before {
			t.Errorf("at %d pixels the toolbar's height and the row's place are %s, then %s", width, before, after)
		}
	}
	b.quiet()
}

// TestBackToTable goes to a run and back. The table must have the same scroll position and
// selection.
func TestBackToTable(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(120, 2)
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 600), chromedp.Navigate(s.url+"/experiment/"+w.experiment))
	const selected = `document.querySelector('#selected .count')?.textContent`
	const scrolled = `document.querySelector('#scroll').scrollTop`
	b.press(`tr[data-id="` + w.runs[119] + `"] input`)
	b.press(`tr[data-id="` + w.runs[118] + `"] input`)
	b.is(selected, "2 selected")
	b.do(chromedp.Evaluate[chromedp.Void](scrolled + ` = 1500`))
	run := `tr[data-id="` + w.runs[62] + `"] a`
	b.is(`Boolean(document.querySelector('`+run+`'))`, "true")
	b.press(run)
	b.is(`document.querySelector('h1').textContent`, "run 63")
	b.do(chromedp.NavigateBack())
	b.is(scrolled, "1500")
	b.is(selected, "2 selected")
	b.is(`Boolean(document.querySelector('`+run+`'))`, "true")

	// A page that is opened by its address begins at its top.
	b.do(chromedp.Navigate(s.url + "/experiment/" + w.experiment + "?top=1"))
	b.is(scrolled, "0")
	b.is(selected, "undefined")
	b.quiet()
}

// TestCompleteValues checks that values of parameters are offered, and that Tab inserts the first
// completion.
func TestCompleteValues(t *testing.T) {
	t.Parallel()
	s := start(t, setup{auth: true})
	s.clock.move(time.Since(s.clock.now()))
	w := s.sweep(3, 2)
	ctx, actor := t.Context(), s.actor("alice")
	for i, optimizer := range []string{"adamw", "adamw", "it's sgd"} {
		must(s.db.Runs.CreateParameter(ctx, actor, w.runs[i], "optimizer", scalar.Text(optimizer)))(t)
	}
	must(s.db.Runs.CreateTag(ctx, actor, runs.IterationTag, w.runs[0], "paper"))(t)
	b := s.openTable(t, w.experiment, "")
	b.is(rows, "3")
	b.do(chromedp.Focus(chromedp.CSS("#filter")), chromedp.KeyEvent("opti"))
	b.is(offered, "param.optimizer")
	b.do(chromedp.KeyEvent("\t"))
	b.is(filtering, "param.optimizer ")
	b.do(chromedp.KeyEvent("= "))
	b.is(offered, "adamw it's sgd")
	b.do(chromedp.KeyEvent("sg"))
	b.is(offered, "it's sgd")
	b.do(chromedp.KeyEvent("\t"))
	b.is(filtering, `param.optimizer = 'it\'s sgd' `)
	b.is(rows, "1")
	b.do(chromedp.KeyEvent("or param.lr = 0."))
	b.is(offered, "0.1 0.2 0.3")
	b.do(chromedp.KeyEvent("\t"))
	b.is(rows, "2")
	b.do(chromedp.KeyEvent("or tag = "))
	b.is(offered, "paper")
	// Text that is not a filter is searched for in names.
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('#filter').select()`), chromedp.KeyEvent("adamw"))
	b.is(rows, "2")
	b.is(wrong+`.textContent`, "")
	b.quiet()
}
