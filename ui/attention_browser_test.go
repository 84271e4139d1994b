package ui_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tracker/store/domain"
	"tracker/store/runs"
)

// TestGoTo finds parameters, actions, tags and notes with Ctrl-K, and filters by a bare name.
func TestGoTo(t *testing.T) {
	t.Parallel()
	s := start(t, setup{auth: true})
	s.clock.move(time.Since(s.clock.now()))
	w := s.sweep(4, 2)
	ctx, actor := t.Context(), s.actor("alice")
	must(s.db.Runs.CreateTag(ctx, actor, runs.IterationTag, w.runs[1], "it's odd"))(t)
	if err := s.db.Runs.UpdateIteration(ctx, actor, w.runs[2], runs.IterationPatch{Notes: new("The odd one diverged.")}); err != nil {
		t.Fatal(err)
	}
	b := s.openTable(t, w.experiment, "")
	b.is(rows, "4")
	const found = `[...document.querySelectorAll('.find li')].map((li) => [...li.children].map((e) => e.textContent).join(': ')).join('; ')`
	enter := func(text string) {
		b.is(`document.querySelectorAll('#metric-search').length`, "1") // the scripts run
		b.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(chromedp.ModifierCtrl)),
			chromedp.WaitVisible(chromedp.CSS(`[data-testid="find-name"]`)), chromedp.KeyEvent(text))
	}
	pick := func(name string) {
		b.do(chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll('.find li')].find((li) => li.textContent.startsWith(` + "`" + name + "`" + `)).click()`))
	}
	const offersOfLR = "param.lr: parameter: sort the runs; param.lr: parameter: filter the runs"
	enter("lr")
	b.is(found+`.startsWith('`+offersOfLR+`')`, "true")
	b.do(chromedp.KeyEvent("\r"))
	b.is(`new URLSearchParams(location.search).get('sort')`, "param.lr")
	b.is(rows, "4")
	enter("lr")
	b.is(found+`.startsWith('`+offersOfLR+`')`, "true")
	pick("param.lrparameter: filter")
	b.is(filtering, "param.lr ")
	b.is(`document.activeElement.id`, "filter")
	// The name alone means the parameter.
	b.do(chromedp.Evaluate[chromedp.Void](`{ const f = document.getElementById('filter'); f.value = ''; f.focus() }`), chromedp.KeyEvent("lr < 1e9 and train/loss > -1e9\r"))
	b.is(`new URLSearchParams(location.search).get('filter')`, "lr < 1e9 and train/loss > -1e9")
	b.is(rows, "4")
	enter("odd")
	b.is(found, "it's odd: tag in sweep; The odd one diverged.: note of run 3 in sweep")
	b.do(chromedp.KeyEvent("\r"))
	b.is(`new URLSearchParams(location.search).get('filter')`, `tag = 'it\'s odd'`)
	b.is(rows, "1")
	enter("odd")
	b.is(found+`.includes('note of')`, "true")
	pick("The odd")
	b.is(`document.querySelector('h1')?.textContent`, "run 3")
	// Actions of the page.
	enter("stop")
	b.is(found, "Stop: action")
	pick("Stop")
	b.is(`document.querySelectorAll('dialog.find').length`, "0")
	b.is(`document.querySelector('.edits details[open] summary')?.dataset.testid`, "stop")
	b.quiet()
}

// TestMarkAsSeen empties the list of ended runs.
func TestMarkAsSeen(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(1, 0)
	if err := s.db.Runs.UpdateIteration(t.Context(), s.actor("alice"), w.runs[0], runs.IterationPatch{Status: new(domain.Failed)}); err != nil {
		t.Fatal(err)
	}
	s.clock.move(time.Minute)
	b := s.openBrowser(t)
	b.do(chromedp.Navigate(s.url + "/"))
	b.is(`document.querySelectorAll('[data-testid="news"] > ul li').length`, "1")
	b.press(`[data-testid="mark-seen"]`)
	b.is(`document.querySelectorAll('[data-testid="news"] > ul li').length`, "0")
	b.is(`document.querySelectorAll('[data-testid="earlier"] li').length`, "1")
	b.quiet()
}
